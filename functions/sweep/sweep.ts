import { timestamp } from '#domain/clock.ts';
import type { DeletionRequested } from '#events/deletions.ts';
import type { ExportRequested } from '#events/exports.ts';
import type { ImportRequested } from '#events/pipeline.ts';
import type { ReevaluationRequested } from '#events/reevaluations.ts';
import { type FinishRunDependencies, finishRun } from '#functions/finish-run/finish-run.ts';
import type { Executions } from '#shared/executions.ts';
import { logError, logWarning } from '#shared/log.ts';
import { measure } from '#shared/metrics.ts';
import type { Queue } from '#shared/queue.ts';
import { withRequestId } from '#shared/request-scope.ts';
import { finishScan } from '#shared/scans/finish-scan.ts';
import type { ExportStore, PendingExport } from '#store/exports.ts';
import type { ManifestStore } from '#store/manifests.ts';
import type { OrganizationStore } from '#store/organizations.ts';
import type { PendingDeletion } from '#store/pending-deletions.ts';
import type { ReevaluationStore } from '#store/reevaluations.ts';
import type { RunRecord, RunStore } from '#store/runs.ts';
import type { ScanRecord } from '#store/scans.ts';
import { type PlaceDependencies, sweepPlaces } from './places.ts';
import { createRooms, type Rooms, waitsSince } from './waiting.ts';

export interface SweepDependencies extends FinishRunDependencies, PlaceDependencies {
  readonly executions: Executions;
  readonly listPendingDeletions: () => Promise<PendingDeletion[]>;
  readonly deletions: Queue<DeletionRequested>;
  readonly reevaluations: Pick<ReevaluationStore, 'listIdle'>;
  readonly reevaluationRequests: Queue<ReevaluationRequested>;
  readonly exports: Pick<ExportStore, 'listPending' | 'finish' | 'forget'>;
  readonly exportRequests: Queue<ExportRequested>;
  readonly importRequests: Queue<ImportRequested>;
  readonly manifests: Pick<ManifestStore, 'isLeased'>;
  readonly organizations: Pick<OrganizationStore, 'getOrganization'>;
  readonly runs: RunStore;
}

/** Messages of scans and exports are on their way for this long before the sweep repeats them. */
const PATIENCE = 30_000;

/** The oldest of what waits, in milliseconds since 1970; null where nothing does. */
interface Oldest {
  scan: number | null;
  import: number | null;
  export: number | null;
}

/**
 * Once a minute: finds what something forgot, and goes on with it: lost messages, executions that a
 * restart cut off, runs past their deadline. So every scan and export ends, and nothing stays locked.
 * What waits is in the table, not in a queue: it tells how long, and by telling that it is alive.
 */
export async function sweep(dependencies: SweepDependencies): Promise<void> {
  const { clock, runs, organizations } = dependencies;
  const oldest: Oldest = { scan: null, import: null, export: null };
  const rooms = createRooms(runs, organizations);
  for (const pending of await dependencies.listPendingDeletions()) await dependencies.deletions.send(pending);
  for (const { orgId, assetId } of await dependencies.reevaluations.listIdle(clock.now()))
    await dependencies.reevaluationRequests.send({ org_id: orgId, asset_id: assetId });
  for (const pending of await dependencies.exports.listPending()) {
    try {
      await sweepExport(pending, oldest, dependencies);
    } catch (error) {
      logError('sweep of an export failed', error, { org_id: pending.orgId, export_id: pending.exportId });
      measure({ WorkFailed: 1 });
    }
  }
  for (const { orgId, scanId } of await dependencies.scans.listActive()) {
    try {
      await sweepScan(orgId, scanId, oldest, rooms, dependencies);
    } catch (error) {
      logError('sweep of a scan failed', error, { org_id: orgId, scan_id: scanId });
      measure({ WorkFailed: 1 });
    }
  }
  try {
    await sweepPlaces(dependencies);
  } catch (error) {
    logError('sweep of the runners failed', error);
    measure({ WorkFailed: 1 });
  }
  const age = (since: number | null) => (since === null ? 0 : Math.max(0, clock.now() - since) / 1000);
  measure({
    OldestScan: age(oldest.scan),
    OldestImport: age(oldest.import),
    OldestExport: age(oldest.export),
  });
}

function remember(oldest: Oldest, kind: keyof Oldest, since: number | null): void {
  if (since !== null) oldest[kind] = Math.min(oldest[kind] ?? since, since);
}

/** Four times as long as its function may take. */
const EXPORT_PATIENCE = 60 * 60_000;

async function sweepExport(
  { orgId, exportId, createdAt, leaseUntil }: PendingExport,
  oldest: Oldest,
  { exports, exportRequests, clock }: SweepDependencies,
): Promise<void> {
  const now = clock.now();
  const age = now - createdAt;
  remember(oldest, 'export', createdAt);
  if (age > EXPORT_PATIENCE) {
    const error = {
      code: 'internal_error',
      message: 'The file could not be written within an hour; ask again',
    };
    const outcome = { status: 'failed', count: null, error, finished_at: timestamp(now) } as const;
    const ended = await exports.finish(orgId, exportId, outcome, null);
    if (!ended) await exports.forget(orgId, exportId);
    logWarning('ending a lost export', { org_id: orgId, export_id: exportId });
    measure({ WorkFailed: 1 });
  } else if (age >= PATIENCE && leaseUntil < now) {
    await exportRequests.send({ org_id: orgId, export_id: exportId });
  }
}

async function sweepScan(
  orgId: string,
  scanId: string,
  oldest: Oldest,
  rooms: Rooms,
  dependencies: SweepDependencies,
): Promise<void> {
  const { scans, runs, clock, scanRequests } = dependencies;
  const scan = await scans.get(orgId, scanId);
  if (!scan || clock.now() - Date.parse(scan.created_at) < PATIENCE) return;
  if (scan.trigger === 'import') {
    // A queued one waits for whoever said that they would upload it.
    if (scan.status === 'queued') return endMissingUpload(orgId, scan, dependencies);
    if (scan.status === 'running') remember(oldest, 'import', Date.parse(scan.started_at ?? scan.created_at));
  }
  if (scan.status === 'queued' || scan.remaining === undefined) {
    remember(oldest, 'scan', await waitsSince(orgId, scan, [], rooms));
    await scanRequests.send({ org_id: orgId, scan_id: scanId });
    return;
  }
  const planned = await runs.listAll(orgId, scanId);
  if (scan.trigger !== 'import') remember(oldest, 'scan', await waitsSince(orgId, scan, planned, rooms));
  await endLostRuns(orgId, scan, planned, dependencies);
  await finishScan(orgId, scanId, dependencies);
}

/** An upload that was announced has 15 minutes to begin, and gets as many to arrive and be read. */
const UPLOAD_PATIENCE = 30 * 60_000;

async function endMissingUpload(
  orgId: string,
  scan: ScanRecord,
  { scans, runs, clock }: SweepDependencies,
): Promise<void> {
  const at = clock.now();
  if (at - Date.parse(scan.created_at) < UPLOAD_PATIENCE) return;
  const run = await runs.get(orgId, scan.id, scan.target_id ?? '');
  const actor = { type: 'system' as const, id: null, name: 'sweep' };
  const failure = {
    asset_id: scan.target_id ?? '',
    scanner: null,
    code: 'report_invalid',
    message: run?.upload_taken
      ? 'The report that was uploaded could not be taken in'
      : 'No report was uploaded to the address that was given out',
  };
  await scans.finish(orgId, scan, 'failed', { actor, requestId: null, ip: null, at }, [failure]);
  // It came, and was ours to take in.
  if (run?.upload_taken) measure({ RunsEnded: 1, RunsFailed: 1 });
}

/** An import that nobody is at work on: its message was lost, or its function was. */
async function repeatImport(
  orgId: string,
  run: RunRecord,
  { manifests, importRequests, clock }: SweepDependencies,
): Promise<void> {
  if (await manifests.isLeased(orgId, run.asset_id, run.scanners, clock.now())) return;
  await importRequests.send({ org_id: orgId, scan_id: run.scan_id, asset_id: run.asset_id, run_id: run.id });
}

/** Nobody waits longer than this for a place. */
const LONGEST_WAIT = 24 * 60 * 60_000;

/** A scan's time begins with the first of its runs: until then it may wait for others. */
function isOverdue(scan: ScanRecord, runs: readonly RunRecord[], now: number): boolean {
  if (scan.deadline_at === null || now <= Date.parse(scan.deadline_at)) return false;
  const hasBegun = runs.some(({ status }) => status !== 'waiting');
  return hasBegun || now > Date.parse(scan.started_at ?? scan.created_at) + LONGEST_WAIT;
}

/** A run that is said to run while its execution does not, or that is past its deadline, has been lost. */
async function endLostRuns(
  orgId: string,
  scan: ScanRecord,
  runs: readonly RunRecord[],
  dependencies: SweepDependencies,
): Promise<void> {
  const { executions, clock } = dependencies;
  const overdue = isOverdue(scan, runs, clock.now());
  for (const run of runs) {
    if (run.status !== 'running' && !(overdue && run.status === 'waiting')) continue;
    if (scan.trigger === 'import' && !overdue) {
      await repeatImport(orgId, run, dependencies);
      continue;
    }
    const fresh = run.started_at !== null && clock.now() - Date.parse(run.started_at) < PATIENCE;
    if (!overdue && (fresh || (await executions.isRunning(run.id)))) continue;
    // The sweep is set off by no request: the run's record knows it.
    await withRequestId(run.request_id, () => endLostRun(orgId, scan, run, overdue, dependencies));
  }
}

async function endLostRun(
  orgId: string,
  scan: ScanRecord,
  run: RunRecord,
  overdue: boolean,
  dependencies: SweepDependencies,
): Promise<void> {
  logWarning('ending a lost run', { org_id: orgId, scan_id: scan.id, run_id: run.id, overdue });
  if (overdue && scan.trigger !== 'import')
    await dependencies.executions.stop(run.id, 'past the deadline of the scan');
  await finishRun(
    {
      org_id: orgId,
      scan_id: scan.id,
      asset_id: run.asset_id,
      run_id: run.id,
      failure: { Error: overdue ? 'States.Timeout' : 'ExecutionLost' },
    },
    dependencies,
  );
}
