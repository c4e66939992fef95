import { imports } from '#contract/operations/imports.ts';
import { systemClock } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import { createHandler } from '#http/chain.ts';
import { readConfig } from '#shared/config.ts';
import { reportReader } from '#shared/ingest/reader/report-reader.ts';
import { createQueue } from '#shared/queue.ts';
import { createReportBucket } from '#shared/report-bucket.ts';
import { createSecretReader } from '#shared/security/secrets.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createImportStore } from '#store/imports.ts';
import { createManifestStore } from '#store/manifests.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable } from '#store/table.ts';
import { importOperations } from './operations.ts';

const config = readConfig([
  'TABLE_NAME',
  'COUNTER_LANES',
  'FINGERPRINT_SECRET_ARN',
  'REPORT_BUCKET_URL',
  'IMPORT_QUEUE_URL',
]);
const table = createTable(config.TABLE_NAME);

export const handler = createHandler(imports, importOperations, {
  assets: createAssetStore(table, createCounterStore(table, config.COUNTER_LANES)),
  scans: createScanStore(table),
  imports: createImportStore(table),
  manifests: createManifestStore(table),
  bucket: createReportBucket(config.REPORT_BUCKET_URL),
  reader: reportReader(),
  importRequests: createQueue(config.IMPORT_QUEUE_URL),
  readFingerprintSecret: createSecretReader(config.FINGERPRINT_SECRET_ARN),
  clock: systemClock,
  ids: createIds(systemClock),
});
