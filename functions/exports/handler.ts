import { exports_ } from '#contract/operations/exports.ts';
import { systemClock } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import { createHandler } from '#http/chain.ts';
import { readConfig } from '#shared/config.ts';
import { createQueue } from '#shared/queue.ts';
import { createReportBucket } from '#shared/report-bucket.ts';
import { createExportStore } from '#store/exports.ts';
import { createTable } from '#store/table.ts';
import { exportOperations } from './operations.ts';

const config = readConfig(['TABLE_NAME', 'REPORT_BUCKET_URL', 'EXPORT_QUEUE_URL']);

export const handler = createHandler(exports_, exportOperations, {
  exports: createExportStore(createTable(config.TABLE_NAME)),
  bucket: createReportBucket(config.REPORT_BUCKET_URL),
  exportRequests: createQueue(config.EXPORT_QUEUE_URL),
  clock: systemClock,
  ids: createIds(systemClock),
});
