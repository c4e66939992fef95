import { tmpdir } from 'node:os';
import { readConfig } from '#shared/config.ts';
import { measure } from '#shared/metrics.ts';
import { createReportBucket } from '#shared/report-bucket.ts';
import { keepDatabases } from './keep-databases.ts';

const config = readConfig(['REPORT_BUCKET_URL', 'ASPM_GRYPE_DATABASE_URL', 'ASPM_TRIVY_DATABASE_URL']);
const bucket = createReportBucket(config.REPORT_BUCKET_URL);

export async function handler(): Promise<void> {
  await keepDatabases({
    bucket,
    folder: tmpdir(),
    sources: { grype: config.ASPM_GRYPE_DATABASE_URL, trivy: config.ASPM_TRIVY_DATABASE_URL },
  });
  measure({ DatabasesKept: 1 });
}
