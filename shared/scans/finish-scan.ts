import type { Clock } from '#domain/clock.ts';
import type { DispatchRequested, ScanRequested } from '#events/pipeline.ts';
import type { Queue } from '#shared/queue.ts';
import type { ScanRecord, ScanStore } from '#store/scans.ts';

export interface FinishDependencies {
  readonly scans: ScanStore;
  readonly scanRequests: Queue<ScanRequested>;
  readonly dispatchRequests: Queue<DispatchRequested>;
  readonly clock: Clock;
}

/** Scans woken when one ends: more than the one that fits now, in case some have ended meanwhile. */
const WAKE = 5;

/**
 * Ends a scan whose last run has ended, and wakes what waits for its place. Safe to repeat: only
 * the first call finds it running.
 */
export async function finishScan(
  orgId: string,
  scanId: string,
  dependencies: FinishDependencies,
): Promise<void> {
  await endScan(orgId, scanId, dependencies);
  await wakeWaiting(orgId, dependencies);
}

/** Ends a scan whose last run has ended; what waits for its place is left to the sweep. Safe to repeat. */
export async function endScan(
  orgId: string,
  scanId: string,
  { scans, clock }: Pick<FinishDependencies, 'scans' | 'clock'>,
): Promise<void> {
  const scan = await scans.get(orgId, scanId);
  if (scan?.status === 'running' && scan.remaining === 0) {
    const attribution = {
      actor: { type: 'system' as const, id: null, name: 'scan pipeline' },
      requestId: null,
      ip: null,
      at: clock.now(),
    };
    await scans.finish(orgId, scan, outcomeOf(scan), attribution);
  }
}

/** `partial`: some scanner on some asset failed, or did not tell all. Never silently clean (design 7). */
function outcomeOf(scan: ScanRecord): 'completed' | 'partial' | 'failed' | 'cancelled' {
  // The one asset that it was to look at was deleted.
  if (scan.scope === 'asset' && scan.total === 0) return 'cancelled';
  if (scan.failed === 0 && scan.failures.length === 0) return 'completed';
  return scan.done + scan.heard === 0 ? 'failed' : 'partial';
}

async function wakeWaiting(
  orgId: string,
  { scans, scanRequests, dispatchRequests }: FinishDependencies,
): Promise<void> {
  const queued = await scans.listQueued(orgId, WAKE);
  await Promise.all([
    dispatchRequests.send({ org_id: orgId }),
    ...queued.map((scanId) => scanRequests.send({ org_id: orgId, scan_id: scanId })),
  ]);
}
