import { TIER_LIMITS, type TierLimits } from '#contract/limits.ts';
import { timestamp } from '#domain/clock.ts';
import { endRun } from '#functions/finish-run/finish-run.ts';
import { logInfo } from '#shared/log.ts';
import { withRequestId } from '#shared/request-scope.ts';
import { endScan } from '#shared/scans/finish-scan.ts';
import { makeClaim } from '#shared/security/claims.ts';
import type { RunRecord, RunRef } from '#store/runs.ts';
import type { ScanRecord } from '#store/scans.ts';
import type { DispatcherDependencies } from './dependencies.ts';

/** More than any tier can run at once with one scanner each. */
const PAGE = 100;

/** `waits`: for others of its own organization; `taken`: somebody else has the place. */
export type Start = 'started' | 'none' | 'waits' | 'taken';

export interface WaitingRuns {
  /** Starts the run whose turn it is in its organization, at a place of the deployment's where these are bounded. */
  startNext(place: number | null): Promise<Start>;
  /** Whether there is another one. */
  isEmpty(): Promise<boolean>;
}

/** An organization's waiting runs, the oldest scan's first. */
export function openWaitingRuns(orgId: string, dependencies: DispatcherDependencies): WaitingRuns {
  const { organizations, runs } = dependencies;
  type Opened = { limits: TierLimits | null; queue: Omit<RunRef, 'orgId'>[]; full: boolean };
  let opened: Promise<Opened> | null = null;

  async function open(): Promise<Opened> {
    const [organization, queue] = await Promise.all([
      organizations.getOrganization(orgId),
      runs.listWaiting(orgId, PAGE),
    ]);
    if (!organization) return { limits: null, queue: [], full: false };
    return { limits: TIER_LIMITS[organization.tier], queue, full: queue.length === PAGE };
  }

  async function current(): Promise<Opened> {
    opened ??= open();
    const held = await opened;
    if (held.queue.length > 0 || !held.full) return held;
    opened = open();
    return opened;
  }

  async function startNext(place: number | null): Promise<Start> {
    for (;;) {
      const { limits, queue } = await current();
      const [entry] = queue;
      if (!entry || !limits) return 'none';
      const run = await runs.get(orgId, entry.scanId, entry.assetId);
      if (run?.status !== 'waiting') {
        await runs.dropWaiting(orgId, entry);
        queue.shift();
        continue;
      }
      const scan = await dependencies.scans.get(orgId, entry.scanId);
      if (scan?.status !== 'running') {
        await runs.dropCancelled(orgId, run);
        queue.shift();
        continue;
      }
      const started = await start(orgId, run, scan, limits, place, dependencies);
      if (started !== 'waits' && started !== 'taken') queue.shift();
      if (started !== 'gone') return started;
    }
  }

  return { startNext, isEmpty: async () => (await current()).queue.length === 0 };
}

/** Where the execution can't be started, the run goes back to the queue, and the message comes again. */
async function start(
  orgId: string,
  run: RunRecord,
  scan: ScanRecord,
  limits: TierLimits,
  place: number | null,
  dependencies: DispatcherDependencies,
): Promise<Start | 'gone'> {
  const { runs, scans, executions, clock } = dependencies;
  const { claim, hash } = makeClaim();
  const at = clock.now();
  // A scan's time does not run while it waits for a place: that is no fault of its organization.
  const isFirst = place !== null && scan.first_run_at === undefined;
  const deadlineAt = isFirst
    ? timestamp(at + scan.max_minutes * 60_000)
    : (scan.deadline_at ?? run.deadline_at);
  const admission = await runs.admit(
    orgId,
    run,
    limits,
    hash,
    at,
    place === null ? null : { place, deadlineAt },
  );
  if (admission === 'deleted') {
    await endDeleted(orgId, run, dependencies);
    return 'gone';
  }
  if (admission !== 'admitted') return admission;
  try {
    if (isFirst) await scans.firstRunBegan(orgId, scan.id, deadlineAt, at);
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
    return 'started';
  } catch (error) {
    await runs.returnToQueue(orgId, run, place);
    throw error;
  }
}

/** Its asset was deleted while it waited: it never starts, and its scan goes on without it. */
async function endDeleted(
  orgId: string,
  run: RunRecord,
  dependencies: DispatcherDependencies,
): Promise<void> {
  const ids = { org_id: orgId, scan_id: run.scan_id, asset_id: run.asset_id, run_id: run.id };
  await withRequestId(run.request_id, async () => {
    await endRun(ids, dependencies);
    await endScan(orgId, run.scan_id, dependencies);
    logInfo('run dropped: its asset was deleted', ids);
  });
}
