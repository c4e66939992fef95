import type { ImportRequested } from '#events/pipeline.ts';
import { type FinishRunDependencies, finishRun } from '#functions/finish-run/finish-run.ts';
import type { IngestDependencies } from '#shared/ingest/context.ts';
import { ManifestBusy } from '#shared/ingest/context.ts';
import { ingestReport } from '#shared/ingest/ingest.ts';
import type { DelayedQueue } from '#shared/queue.ts';
import { withRequestId } from '#shared/request-scope.ts';
import type { ImportStore } from '#store/imports.ts';
import type { RunRecord } from '#store/runs.ts';

export interface IngestImportDependencies extends IngestDependencies, FinishRunDependencies {
  readonly imports: Pick<ImportStore, 'listWaiting'>;
  readonly importRequests: DelayedQueue<ImportRequested>;
}

/** Another run of the same asset is at work: this import comes again after so many seconds. */
const TURN_SECONDS = 1;
/** An import before it has not ended: whoever ends it calls this one, unless it crashes in between. */
const CALLED_SECONDS = 5;

/**
 * Ingests the reports of an import, one scanner after the other, and ends its run and scan. Safe to
 * repeat. Imports of an asset wait for those that were accepted before, so that the last one has the last word; and
 * where another run holds the manifest.
 */
export async function ingestImport(
  message: ImportRequested,
  dependencies: IngestImportDependencies,
): Promise<void> {
  const { org_id, scan_id, asset_id } = message;
  const { imports, importRequests } = dependencies;
  // One that is not among them has ended, and nothing is done again.
  const turn = (await imports.listWaiting(org_id, asset_id)).findIndex((one) => one.scan_id === scan_id);
  if (turn > 0) {
    await importRequests.send(message, CALLED_SECONDS);
    return;
  }
  const run = await dependencies.runs.get(org_id, scan_id, asset_id);
  // The import's own: the one before calls this one.
  await withRequestId(run?.request_id, () => ingestAndFinish(message, run, turn, dependencies));
}

async function ingestAndFinish(
  message: ImportRequested,
  run: RunRecord | null,
  turn: number,
  dependencies: IngestImportDependencies,
): Promise<void> {
  const { org_id, asset_id } = message;
  const { imports, importRequests } = dependencies;
  try {
    for (const scanner of run?.scanners ?? [])
      await ingestReport({ ...message, scanner, format: 'findings' }, dependencies);
  } catch (error) {
    if (!(error instanceof ManifestBusy)) throw error;
    await importRequests.send(message, TURN_SECONDS);
    return;
  }
  await finishRun(message, dependencies);
  if (turn < 0) return;
  const [next] = await imports.listWaiting(org_id, asset_id);
  if (next) await importRequests.send({ org_id, asset_id, scan_id: next.scan_id, run_id: next.run_id });
}
