import { runnerGate } from '#contract/operations/runner-gate.ts';
import { systemClock } from '#domain/clock.ts';
import { createHandler } from '#http/chain.ts';
import { readConfig } from '#shared/config.ts';
import { createReportBucket } from '#shared/report-bucket.ts';
import { createSecretReader } from '#shared/security/secrets.ts';
import { createTokens } from '#shared/security/tokens.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createRunStore } from '#store/runs.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable } from '#store/table.ts';
import { runnerGateOperations } from './operations.ts';

const config = readConfig([
  'TABLE_NAME',
  'COUNTER_LANES',
  'TOKEN_SECRET_ARN',
  'FINGERPRINT_SECRET_ARN',
  'REPORT_BUCKET_URL',
  'ASPM_ALLOW_LOCAL_REPOSITORIES',
  'ASPM_ALLOW_PRIVATE_ADDRESSES',
]);
const table = createTable(config.TABLE_NAME);
const organizations = createOrganizationStore(table);

export const handler = createHandler(runnerGate, runnerGateOperations, {
  runs: createRunStore(table),
  scans: createScanStore(table),
  assets: createAssetStore(table, createCounterStore(table, config.COUNTER_LANES)),
  bucket: createReportBucket(config.REPORT_BUCKET_URL),
  tokens: createTokens(createSecretReader(config.TOKEN_SECRET_ARN), systemClock),
  readFingerprintSecret: createSecretReader(config.FINGERPRINT_SECRET_ARN),
  clock: systemClock,
  readRepositoryExclusions: (orgId) => organizations.readRepositoryExclusions(orgId),
  allowLocal: config.ASPM_ALLOW_LOCAL_REPOSITORIES,
  reachable: config.ASPM_ALLOW_PRIVATE_ADDRESSES,
});
