import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { systemClock } from '#domain/clock.ts';
import { ScanRequested } from '#events/pipeline.ts';
import { readConfig } from '#shared/config.ts';
import { createQueue } from '#shared/queue.ts';
import { handleBatch } from '#shared/sqs-batch.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createRunStore } from '#store/runs.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable } from '#store/table.ts';
import { planScan } from './plan-scan.ts';

const config = readConfig(['TABLE_NAME', 'COUNTER_LANES', 'SCAN_QUEUE_URL', 'DISPATCH_QUEUE_URL']);
const table = createTable(config.TABLE_NAME);
const dependencies = {
  scans: createScanStore(table),
  runs: createRunStore(table),
  assets: createAssetStore(table, createCounterStore(table, config.COUNTER_LANES)),
  organizations: createOrganizationStore(table),
  scanRequests: createQueue<ScanRequested>(config.SCAN_QUEUE_URL),
  dispatchRequests: createQueue<{ org_id: string }>(config.DISPATCH_QUEUE_URL),
  clock: systemClock,
};

export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  return handleBatch(event, ScanRequested, (message) => planScan(message, dependencies));
}
