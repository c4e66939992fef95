import { randomUUID } from 'node:crypto';
import type { IngestStep } from '#events/pipeline.ts';
import { logError } from '#shared/log.ts';
import type { RunRef, ScannerState } from '#store/runs.ts';
import { type IngestContext, type IngestDependencies, newFinding, openJudge } from './context.ts';
import { reconcile } from './reconcile.ts';
import { openReport } from './report-source.ts';
import { type ReportedSet, readReportedSet } from './reported-set.ts';

/**
 * Turns one scanner's report of one run into findings. Safe to repeat: ids follow from what was
 * found, and a step that has its result does nothing.
 * @throws ManifestBusy while another run ingests the same asset and scanner
 */
export async function ingestReport(step: IngestStep, dependencies: IngestDependencies): Promise<void> {
  const { scans, runs, assets, clock } = dependencies;
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
  const report = await readReport(context, dependencies);
  if (report === null) return;
  const result = run.default_branch
    ? await reconcile(context, report, dependencies)
    : await keepWithScan(context, report, dependencies);
  if (result) await runs.scannerIngested(ref, step.scanner, result);
}

/** What the report holds; null where it can't be read, which is then recorded as the scanner's failure. */
async function readReport(
  context: IngestContext,
  { bucket, runs, clock }: IngestDependencies,
): Promise<ReportedSet | null> {
  const { ref, scanner, format } = context;
  const gzipped = await bucket.read({ ...ref, scanner, format });
  try {
    if (!gzipped) throw new Error('no report was uploaded');
    return await readReportedSet(context, await openReport(scanner, format, gzipped));
  } catch (error) {
    logError('report not readable', error, { run_id: ref.runId, scanner });
    await runs.scannerFailed(
      ref,
      scanner,
      { code: 'report_invalid', message: `The report of ${scanner} could not be read` },
      clock.now(),
    );
    return null;
  }
}

/** Findings written at once. */
const BATCH = 1000;

/** Another branch's findings belong to that scan alone, and move no status and no counter (design 5). */
async function keepWithScan(
  context: IngestContext,
  report: ReportedSet,
  dependencies: IngestDependencies,
): Promise<NonNullable<ScannerState['result']>> {
  const { orgId, scanId } = context.ref;
  const { judge, asked } = await openJudge(context, dependencies);
  for await (const batch of report.batches(new Set(report.entries.keys()), BATCH)) {
    const records = await judge(batch.map(([, finding]) => newFinding(context, finding)));
    await dependencies.writes.writeBranchFindings(orgId, scanId, records, context.at);
  }
  await asked.record(orgId, dependencies);
  return { counts: report.counts, new_count: 0, resolved_count: 0, manifest: null };
}
