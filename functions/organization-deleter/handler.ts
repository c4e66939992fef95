import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { systemClock } from '#domain/clock.ts';
import { OrganizationDeleted } from '#events/organizations.ts';
import { readConfig } from '#shared/config.ts';
import { createQueue } from '#shared/queue.ts';
import { createReportBucket } from '#shared/report-bucket.ts';
import { handleBatch } from '#shared/sqs-batch.ts';
import { createOrganizationPurge } from '#store/organization-purge.ts';
import { createTable } from '#store/table.ts';
import { deleteOrganization } from './delete-organization.ts';

const config = readConfig(['TABLE_NAME', 'DELETION_QUEUE_URL', 'REPORT_BUCKET_URL']);
const dependencies = {
  purge: createOrganizationPurge(createTable(config.TABLE_NAME)),
  bucket: createReportBucket(config.REPORT_BUCKET_URL),
  deletions: createQueue<OrganizationDeleted>(config.DELETION_QUEUE_URL),
  clock: systemClock,
};

export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  return handleBatch(event, OrganizationDeleted, (message) => deleteOrganization(message, dependencies));
}
