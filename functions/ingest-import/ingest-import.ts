import type { ImportRequested } from '#events/pipeline.ts';
import { type FinishRunDependencies, finishRun } from '#functions/finish-run/finish-run.ts';
import type { IngestDependencies } from '#shared/ingest/context.ts';
import { ManifestBusy } from '#shared/ingest/context.ts';
import { ingestReport } from '#shared/ingest/ingest.ts';
import type { DelayedQueue } from '#shared/queue.ts';

export interface IngestImportDependencies extends IngestDependencies, FinishRunDependencies {
  readonly importRequests: DelayedQueue<ImportRequested>;
}

/** Another run of the same asset and scanner is at work: this import comes again after so many seconds. */
const TURN_SECONDS = 1;

/**
 * Ingests the reports of an import, one scanner after the other, and ends its run and scan. Safe to
 * repeat. Imports wait their turn: where another run holds the manifest, the message goes to the end of
 * the queue.
 */
export async function ingestImport(
  message: ImportRequested,
  dependencies: IngestImportDependencies,
): Promise<void> {
  const { org_id, scan_id, asset_id } = message;
  const run = await dependencies.runs.get(org_id, scan_id, asset_id);
  try {
    for (const scanner of run?.scanners ?? [])
      await ingestReport({ ...message, scanner, format: 'findings' }, dependencies);
  } catch (error) {
    if (!(error instanceof ManifestBusy)) throw error;
    await dependencies.importRequests.send(message, TURN_SECONDS);
    return;
  }
  await finishRun(message, dependencies);
}
