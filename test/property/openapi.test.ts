import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import * as z from 'zod';
import { ERRORS, type ErrorCode } from '#contract/errors.ts';
import { operations } from '#contract/index.ts';
import { errorsOf, type Operation } from '#contract/operation.ts';
import { fromOpaque } from '#domain/ids.ts';
import { countedPlace, createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createFindingWriteStore } from '#store/finding-writes.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import { sampleAsset, sampleFinding, testAttribution } from '#test/harness/samples.ts';
import {
  type DescribedOperation,
  type GeneratedRequest,
  type JsonSchema,
  type Known,
  requestsOf,
} from './requests.ts';

/** Another seed finds other requests; this one makes a failure happen again. */
const SEED = 20_270_601;
const REQUESTS = 40;
const AT_ONCE = 4;

const ErrorBody = z.object({
  error: z.object({
    code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
    message: z.string().min(1),
    details: z.array(z.object({ field: z.string(), message: z.string() })).optional(),
    retry_after: z.int().optional(),
  }),
});
const HttpValidationErrorBody = z.object({
  detail: z
    .array(
      z.object({ loc: z.array(z.union([z.string(), z.int()])).min(1), msg: z.string(), type: z.string() }),
    )
    .min(1),
});

/** Each of its requests gets a session of its own to end. */
const ENDS_SESSIONS = ['logout'];

interface Place {
  readonly org: TestOrganization;
  readonly key: string;
  readonly known: Known;
}

let described: Map<string, DescribedOperation>;
let components: Record<string, JsonSchema>;
let main: Place;
/** For everything about scans: without an asset, so that what is asked for has nothing to scan. */
let barren: Place;
const seen = { operations: 0, requests: 0, statuses: new Map<number, number>() };

beforeAll(async () => {
  const document = (await (await fetch(`${inject('service').url}/api/openapi.json`)).json()) as {
    paths: Record<string, Record<string, DescribedOperation>>;
    components: { schemas: Record<string, JsonSchema> };
  };
  components = document.components.schemas;
  described = new Map(
    Object.values(document.paths)
      .flatMap((path) => Object.values(path))
      .map((operation) => [operation.operationId, operation]),
  );
  main = await furnish(await createTestOrganization());
  barren = await startScan(await createTestOrganization());
});

/** One record of each kind, so that requests reach further than to a 404. */
async function furnish(org: TestOrganization): Promise<Place> {
  const { key } = await org.withKey('admin');
  const spare = await org.withKey('projects:read');
  const create = async (path: string, body: object) => {
    const answer = await request('POST', path, { key, body });
    return typeof answer.body.id === 'string' ? answer.body.id : '';
  };
  const inOrg = `/api/orgs/${org.orgId}`;
  const project = await create(`${inOrg}/projects`, { name: 'First' });
  const others = [
    await create(`${inOrg}/projects`, { name: 'Second' }),
    await create(`${inOrg}/projects/${project}/sub-projects`, { name: 'Below' }),
  ];
  const team = await create(`${inOrg}/teams/`, { name: 'Team' });
  const integration = await create(`${inOrg}/integrations`, {
    type: 'webhook',
    name: 'Hook',
    config: { url: 'https://hooks.example.com/', events: ['scan.completed'] },
  });
  const policy = await create(`${inOrg}/open-policies`, {
    name: 'Policy',
    kind: 'triage',
    rego: 'package svc.triage\n\nimport rego.v1\n\ndecision := "accept" if input.finding\n',
  });
  const counters = createCounterStore(testTable(), 1);
  const asset = sampleAsset({ project_id: project });
  const finding = sampleFinding(org.orgId, asset.id);
  await createAssetStore(testTable(), counters).create(org.orgId, asset, testAttribution());
  await createFindingWriteStore(testTable(), counters).createAll(
    { orgId: org.orgId, place: countedPlace(asset), guards: [] },
    [finding],
  );
  const known = {
    org_id: [org.orgId],
    project_id: [project, ...others],
    sub_project_id: others,
    team_id: [team],
    integration_id: [integration],
    asset_id: [asset.id],
    asset_ids: [asset.id],
    repo_id: [asset.id],
    finding_id: [finding.id],
    finding_ids: [finding.id],
    policy_id: [policy],
    key_id: [spare.keyId],
    user_id: [org.admin.userId],
    member_user_id: [org.admin.userId],
  };
  const there = Object.entries(known).map(([name, ids]) => [name, ids.filter((id) => id !== '')] as const);
  return { org, key, known: Object.fromEntries(there.filter(([, ids]) => ids.length > 0)) };
}

/** An organization with a scan of nothing. */
async function startScan(org: TestOrganization): Promise<Place> {
  const { key } = await org.withKey('admin');
  const body = { scope: 'organization', scanners: ['semgrep'] };
  const scan = await request('POST', '/api/scans', { key, body });
  const known = {
    org_id: [org.orgId],
    ...(typeof scan.body.id === 'string' && { scan_id: [uuidOf(scan.body.id)] }),
  };
  return { org, key, known };
}

function uuidOf(id: string): string {
  return fromOpaque('scan', id) ?? id;
}

function placeOf(operation: Operation): Place {
  if (/\/(?:scans|scan|scan-all|scan-runs)(?:\/|$)/.test(operation.path)) return barren;
  return main;
}

/** Reads before changes, and deletes last: there is something left to ask for. */
const ORDER = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'];
const tried = operations
  .filter((operation) => !operation.internal)
  .toSorted((a, b) => ORDER.indexOf(a.method) - ORDER.indexOf(b.method));

async function send(operation: Operation, place: Place, generated: GeneratedRequest) {
  const { org, key } = place;
  const asUser = generated.asUser || operation.permission === 'signed-in-user';
  const credential = ENDS_SESSIONS.includes(operation.id)
    ? await org.signInAs('Viewer')
    : asUser
      ? org.accessToken
      : key;
  const { text, contentType, path } = generated;
  return request(operation.method, path, {
    key: credential,
    headers: text === undefined ? {} : { 'content-type': contentType },
    ...(text !== undefined && operation.method !== 'GET' && { text }),
  });
}

/**
 * Whether a path is refused by the gateway itself, before any function: it reads escapes twice, as AWS's does
 * (test/harness/awkward), and what the first reading leaves may be malformed.
 */
function isGatewaysOwn(path: string, { status, body }: Awaited<ReturnType<typeof request>>): boolean {
  if (status !== 400 || body.message !== 'Bad Request') return false;
  try {
    decodeURIComponent(decodeURIComponent(path.split('?', 1)[0] ?? ''));
    return false;
  } catch {
    return true;
  }
}

/** What is wrong with an answer; empty where it keeps what the document promises. */
function complaintsOf(
  operation: Operation,
  declared: DescribedOperation,
  answer: Awaited<ReturnType<typeof request>>,
): string[] {
  const { status, headers, body } = answer;
  const complaints: string[] = [];
  const complain = (wrong: boolean, what: string) => wrong && complaints.push(what);
  complain(status === 500, `500 ${JSON.stringify(body)}`);
  complain(!(status in declared.responses), `${status} is not declared: ${JSON.stringify(body)}`);
  complain(!/^req_[0-9a-f]{32}$/.test(headers.get('x-request-id') ?? ''), 'no X-Request-ID');
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'])
    complain(!/^\d+$/.test(headers.get(name) ?? ''), `no ${name}`);
  if (status === operation.response.status) {
    const parsed = operation.response.schema.safeParse(body);
    complain(!parsed.success, `not the declared body: ${parsed.error?.message} ${JSON.stringify(body)}`);
    return complaints;
  }
  if (operation.family === 'A' && status === 422 && 'detail' in body) {
    complain(
      !HttpValidationErrorBody.safeParse(body).success,
      `no HTTPValidationError: ${JSON.stringify(body)}`,
    );
    return complaints;
  }
  const parsed = ErrorBody.safeParse(body);
  if (!parsed.success) return [...complaints, `no error envelope: ${status} ${JSON.stringify(body)}`];
  const { code } = parsed.data.error;
  complain(ERRORS[code].status !== status, `${code} with ${status}`);
  complain(!errorsOf(operation).includes(code), `${code} is not declared: ${JSON.stringify(body)}`);
  return complaints;
}

describe('generated requests', () => {
  it.each(tried.map((operation) => [operation.id, operation] as const))('%s', async (id, operation) => {
    const declared = described.get(id);
    if (!declared) throw new Error(`${id} is not in the document`);
    const place = placeOf(operation);
    // An organization that is deleted is nobody's but this operation's, and only where nothing is generated.
    const known =
      id === 'deleteOrganization' ? { ...place.known, org_id: [crypto.randomUUID()] } : place.known;
    const isSimple = !operation.params && !operation.query && !operation.body;
    const generated = fc.sample(requestsOf(declared, operation.path, operation.family, known, components), {
      numRuns: isSimple ? 4 : REQUESTS,
      seed: SEED,
    });
    const failures: string[] = [];
    const queue = [...generated];
    const work = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const answer = await send(operation, place, next);
        seen.requests += 1;
        seen.statuses.set(answer.status, (seen.statuses.get(answer.status) ?? 0) + 1);
        if (isGatewaysOwn(next.path, answer)) continue;
        for (const complaint of complaintsOf(operation, declared, answer))
          failures.push(`${operation.method} ${next.path} ${next.text ?? ''}: ${complaint}`.slice(0, 1000));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    seen.operations += 1;
    expect(failures).toEqual([]);
  });
});

afterAll(() => {
  const statuses = [...seen.statuses]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${status}: ${count}`);
  console.log(
    `property-based run: ${seen.operations} operations, ${seen.requests} requests; ${statuses.join(', ')}`,
  );
});
