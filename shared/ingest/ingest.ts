import { randomUUID } from 'node:crypto';
import { addCounts } from '#domain/cells.ts';
import { ServiceError } from '#domain/errors.ts';
import type { IngestStep } from '#events/pipeline.ts';
import { logError, logInfo } from '#shared/log.ts';
import { countHidden } from '#shared/reports/hidden.ts';
import { InvalidReportError } from '#shared/reports/parse.ts';
import { withRequestId } from '#shared/request-scope.ts';
import type { AssetRecord } from '#store/assets.ts';
import type { RunRef, ScannerState } from '#store/runs.ts';
import { type IngestContext, type IngestDependencies, newFinding, openJudge } from './context.ts';
import { reconcile, type Taken } from './reconcile.ts';
import { openReport } from './report-source.ts';
import { type ReportedSet, readReportedSets } from './reported-set.ts';

/**
 * Turns one scanner's report of one run into findings. Safe to repeat: ids follow from what was
 * found, and a step that has its result does nothing.
 * @throws ManifestBusy while another run ingests the same asset and scanner
 */
export async function ingestReport(step: IngestStep, dependencies: IngestDependencies): Promise<void> {
  const { scans, runs, assets } = dependencies;
  const ref: RunRef = {
    orgId: step.org_id,
    scanId: step.scan_id,
    assetId: step.asset_id,
    runId: step.run_id,
  };
  const [scan, run, asset] = await Promise.all([
    scans.get(ref.orgId, ref.scanId),
    runs.get(ref.orgId, ref.scanId, ref.assetId),
    assets.get(ref.orgId, ref.assetId),
  ]);
  // A cancelled scan's reports are not taken; a failed scanner has none.
  if (
    scan?.status !== 'running' ||
    !run ||
    run.id !== ref.runId ||
    run.states[step.scanner]?.status !== 'reported'
  )
    return;
  await withRequestId(run.request_id, () => ingest(step, { ref, scan, run, asset }, dependencies));
}

async function ingest(
  step: IngestStep,
  { ref, scan, run, asset }: Pick<IngestContext, 'ref' | 'scan' | 'run'> & { asset: AssetRecord | null },
  dependencies: IngestDependencies,
): Promise<void> {
  const { runs, clock } = dependencies;
  if (!asset) {
    await runs.scannerFailed(
      ref,
      step.scanner,
      { code: 'not_found', message: 'The asset was deleted during the scan' },
      clock.now(),
    );
    return;
  }
  const context: IngestContext = {
    ref,
    run,
    asset,
    scanner: step.scanner,
    format: step.format,
    scan,
    holder: `${ref.runId}#${randomUUID()}`,
    at: clock.now(),
  };
  const sets = await readReport(context, dependencies);
  if (sets === null) return;
  const ended = run.default_branch
    ? await reconcileEach(context, sets, dependencies)
    : { result: await keepWithScan(context, sets, dependencies), error: incompleteness(sets) };
  const hidden = countHidden(sets.flatMap((set) => [...set.hidden.values()]));
  const result: Result = { ...ended.result, ...(hidden.length > 0 && { hidden }) };
  const { error } = ended;
  logInfo('report ingested', {
    org_id: ref.orgId,
    scan_id: ref.scanId,
    run_id: ref.runId,
    scanner: step.scanner,
    new_count: result.new_count,
    resolved_count: result.resolved_count,
  });
  if (error === null) await runs.scannerIngested(ref, step.scanner, result);
  else await runs.scannerFellShort(ref, step.scanner, error, result, clock.now());
}

type Result = NonNullable<ScannerState['result']>;

const NOTHING: Result = { counts: {}, new_count: 0, resolved_count: 0, manifests: [] };

/** One origin after the other, each under a lease of its own. What an earlier attempt has done is done. */
async function reconcileEach(
  context: IngestContext,
  sets: readonly ReportedSet[],
  dependencies: IngestDependencies,
): Promise<{ result: Result; error: ScannerState['error'] }> {
  const { ref, run, scanner } = context;
  const { runs, clock } = dependencies;
  let result = run.states[scanner]?.result ?? NOTHING;
  const done = new Set(result.manifests.map(({ origin }) => origin));
  const waiting = sets.filter(({ origin }) => !done.has(origin));
  const held: string[] = [];
  for (const set of waiting) {
    // A lease counts from its own beginning, whatever the ones before have taken.
    const outcome = await reconcile({ ...context, at: clock.now() }, set, dependencies);
    if (outcome.kind === 'held') {
      held.push(outcome.reason);
      continue;
    }
    result = joined(result, outcome);
    if (set !== waiting.at(-1)) await runs.scannerProgressed(ref, scanner, result);
  }
  if (held.length === 0) return { result, error: incompleteness(sets) };
  const others = held.length > 1 ? `; the same is true of ${held.length - 1} more` : '';
  return { result, error: { code: 'suspicious_empty_report', message: `${held[0]}${others}` } };
}

function incompleteness(sets: readonly ReportedSet[]): ScannerState['error'] {
  const reason = sets.find(({ incomplete }) => incomplete !== null)?.incomplete;
  return reason ? { code: 'report_incomplete', message: reason } : null;
}

function joined(result: Result, { counts, newCount, resolvedCount, manifest }: Taken): Result {
  return {
    counts: sumOf([result.counts, counts]),
    new_count: result.new_count + newCount,
    resolved_count: result.resolved_count + resolvedCount,
    manifests: [...result.manifests, manifest],
  };
}

function sumOf(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  return Object.fromEntries(addCounts(...counts.map((some) => new Map(Object.entries(some)))));
}

/** What the report holds; null where it can't be read, which is then recorded as the scanner's failure. */
async function readReport(
  context: IngestContext,
  { bucket, runs, clock, reader }: IngestDependencies,
): Promise<ReportedSet[] | null> {
  const { ref, scanner, format } = context;
  const gzipped = await bucket.read({ ...ref, scanner, format });
  try {
    if (!gzipped) throw new Error('no report was uploaded');
    const lines = format === 'findings' ? gzipped : await reader.readRun(ref.orgId, scanner, gzipped);
    return await readReportedSets(context, await openReport(lines));
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'service_unavailable') throw error;
    logError('report not readable', error, { run_id: ref.runId, scanner });
    await runs.scannerFailed(
      ref,
      scanner,
      { code: 'report_invalid', message: `The report of ${scanner} could not be read${reasonOf(error)}` },
      clock.now(),
    );
    return null;
  }
}

/** What can be shown of why. */
function reasonOf(error: unknown): string {
  return error instanceof InvalidReportError ? `: ${error.message}` : '';
}

/** Findings written at once. */
const BATCH = 1000;

/** Another branch's findings belong to that scan alone, and move no status and no counter (design 5). */
async function keepWithScan(
  context: IngestContext,
  sets: readonly ReportedSet[],
  dependencies: IngestDependencies,
): Promise<Result> {
  const { orgId, scanId } = context.ref;
  const { judge, asked } = await openJudge(context, dependencies);
  for (const { batches, entries } of sets)
    for await (const batch of batches(new Set(entries.keys()), BATCH)) {
      const records = await judge(batch.map(([, finding]) => newFinding(context, finding)));
      await dependencies.writes.writeBranchFindings(orgId, scanId, records, context.at);
    }
  await asked.record(orgId, dependencies);
  return { ...NOTHING, counts: sumOf(sets.map(({ counts }) => counts)) };
}
