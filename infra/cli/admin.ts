import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { systemClock } from '#domain/clock.ts';
import { TIERS, type Tier } from '#domain/vocabulary.ts';
import { REGION } from '#infra/local/resolver.ts';
import { STACK_NAME } from '#infra/project.ts';
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
import { openDeployedTable } from './deployed-stack.ts';
import { bootstrapDeployment, createOrganization, inviteAdmin } from './new-organization.ts';
import { dataDirectory, findRunning } from './service.ts';
import { readWords } from './words.ts';

const USAGE = `Usage: npm run admin -- COMMAND [--stack NAME] [--region REGION]

Commands:
  bootstrap EMAIL [SLUG]           the first organization (default: "default") with its admin
  org create SLUG EMAIL            an organization with its first admin, a new user
  org invite SLUG-or-ID EMAIL      invites a user who is known as an admin
  org set-tier SLUG-or-ID TIER     ${TIERS.join(', ')}; it counts from the next request on
  counters verify SLUG-or-ID       recounts findings and compares every counter; exit code 1 where one is off
  counters rebuild SLUG-or-ID      the same, and mends what is off; neither should ever find anything
  feeds update                     reads EPSS and KEV now; a running service does so once a day

Options:
  --stack NAME       works on this CloudFormation stack (usually ${STACK_NAME}), with the AWS credentials at hand
  --region REGION    where the stack is, if not in the region of the AWS configuration
  --tier TIER        tier of an organization that is made (default: ASPM_DEFAULT_TIER, then free)
  --help             this text

What the operator of a deployment does, and the API does not. Without --stack it works on the table of
TABLE_NAME, else on the embedded service that runs on the data folder.

bootstrap and org create print the admin's password once, or take ASPM_ADMIN_PASSWORD. bootstrap is safe
to repeat. org invite is for an organization that none can sign in to any more.

Exit codes: 0 done; 1 it could not be done; 2 the command, or a value of it, is not understood.`;

/** Lanes of a deployed table's counters; the embedded one has fewer, and absent lanes count as nothing. */
const LANES = 32;

interface Options {
  readonly stack?: string | undefined;
  readonly region?: string | undefined;
  readonly tier?: Tier | undefined;
}

/** `npm run admin`. Answers the exit code. */
async function main(words: readonly string[]): Promise<number> {
  const asked = readAsked(words);
  if (asked === null) {
    console.error(USAGE);
    return 2;
  }
  if (asked === 'help') {
    console.log(USAGE);
    return 0;
  }
  return asked.run(await openTable(asked.options));
}

type Asked = { readonly options: Options; readonly run: (table: Table) => Promise<number> };

/** What the words ask for; null where they ask for nothing known. */
function readAsked(words: readonly string[]): Asked | 'help' | null {
  const given = readWords(words, {
    stack: { type: 'string' },
    region: { type: 'string' },
    tier: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });
  if (given === null) return null;
  const { values, positionals } = given;
  if (values.help) return 'help';
  const tier = TIERS.find((candidate) => candidate === values.tier);
  if (values.tier !== undefined && tier === undefined) return null;
  const run = commandOf(positionals, tier);
  return run && { options: { stack: values.stack, region: values.region, tier }, run };
}

function commandOf([first, ...rest]: readonly string[], tier: Tier | undefined): Asked['run'] | null {
  const password = process.env.ASPM_ADMIN_PASSWORD;
  if (first === 'bootstrap') {
    const [email, slug = 'default', ...more] = rest;
    if (!email || more.length > 0) return null;
    return (table) => bootstrapDeployment(table, { slug, email, tier, password });
  }
  const [verb, wanted, text, ...more] = rest;
  if (more.length > 0) return null;
  switch (`${first} ${verb}`) {
    case 'org create':
      return wanted && text
        ? (table) => createOrganization(table, { slug: wanted, email: text, tier, password })
        : null;
    case 'org invite':
      return wanted && text ? onOrganization(wanted, (table, held) => inviteAdmin(table, held, text)) : null;
    case 'org set-tier': {
      const next = TIERS.find((candidate) => candidate === text);
      return wanted && next ? onOrganization(wanted, (table, held) => setTier(table, held, next)) : null;
    }
    case 'counters verify':
    case 'counters rebuild':
      return wanted && text === undefined
        ? onOrganization(wanted, (table, held) => recount(table, held, verb === 'rebuild'))
        : null;
    case 'feeds update':
      return wanted === undefined ? updateFeeds : null;
    default:
      return null;
  }
}

function onOrganization(
  wanted: string,
  run: (table: Table, held: OrganizationRecord) => Promise<number>,
): Asked['run'] {
  return async (table) => {
    const organizations = createOrganizationStore(table);
    const held = (await organizations.findBySlug(wanted)) ?? (await organizations.getOrganization(wanted));
    if (held) return run(table, held);
    console.error(`There is no organization ${wanted}`);
    return 1;
  };
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

async function openTable({ stack, region }: Options): Promise<Table> {
  if (stack !== undefined) return openDeployedTable({ name: stack, region });
  const { TABLE_NAME: name } = process.env;
  if (name) return createTable(name);
  const service = await findRunning(dataDirectory());
  if (!service)
    throw new Error(
      'No embedded service runs on this data folder: start it, or name a deployment (--stack NAME)',
    );
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
