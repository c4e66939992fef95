import {
  type EmbeddedCloud,
  type EmbeddedCloudOptions,
  startEmbeddedCloud,
} from '#infra/local/embedded-cloud.ts';
import { chosenEngine } from '#test/dynamodb-local/chosen.ts';
import { startDynamoDbLocal } from '#test/dynamodb-local/engine.ts';

/**
 * An embedded cloud on the store that the run is about: the embedded one, or Amazon's. Each has a store of
 * its own: two clouds at one table would take each other's work.
 */
export async function startTestCloud(options: EmbeddedCloudOptions): Promise<EmbeddedCloud> {
  if (chosenEngine() === 'embedded') return startEmbeddedCloud(options);
  const store = await startDynamoDbLocal();
  const before = process.env.DYNAMODB_ENDPOINT;
  process.env.DYNAMODB_ENDPOINT = store.endpoint;
  try {
    const cloud = await startEmbeddedCloud(options);
    return {
      ...cloud,
      async stop() {
        await cloud.stop();
        await store.stop();
      },
    };
  } catch (error) {
    await store.stop();
    throw error;
  } finally {
    if (before === undefined) delete process.env.DYNAMODB_ENDPOINT;
    else process.env.DYNAMODB_ENDPOINT = before;
  }
}
