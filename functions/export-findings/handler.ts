import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { systemClock } from '#domain/clock.ts';
import { ExportRequested } from '#events/exports.ts';
import { readConfig } from '#shared/config.ts';
import { createReportBucket } from '#shared/report-bucket.ts';
import { handleBatch } from '#shared/sqs-batch.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createExportStore } from '#store/exports.ts';
import { createFindingStore } from '#store/findings.ts';
import { createTable } from '#store/table.ts';
import { exportFindings } from './export-findings.ts';

const config = readConfig(['TABLE_NAME', 'COUNTER_LANES', 'REPORT_BUCKET_URL']);
const table = createTable(config.TABLE_NAME);
const counters = createCounterStore(table, config.COUNTER_LANES);
const dependencies = {
  exports: createExportStore(table),
  findings: createFindingStore(table, counters),
  assets: createAssetStore(table, counters),
  bucket: createReportBucket(config.REPORT_BUCKET_URL),
  clock: systemClock,
};

export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  return handleBatch(event, ExportRequested, (message) => exportFindings(message, dependencies));
}
