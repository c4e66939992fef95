import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { systemClock } from '#domain/clock.ts';
import { TIERS } from '#domain/vocabulary.ts';
import { REGION } from '#infra/local/resolver.ts';
import { readConfig } from '#shared/config.ts';
import { updateScores } from '#shared/feeds/update-scores.ts';
import { judgeByDay } from '#shared/judging/judge-by-day.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createJudgedOrganizationStore } from '#store/judged-organizations.ts';
import { createOrganizationStore, type OrganizationRecord } from '#store/organizations.ts';
import { createPolicyStore } from '#store/policies.ts';
import { createPolicyCodeStore } from '#store/policy-code.ts';
import { createRateCounterStore } from '#store/rate-counters.ts';
import { createRecounting } from '#store/recount.ts';
import { createReevaluationStore } from '#store/reevaluations.ts';
import { createTable, type Table } from '#store/table.ts';
import { createScoreStore } from '#store/vulnerability-scores.ts';
import { createOrganization, inviteAdmin } from './new-organization.ts';
import { dataDirectory, findRunning } from './service.ts';

const USAGE = `Usage: npm run admin -- org create SLUG EMAIL
       npm run admin -- org invite SLUG-or-ID EMAIL
       npm run admin -- org set-tier SLUG-or-ID TIER
       npm run admin -- counters verify SLUG-or-ID
       npm run admin -- counters rebuild SLUG-or-ID
       npm run admin -- feeds update

What the operator of a deployment does, and the API does not. Works on the embedded service that runs
on the data folder, or on the table of TABLE_NAME with the AWS credentials of the environment.

org create makes an organization with its first admin, a new user, and prints the password once.
org invite invites a user who is known as an admin, for an organization that none can sign in to any more.
TIER: ${TIERS.join(', ')}; it counts from the next request on.
counters verify recounts an organization's findings and compares every counter; exit code 1 where one is
off. rebuild also mends what is off. Neither should ever find anything.
feeds update reads EPSS and KEV now; a running service does so once a day (ASPM_EPSS_URL, ASPM_KEV_URL).`;

/** Lanes of a deployed table's counters; the embedded one has fewer, and absent lanes count as nothing. */
const LANES = 32;

/** `npm run admin`. Answers the exit code. */
async function main([noun, verb, wanted, text, ...rest]: readonly string[]): Promise<number> {
  if (noun === 'feeds' && verb === 'update' && wanted === undefined) return updateFeeds(await openTable());
  if (noun === 'org' && verb === 'create' && wanted && text && rest.length === 0)
    return createOrganization(await openTable(), wanted, text);
  const tier = TIERS.find((candidate) => candidate === text);
  const known =
    (noun === 'org' && verb === 'set-tier' && tier !== undefined) ||
    (noun === 'org' && verb === 'invite' && text !== undefined) ||
    (noun === 'counters' && (verb === 'verify' || verb === 'rebuild') && text === undefined);
  if (!known || !wanted || rest.length > 0) {
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
  if (verb === 'invite' && text) return inviteAdmin(table, held, text);
  return tier ? setTier(table, held, tier) : recount(table, held, verb === 'rebuild');
}

async function setTier(
  table: Table,
  held: OrganizationRecord,
  tier: OrganizationRecord['tier'],
): Promise<number> {
  const at = systemClock.now();
  const actor = { type: 'system' as const, id: null, name: 'operator' };
  await createOrganizationStore(table).setTier(held, tier, { actor, requestId: null, ip: null, at });
  await createRateCounterStore(table).setTier(held.id, tier, at);
  console.log(`${held.name} (${held.slug}) is ${tier} now; it was ${held.tier}.`);
  return 0;
}

async function updateFeeds(table: Table): Promise<number> {
  const { ASPM_EPSS_URL: epssUrl, ASPM_KEV_URL: kevUrl } = readConfig(['ASPM_EPSS_URL', 'ASPM_KEV_URL']);
  const scores = createScoreStore(table);
  const { epss, kev, shards } = await updateScores({ scores, epssUrl, kevUrl, clock: systemClock });
  console.log(`EPSS of ${epss} CVEs, ${kev} known to be exploited; ${shards} items written.`);
  const organizations = await judgeByDay({
    judged: createJudgedOrganizationStore(table),
    policies: createPolicyStore(table),
    policyCode: createPolicyCodeStore(table),
    reevaluations: createReevaluationStore(table),
    // It is recorded: the service's sweep takes it up within a minute.
    reevaluationRequests: { send: async () => {} },
    clock: systemClock,
  });
  console.log(`Findings of ${organizations} organizations will be judged anew by their policies.`);
  return 0;
}

async function recount(table: Table, held: OrganizationRecord, mend: boolean): Promise<number> {
  const counters = createCounterStore(table, LANES);
  const recounting = createRecounting(table, createAssetStore(table, counters), counters);
  const { findings, counters: compared, differences } = await recounting.recount(held.id);
  console.log(`${held.name}: ${findings} findings recounted, ${compared} counters compared.`);
  for (const { of, id, missing, ...also } of differences)
    console.log(
      `  ${of} ${id}${'route' in also ? ` ${also.route}` : ''}: ${[...missing].map(([cell, by]) => `${cell} ${by > 0 ? '+' : ''}${by}`).join(', ')}`,
    );
  if (differences.length === 0) {
    console.log('Every counter is exact.');
    return 0;
  }
  if (!mend) return 1;
  await recounting.mend(held.id, differences);
  console.log(`${differences.length} counters mended.`);
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
