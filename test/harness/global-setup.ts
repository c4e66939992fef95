import type { TestProject } from 'vitest/node';
import { startEmbeddedCloud } from '#infra/local/embedded-cloud.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the service under test answers, and where its parts are. */
    service: { url: string; dynamodb: string; table: string };
  }
}

/** One embedded cloud, in memory, for the whole run: tests make organizations of their own in it. */
export default async function setup(project: TestProject) {
  const cloud = await startEmbeddedCloud({
    port: 0,
    inMemory: true,
    env: {
      // Tests that are about limits bring their own clock and counters.
      ASPM_RATE_LIMIT_FACTOR: '1000',
      ASPM_ALLOW_PRIVATE_ADDRESSES: '1',
      ASPM_DEFAULT_TIER: 'enterprise',
    },
  });
  project.provide('service', {
    url: cloud.url,
    dynamodb: cloud.endpoints.dynamodb,
    table: process.env.TABLE_NAME ?? '',
  });
  return () => cloud.stop();
}
