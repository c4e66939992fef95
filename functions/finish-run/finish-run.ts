import { timestamp } from '#domain/clock.ts';
import type { Scanner } from '#domain/vocabulary.ts';
import type { FinishRunStep } from '#events/pipeline.ts';
import { logInfo, logWarning } from '#shared/log.ts';
import { measure } from '#shared/metrics.ts';
import { type FinishDependencies, finishScan } from '#shared/scans/finish-scan.ts';
import { isServiceFault } from '#shared/scans/service-fault.ts';
import type { RunRecord, RunStore, ScannerState } from '#store/runs.ts';
import type { ScanFailure } from '#store/scans.ts';

export interface FinishRunDependencies extends FinishDependencies {
  readonly runs: RunStore;
}

/**
 * Ends a run however it went: counts it on its scan, gives its scanner processes back, and ends the
 * scan with the last one. A scanner that did not get to its end is a failure, never silently clean.
 */
export async function finishRun(step: FinishRunStep, dependencies: FinishRunDependencies): Promise<void> {
  const { org_id, scan_id, run_id, failure } = step;
  const ids = { org_id, scan_id, run_id };
  if (failure) logWarning('run ended by a failure', { ...ids, error: failure.Error, cause: failure.Cause });
  await endRun(step, dependencies);
  await finishScan(org_id, scan_id, dependencies);
  logInfo('run finished', ids);
}

/**
 * Ends a run, counts it on its scan, and gives back what it held. What an asset that was deleted left undone is
 * cancelled, and no part of its scan any more: nobody failed.
 */
export async function endRun(
  step: FinishRunStep,
  { runs, scans, clock }: Pick<FinishRunDependencies, 'runs' | 'scans' | 'clock'>,
): Promise<void> {
  const ref = { orgId: step.org_id, scanId: step.scan_id, assetId: step.asset_id, runId: step.run_id };
  const [run, scan] = await Promise.all([
    runs.get(ref.orgId, ref.scanId, ref.assetId),
    scans.get(ref.orgId, ref.scanId),
  ]);
  if (!run || !scan || run.id !== ref.runId) return;
  if (run.status === 'running' || run.status === 'waiting') {
    const at = clock.now();
    const isWhole = run.scanners.every((scanner) => run.states[scanner]?.status === 'completed');
    const isDeleted = !isWhole && !(await runs.hasAsset(ref.orgId, ref.assetId));
    const isCancelled = scan.status === 'cancelled' || isDeleted;
    const states = endStates(run, isCancelled, step.failure, timestamp(at));
    const all = run.scanners.map((scanner) => ({ scanner, state: states[scanner] }));
    const failed = all.filter(({ state }) => state?.status !== 'completed');
    const status = isCancelled ? 'cancelled' : failed.length > 0 ? 'failed' : 'completed';
    const ended = await runs.finish(
      ref,
      run,
      { status, states, at },
      scans.countdownWrite(ref.orgId, scan, {
        done: all.length - failed.length,
        failed: isDeleted ? 0 : failed.length,
        dropped: isDeleted ? failed.length : 0,
        heard: failed.filter(({ state }) => state?.result).length,
        counts: sumCounts(all.map(({ state }) => state?.result?.counts ?? {})),
        newCount: sum(all.map(({ state }) => state?.result?.new_count ?? 0)),
        resolvedCount: sum(all.map(({ state }) => state?.result?.resolved_count ?? 0)),
        hiddenCount: sum(all.flatMap(({ state }) => (state?.result?.hidden ?? []).map(({ count }) => count))),
        commit: run.commit,
        failures: isCancelled ? [] : failuresOf(run, failed),
      }),
    );
    if (ended && status !== 'cancelled') {
      const codes = failed.map(({ state }) => state?.error?.code ?? 'internal_error');
      measure({ RunsEnded: 1, RunsFailed: isServiceFault(run, codes) ? 1 : 0 });
    }
  }
}

/** Scanners that have not ended get the reason why they never will. */
function endStates(
  run: RunRecord,
  isCancelled: boolean,
  failure: FinishRunStep['failure'],
  now: string,
): RunRecord['states'] {
  const reason = lostReason(failure);
  return Object.fromEntries(
    run.scanners.map((scanner): [Scanner, ScannerState] => {
      const state = run.states[scanner];
      if (state && (state.status === 'completed' || state.status === 'failed')) return [scanner, state];
      const idle = { started_at: null, finding_count: null, result: null };
      if (isCancelled)
        return [scanner, { ...idle, ...state, status: 'cancelled', finished_at: now, error: null }];
      return [scanner, { ...idle, ...state, status: 'failed', finished_at: now, error: reason }];
    }),
  );
}

function lostReason(failure: FinishRunStep['failure']): { code: string; message: string } {
  if (failure?.Error === 'States.Timeout')
    return { code: 'scanner_timeout', message: 'The scan exceeded its time limit' };
  // What the cause says is the platform's, and may name its parts: it stays in the logs.
  return { code: 'internal_error', message: 'The scanner runner was lost before this scanner had ended' };
}

function failuresOf(
  run: RunRecord,
  failed: readonly { scanner: Scanner; state: ScannerState | undefined }[],
): ScanFailure[] {
  const failures = failed.map(({ scanner, state }) => ({
    asset_id: run.asset_id,
    scanner,
    code: state?.error?.code ?? 'internal_error',
    message: state?.error?.message ?? 'The scanner did not end',
  }));
  // A repository that can't be cloned is one failure, not one for each scanner.
  const [first] = failures;
  const shared = first?.code === 'clone_failed' && failures.length === run.scanners.length;
  return shared && first ? [{ ...first, scanner: null }] : failures;
}

function sumCounts(all: readonly Record<string, number>[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const some of all)
    for (const [cell, count] of Object.entries(some)) counts.set(cell, (counts.get(cell) ?? 0) + count);
  return counts;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
