import { IngestStep } from '#events/pipeline.ts';
import { readConfig } from '#shared/config.ts';
import { ingestDependencies } from '#shared/ingest/dependencies.ts';
import { ingestReport } from '#shared/ingest/ingest.ts';

const dependencies = ingestDependencies(
  readConfig(['TABLE_NAME', 'COUNTER_LANES', 'REPORT_BUCKET_URL', 'POLICY_ASSETS_DIR']),
);

export async function handler(event: unknown): Promise<void> {
  await ingestReport(IngestStep.parse(event), dependencies);
}
