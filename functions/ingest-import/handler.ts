import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { systemClock } from '#domain/clock.ts';
import { ImportRequested } from '#events/pipeline.ts';
import { readConfig } from '#shared/config.ts';
import { createQueue } from '#shared/queue.ts';
import { createReportBucket } from '#shared/report-bucket.ts';
import { handleBatch } from '#shared/sqs-batch.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createFindingWriteStore } from '#store/finding-writes.ts';
import { createManifestStore } from '#store/manifests.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createRunStore } from '#store/runs.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable } from '#store/table.ts';
import { ingestImport } from './ingest-import.ts';

const config = readConfig([
  'TABLE_NAME',
  'COUNTER_LANES',
  'REPORT_BUCKET_URL',
  'IMPORT_QUEUE_URL',
  'SCAN_QUEUE_URL',
  'DISPATCH_QUEUE_URL',
]);
const table = createTable(config.TABLE_NAME);
const counters = createCounterStore(table, config.COUNTER_LANES);
const organizations = createOrganizationStore(table);
const dependencies = {
  scans: createScanStore(table),
  runs: createRunStore(table),
  assets: createAssetStore(table, counters),
  manifests: createManifestStore(table),
  writes: createFindingWriteStore(table, counters),
  bucket: createReportBucket(config.REPORT_BUCKET_URL),
  importRequests: createQueue<ImportRequested>(config.IMPORT_QUEUE_URL),
  scanRequests: createQueue(config.SCAN_QUEUE_URL),
  dispatchRequests: createQueue(config.DISPATCH_QUEUE_URL),
  clock: systemClock,
  readAutoResolve: organizations.readAutoResolve,
};

export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  return handleBatch(event, ImportRequested, (message) => ingestImport(message, dependencies));
}
