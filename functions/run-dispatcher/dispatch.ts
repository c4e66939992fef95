import { TIER_LIMITS } from '#contract/limits.ts';
import type { Clock } from '#domain/clock.ts';
import type { DispatchRequested } from '#events/pipeline.ts';
import type { Executions } from '#shared/executions.ts';
import { logInfo } from '#shared/log.ts';
import { withRequestId } from '#shared/request-scope.ts';
import { makeClaim } from '#shared/security/claims.ts';
import type { OrganizationStore } from '#store/organizations.ts';
import type { RunRecord, RunStore } from '#store/runs.ts';
import type { ScanStore } from '#store/scans.ts';

export interface DispatcherDependencies {
  readonly scans: ScanStore;
  readonly runs: RunStore;
  readonly organizations: OrganizationStore;
  readonly executions: Executions;
  readonly clock: Clock;
}

/** More than any tier can run at once with one scanner each. */
const MOST_AT_ONCE = 100;

/** Starts as many of an organization's waiting runs as its tier has scanner processes for, the oldest scan's first. */
export async function dispatchRuns(
  { org_id: orgId }: DispatchRequested,
  dependencies: DispatcherDependencies,
): Promise<void> {
  const { organizations, runs } = dependencies;
  const [organization, waiting] = await Promise.all([
    organizations.getOrganization(orgId),
    runs.listWaiting(orgId, MOST_AT_ONCE),
  ]);
  if (!organization) return;
  const limits = TIER_LIMITS[organization.tier];
  for (const { scanId, assetId } of waiting) {
    const run = await runs.get(orgId, scanId, assetId);
    if (!run) continue;
    if (run.status !== 'waiting' || !(await isScanRunning(orgId, scanId, dependencies))) {
      await runs.dropWaiting(orgId, run);
      continue;
    }
    const { claim, hash } = makeClaim();
    if (!(await runs.admit(orgId, run, limits, hash, dependencies.clock.now()))) return;
    await start(orgId, run, claim, dependencies);
  }
}

/** A cancelled scan's runs never start. */
async function isScanRunning(
  orgId: string,
  scanId: string,
  { scans }: DispatcherDependencies,
): Promise<boolean> {
  return (await scans.get(orgId, scanId))?.status === 'running';
}

/** Where the execution can't be started, the run goes back to the queue, and the message comes again. */
async function start(
  orgId: string,
  run: RunRecord,
  claim: string,
  { runs, executions }: DispatcherDependencies,
): Promise<void> {
  try {
    await executions.start({
      org_id: orgId,
      scan_id: run.scan_id,
      asset_id: run.asset_id,
      run_id: run.id,
      claim,
      scanners: run.scanners,
      ...(run.request_id && { request_id: run.request_id }),
    });
    withRequestId(run.request_id, () =>
      logInfo('run started', { org_id: orgId, scan_id: run.scan_id, asset_id: run.asset_id, run_id: run.id }),
    );
  } catch (error) {
    await runs.returnToQueue(orgId, run);
    throw error;
  }
}
