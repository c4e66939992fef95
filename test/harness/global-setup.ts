import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { createSecretReader } from '#shared/security/secrets.ts';
import { prepareScannerDatabases } from './scanner-databases.ts';
import { startTestCloud } from './test-cloud.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the service under test answers, and where its parts are. */
    service: {
      url: string;
      dynamodb: string;
      region: string;
      bucketUrl: string;
      table: string;
      /** Lanes of its counters, which whoever counts anew has to read. */
      lanes: number;
      /** The file of its log lines. */
      log: string;
      tokenSecret: string;
      /** Where folders of this machine are served as repositories; empty: they are cloned by their paths. */
      repositories: string;
      /** What the service's parts know each other by. */
      credentials: { accessKeyId: string; secretAccessKey: string };
    };
  }
}

/** One embedded cloud, in memory, for the whole run: tests make organizations of their own in it. */
export default async function setup(project: TestProject) {
  const folder = await mkdtemp(join(tmpdir(), 'aspm-tests-'));
  const cloud = await startTestCloud({
    port: 0,
    inMemory: true,
    dataDir: join(folder, 'data'),
    env: {
      ...(await scannerDatabases(join(folder, 'databases'))),
      // Tests that are about limits bring their own clock and counters.
      ASPM_RATE_LIMIT_FACTOR: '1000',
      ASPM_ALLOW_PRIVATE_ADDRESSES: '1',
      ASPM_DEFAULT_TIER: 'enterprise',
    },
  });
  project.provide('service', {
    url: cloud.url,
    dynamodb: cloud.endpoints.dynamodb,
    repositories: '',
    lanes: Number(process.env.COUNTER_LANES),
    region: process.env.AWS_REGION ?? '',
    bucketUrl: process.env.REPORT_BUCKET_URL ?? '',
    table: process.env.TABLE_NAME ?? '',
    log: join(cloud.dataDir, 'service.log'),
    credentials: {
      accessKeyId: process.env.AWS_ACCESS_KEY_ID ?? '',
      secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY ?? '',
    },
    // Made for this run alone: tests sign tokens of their own with it.
    tokenSecret: await createSecretReader(process.env.TOKEN_SECRET_ARN ?? '')(),
  });
  return async () => {
    await cloud.stop();
    await rm(folder, { recursive: true, force: true });
  };
}

/** Without Grype the tests that need it fail and say so; the others are none the worse. */
async function scannerDatabases(folder: string): Promise<Record<string, string>> {
  try {
    return await prepareScannerDatabases(folder);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return {};
  }
}
