import { v5 } from 'uuid';
import { TIER_LIMITS } from '#contract/limits.ts';
import { type Clock, timestamp } from '#domain/clock.ts';
import type { Tier } from '#domain/vocabulary.ts';
import type { DispatchRequested, ScanRequested } from '#events/pipeline.ts';
import { logInfo } from '#shared/log.ts';
import type { Queue } from '#shared/queue.ts';
import { withRequestId } from '#shared/request-scope.ts';
import { finishScan } from '#shared/scans/finish-scan.ts';
import type { AssetRecord, AssetStore } from '#store/assets.ts';
import type { OrganizationStore } from '#store/organizations.ts';
import type { RunStore } from '#store/runs.ts';
import type { ScanRecord, ScanStore } from '#store/scans.ts';

export interface PlannerDependencies {
  readonly scans: ScanStore;
  readonly runs: RunStore;
  readonly assets: AssetStore;
  readonly organizations: OrganizationStore;
  readonly scanRequests: Queue<ScanRequested>;
  readonly dispatchRequests: Queue<DispatchRequested>;
  readonly clock: Clock;
}

/**
 * Admits a scan and plans its runs, one for each asset of its scope. Every step is conditional on
 * what the table says, so that a repeated message, or one that was cut off, only finishes the work.
 */
export async function planScan(
  { org_id: orgId, scan_id: scanId }: ScanRequested,
  dependencies: PlannerDependencies,
): Promise<void> {
  const { scans, organizations } = dependencies;
  const [scan, organization] = await Promise.all([
    scans.get(orgId, scanId),
    organizations.getOrganization(orgId),
  ]);
  if (!scan || !organization || !isOpen(scan)) return;
  // The scan's own: whoever woke it may be another's.
  await withRequestId(scan.request_id, () => admitAndPlan(orgId, scan, organization.tier, dependencies));
}

async function admitAndPlan(
  orgId: string,
  scan: ScanRecord,
  tier: Tier,
  dependencies: PlannerDependencies,
): Promise<void> {
  const { scans, clock } = dependencies;
  const limits = TIER_LIMITS[tier];
  // Over the tier's number of running scans it waits: the next scan to end sends this message again.
  if (scan.status === 'queued' && !(await scans.admit(orgId, scan, limits, clock.now()))) return;
  const started = await scans.get(orgId, scan.id);
  if (started?.status !== 'running') return;
  await planRuns(orgId, started, dependencies);
}

function isOpen(scan: ScanRecord): boolean {
  return scan.status === 'queued' || scan.status === 'running';
}

async function planRuns(orgId: string, scan: ScanRecord, dependencies: PlannerDependencies): Promise<void> {
  const { scans, runs, dispatchRequests, clock } = dependencies;
  if (scan.remaining === undefined) {
    const assets = await assetsInScope(orgId, scan, dependencies);
    await runs.plan(
      orgId,
      scan.id,
      assets.map((asset) => runOf(scan, asset, clock.now())),
    );
    // Counted from what is written: a plan that was cut off may have seen other assets.
    const planned = await runs.listAll(orgId, scan.id);
    logInfo('scan planned', { org_id: orgId, scan_id: scan.id, runs: planned.length });
    await scans.recordPlan(orgId, scan.id, planned.length, planned.length * scan.scanners.length);
    if (planned.length === 0) {
      await finishScan(orgId, scan.id, dependencies);
      return;
    }
  }
  await runs.enqueue(orgId, await runs.listAll(orgId, scan.id));
  await dispatchRequests.send({ org_id: orgId });
}

// Made once at random: a run's id follows from its scan and asset, so that planning again makes the same.
const RUN_NAMESPACE = '0f6e5d7a-3f0b-4b52-9f0c-0c9d1f5a8e21';

function runOf(scan: ScanRecord, asset: AssetRecord, now: number) {
  return {
    id: v5(`${scan.id}/${asset.id}`, RUN_NAMESPACE),
    assetId: asset.id,
    scanners: scan.scanners,
    // A path of this machine is scanned as it is checked out now, not as it once was.
    branch: scan.branch ?? (asset.provider === 'local' ? null : asset.default_branch),
    // A branch that is named may still turn out to be what HEAD points at: the checkout tells.
    defaultBranch:
      scan.branch === null || (asset.provider !== 'local' && scan.branch === asset.default_branch),
    createdAt: timestamp(now),
    requestId: scan.request_id ?? null,
    deadlineAt: scan.deadline_at ?? timestamp(now + scan.max_minutes * 60_000),
  };
}

/** What can be cloned of the scope. */
async function assetsInScope(
  orgId: string,
  scan: ScanRecord,
  { assets }: PlannerDependencies,
): Promise<AssetRecord[]> {
  const ids =
    scan.scope === 'asset' && scan.target_id !== null
      ? [scan.target_id]
      : (await assets.listEntries(orgId))
          .filter(
            (entry) =>
              scan.scope === 'organization' ||
              entry.project_id === scan.target_id ||
              entry.sub_project_id === scan.target_id,
          )
          .map((entry) => entry.id);
  const held = await assets.getMany(orgId, ids);
  return held.filter((asset) => asset.type === 'repository' && asset.clone_url !== null);
}
