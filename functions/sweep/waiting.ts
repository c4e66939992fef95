import { TIER_LIMITS } from '#contract/limits.ts';
import type { OrganizationStore } from '#store/organizations.ts';
import type { RunRecord, RunStore } from '#store/runs.ts';
import type { ScanRecord } from '#store/scans.ts';

interface Room {
  readonly scans: number;
  readonly scanners: number;
}

/** What an organization's tier leaves it right now; two requests for each that is asked about. */
export function createRooms(
  runs: Pick<RunStore, 'readCapacity'>,
  organizations: Pick<OrganizationStore, 'getOrganization'>,
) {
  const known = new Map<string, Promise<Room>>();
  async function read(orgId: string): Promise<Room> {
    const [organization, capacity] = await Promise.all([
      organizations.getOrganization(orgId),
      runs.readCapacity(orgId),
    ]);
    // One that is being deleted gets nothing more.
    if (!organization) return { scans: 0, scanners: 0 };
    const limits = TIER_LIMITS[organization.tier];
    return {
      scans: limits.concurrentScans - capacity.runningScans,
      // A tier with fewer processes than one run needs still runs it, alone.
      scanners:
        capacity.runningScanners === 0 ? Infinity : limits.concurrentScanners - capacity.runningScanners,
    };
  }
  return (orgId: string): Promise<Room> => {
    const held = known.get(orgId) ?? read(orgId);
    known.set(orgId, held);
    return held;
  };
}
export type Rooms = ReturnType<typeof createRooms>;

/**
 * Since when a scan waits for the service; null where it does not, or waits for its own organization's other
 * scans. That is the tier's doing, and nobody has to be woken for it.
 * @param runs of a scan that runs
 */
export async function waitsSince(
  orgId: string,
  scan: ScanRecord,
  runs: readonly RunRecord[],
  rooms: Rooms,
): Promise<number | null> {
  if (scan.status === 'queued') return (await rooms(orgId)).scans > 0 ? Date.parse(scan.created_at) : null;
  const [first] = runs;
  const isWaiting = runs.every(({ status }) => status === 'waiting');
  if (scan.status !== 'running' || scan.started_at === null || !isWaiting) return null;
  // Not even planned, or not one of its runs has begun.
  const fits = first === undefined || first.scanners.length <= (await rooms(orgId)).scanners;
  return fits ? Date.parse(scan.started_at) : null;
}
