import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { ImportRequested } from '#events/pipeline.ts';
import { readConfig } from '#shared/config.ts';
import { ingestDependencies } from '#shared/ingest/dependencies.ts';
import { createQueue } from '#shared/queue.ts';
import { handleBatch } from '#shared/sqs-batch.ts';
import { createImportStore } from '#store/imports.ts';
import { createTable } from '#store/table.ts';
import { ingestImport } from './ingest-import.ts';

const config = readConfig([
  'TABLE_NAME',
  'COUNTER_LANES',
  'REPORT_BUCKET_URL',
  'POLICY_ASSETS_DIR',
  'IMPORT_QUEUE_URL',
  'SCAN_QUEUE_URL',
  'DISPATCH_QUEUE_URL',
]);
const dependencies = {
  ...ingestDependencies(config),
  imports: createImportStore(createTable(config.TABLE_NAME)),
  importRequests: createQueue<ImportRequested>(config.IMPORT_QUEUE_URL),
  scanRequests: createQueue(config.SCAN_QUEUE_URL),
  dispatchRequests: createQueue(config.DISPATCH_QUEUE_URL),
};

export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  return handleBatch(event, ImportRequested, (message) => ingestImport(message, dependencies));
}
