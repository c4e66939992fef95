import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { systemClock } from '#domain/clock.ts';
import { DeletionRequested } from '#events/deletions.ts';
import { readConfig } from '#shared/config.ts';
import { createQueue } from '#shared/queue.ts';
import { createReportBucket } from '#shared/report-bucket.ts';
import { handleBatch } from '#shared/sqs-batch.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createOrganizationPurge } from '#store/organization-purge.ts';
import { createRecordDeletions } from '#store/record-deletions.ts';
import { createTable } from '#store/table.ts';
import { deleteRecords } from './delete-records.ts';

const config = readConfig(['TABLE_NAME', 'COUNTER_LANES', 'DELETION_QUEUE_URL', 'REPORT_BUCKET_URL']);
const table = createTable(config.TABLE_NAME);
const counters = createCounterStore(table, config.COUNTER_LANES);
const dependencies = {
  purge: createOrganizationPurge(table),
  records: createRecordDeletions(table, createAssetStore(table, counters), counters),
  bucket: createReportBucket(config.REPORT_BUCKET_URL),
  deletions: createQueue<DeletionRequested>(config.DELETION_QUEUE_URL),
  clock: systemClock,
};

export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  return handleBatch(event, DeletionRequested, (message) => deleteRecords(message, dependencies));
}
