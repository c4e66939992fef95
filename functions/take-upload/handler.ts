import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { systemClock } from '#domain/clock.ts';
import { ObjectsCreated } from '#events/uploads.ts';
import { readConfig } from '#shared/config.ts';
import { reportReader } from '#shared/ingest/reader/report-reader.ts';
import { createQueue } from '#shared/queue.ts';
import { createReportBucket, uploadPlaceOf } from '#shared/report-bucket.ts';
import { createSecretReader } from '#shared/security/secrets.ts';
import { handleBatch } from '#shared/sqs-batch.ts';
import { createImportStore } from '#store/imports.ts';
import { createRunStore } from '#store/runs.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable } from '#store/table.ts';
import { takeUpload } from './take-upload.ts';

const config = readConfig(['TABLE_NAME', 'FINGERPRINT_SECRET_ARN', 'REPORT_BUCKET_URL', 'IMPORT_QUEUE_URL']);
const table = createTable(config.TABLE_NAME);
const dependencies = {
  scans: createScanStore(table),
  runs: createRunStore(table),
  imports: createImportStore(table),
  bucket: createReportBucket(config.REPORT_BUCKET_URL),
  reader: reportReader(),
  importRequests: createQueue<{ org_id: string; scan_id: string; asset_id: string; run_id: string }>(
    config.IMPORT_QUEUE_URL,
  ),
  readFingerprintSecret: createSecretReader(config.FINGERPRINT_SECRET_ARN),
  clock: systemClock,
};

export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  return handleBatch(event, ObjectsCreated, async ({ Records }) => {
    for (const { s3 } of Records) {
      const place = uploadPlaceOf(s3.object.key);
      if (place) await takeUpload(place, dependencies);
    }
  });
}
