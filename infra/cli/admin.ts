import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { systemClock } from '#domain/clock.ts';
import { TIERS } from '#domain/vocabulary.ts';
import { REGION } from '#infra/local/resolver.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createRateCounterStore } from '#store/rate-counters.ts';
import { createTable } from '#store/table.ts';
import { dataDirectory, findRunning } from './service.ts';

const USAGE = `Usage: npm run admin -- org set-tier SLUG-or-ID TIER

What the operator of a deployment does, and the API does not. Works on the embedded service that runs
on the data folder, or on the table of TABLE_NAME with the AWS credentials of the environment.

TIER: ${TIERS.join(', ')}; it counts from the next request on.`;

/** `npm run admin`. Answers the exit code. */
async function main([noun, verb, wanted, text, ...rest]: readonly string[]): Promise<number> {
  const tier = TIERS.find((candidate) => candidate === text);
  if (noun !== 'org' || verb !== 'set-tier' || !wanted || !tier || rest.length > 0) {
    console.error(USAGE);
    return 2;
  }
  const table = await openTable();
  const organizations = createOrganizationStore(table);
  const held = (await organizations.findBySlug(wanted)) ?? (await organizations.getOrganization(wanted));
  if (!held) {
    console.error(`There is no organization ${wanted}`);
    return 1;
  }
  const at = systemClock.now();
  const actor = { type: 'system' as const, id: null, name: 'operator' };
  await organizations.setTier(held, tier, { actor, requestId: null, ip: null, at });
  await createRateCounterStore(table).setTier(held.id, tier, at);
  console.log(`${held.name} (${held.slug}) is ${tier} now; it was ${held.tier}.`);
  return 0;
}

async function openTable() {
  const { TABLE_NAME: name } = process.env;
  if (name) return createTable(name);
  const service = await findRunning(dataDirectory());
  if (!service) throw new Error('No embedded service runs on this data folder: start it, or set TABLE_NAME');
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const client = new DynamoDBClient({ endpoint: service.dynamodb, region: REGION, credentials });
  return createTable(service.table, client);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
