import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DeleteTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  GetQueueAttributesCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { StateMachine } from 'aws-local-stepfunctions';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TIER_LIMITS } from '#contract/limits.ts';
import { assets } from '#contract/operations/assets.ts';
import { auth } from '#contract/operations/auth.ts';
import { scans } from '#contract/operations/scans.ts';
import { timestamp } from '#domain/clock.ts';
import { toOpaque } from '#domain/ids.ts';
import type { EmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { type Client, createClient } from '#shared/client/client.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createExportStore } from '#store/exports.ts';
import { createImportStore } from '#store/imports.ts';
import { capacityKey } from '#store/keys.ts';
import { createManifestStore } from '#store/manifests.ts';
import { createRunStore } from '#store/runs.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable, type Table } from '#store/table.ts';
import { type AlarmProperties, type Datapoint, readEmf, stateOf } from '#test/harness/cloudwatch.ts';
import { sampleAsset, testAttribution } from '#test/harness/samples.ts';
import { type Resource, synthesize } from '#test/harness/template.ts';
import { startTestCloud } from '#test/harness/test-cloud.ts';
import {
  createVulnerableRepository,
  type VulnerableRepository,
} from '#test/harness/vulnerable-repository.ts';

/**
 * Each alarm of the template, put into ALARM by a failure of the real service in an embedded cloud of its own:
 * what the functions wrote is measured by CloudWatch's rules. What AWS itself counts (errors of functions, depth of
 * queues, 5xx) is counted here of the same things. Only throttles and failing schedules are made up: nothing
 * here throttles.
 */
const { template } = synthesize();
const resources = template.toJSON().Resources as Record<string, Resource>;
const alarms = new Map(
  Object.entries(resources)
    .filter(([, { Type }]) => Type === 'AWS::CloudWatch::Alarm')
    .map(([id, { Properties }]) => [
      id.replace(/^Alarms(.+)[\dA-F]{8}$/, '$1'),
      Properties as AlarmProperties,
    ]),
);

/** The names under which the embedded cloud has the template's resources. */
function nameOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const { Ref, 'Fn::GetAtt': attribute } = value as { Ref?: string; 'Fn::GetAtt'?: [string, string] };
  const id = Ref ?? attribute?.[0] ?? '';
  return String(resources[id]?.Metadata?.['aspm:function'] ?? id);
}

/** Under which the embedded cloud measures; a deployment has the name of its stack here. */
const OF_STACK = (points: readonly Datapoint[]): Datapoint[] =>
  points.map((point) => ({
    ...point,
    dimensions: Object.fromEntries(
      Object.entries(point.dimensions).map(([name, value]) => [name, value === 'local' ? 'Aspm' : value]),
    ),
  }));

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** States of every alarm. The sweep's silence and that of the feeds are alarms by themselves: they spoke just now. */
function statesAt(points: readonly Datapoint[], now = Date.now()): Record<string, string> {
  return Object.fromEntries(
    Array.from(alarms, ([name, alarm]) => [name, stateOf(alarm, points, now + 1, nameOf, 'OK')]),
  );
}

const own = (name: string, value: number, at: number): Datapoint => ({
  namespace: 'Aspm',
  name,
  dimensions: { service: 'Aspm' },
  at,
  value,
});
/** A deployment in which nothing is wrong: what the sweep and the feeds say every time. */
const healthy = (now: number): Datapoint[] => [
  ...Array.from({ length: 20 }, (_, minute) => [
    own('OldestScan', 0, now - minute * MINUTE),
    own('OldestImport', 0, now - minute * MINUTE),
    own('OldestExport', 0, now - minute * MINUTE),
  ]).flat(),
  own('FeedsRead', 1, now - 3 * HOUR),
  own('DatabasesKept', 1, now - 3 * HOUR),
];

const proven = new Map<string, Set<string>>();
/** This failure, and it alone, puts this alarm into ALARM; without it all is well. */
function expectAlarm(name: string, failure: string, points: readonly Datapoint[], now = Date.now()): void {
  const quiet = healthy(now).filter((point) => !points.some(({ name: measured }) => measured === point.name));
  const alarmed = Object.entries(statesAt([...quiet, ...points], now))
    .filter(([, state]) => state === 'ALARM')
    .map(([alarm]) => alarm);
  expect([failure, alarmed]).toEqual([failure, [name]]);
  proven.set(name, new Set([...(proven.get(name) ?? []), failure]));
}

const PASSWORD = 'a password for this test';
let folder: string;
let cloud: EmbeddedCloud;
let client: Client;
let accessToken: string;
let orgId: string;
let table: Table;
let sqs: SQSClient;
let repository: VulnerableRepository;
let assetId: string;

async function brokenScanner(script: string): Promise<void> {
  const path = join(folder, 'bin', 'gitleaks');
  await writeFile(path, `#!/bin/sh\ncase "$1" in version) echo 8.30.1; exit 0;; esac\n${script}\n`, {
    mode: 0o755,
  });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aspm-alarms-'));
  for (const name of ['bin', 'tmp']) await mkdir(join(folder, name));
  await brokenScanner('exit 2');
  repository = await createVulnerableRepository();
  cloud = await startTestCloud({
    port: 0,
    inMemory: true,
    dataDir: join(folder, 'data'),
    adminPassword: PASSWORD,
    env: {
      PATH: `${join(folder, 'bin')}:/usr/bin:/bin`,
      TMPDIR: join(folder, 'tmp'),
      ASPM_SCANNERS_DIR: join(folder, 'nothing-installed'),
      ASPM_RATE_LIMIT_FACTOR: '1000',
      ASPM_DEFAULT_TIER: 'enterprise',
      ASPM_EPSS_URL: 'http://127.0.0.1:9/epss.csv.gz',
      ASPM_KEV_URL: 'http://127.0.0.1:9/kev.json',
      ASPM_GRYPE_DATABASE_URL: 'http://127.0.0.1:9/databases',
      ASPM_TRIVY_DATABASE_URL: 'http://127.0.0.1:9/trivy-db',
    },
  });
  const credentials = {
    accessKeyId: process.env.AWS_ACCESS_KEY_ID ?? '',
    secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY ?? '',
  };
  const common = { region: 'us-east-1', credentials };
  sqs = new SQSClient({ ...common, endpoint: cloud.endpoints.sqs });
  table = createTable(
    process.env.TABLE_NAME ?? '',
    new DynamoDBClient({ ...common, endpoint: cloud.endpoints.dynamodb }),
  );
  const session = await createClient({ url: cloud.url }).call(auth.operations.login, {
    body: { email: cloud.admin.email, password: PASSWORD },
  });
  accessToken = session.access_token;
  client = createClient({ url: cloud.url, credential: session.access_token, strict: true });
  orgId = (await client.call(auth.operations.getCurrentUser)).org_id ?? '';
  assetId = await add(pathToFileURL(repository.path).href);
});
afterAll(async () => {
  await cloud?.stop();
  await repository?.remove();
  await rm(folder, { recursive: true, force: true });
  const rows = Array.from(proven, ([alarm, failure]) => `${alarm.padEnd(20)} ${[...failure].join('; ')}`);
  process.stdout.write(`\nAlarm                Injected failure\n${rows.join('\n')}\n`);
});

interface LogLine {
  readonly level: string;
  readonly function: string;
  readonly message?: string;
}

/** Lines of the service's log from a place on, and the place where they end. */
async function readLog(from = 0): Promise<{ lines: LogLine[]; length: number }> {
  const text = await readFile(join(cloud.dataDir, 'service.log'), 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return {
    lines: whole
      .slice(from)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LogLine),
    length: whole.length,
  };
}

/** What the functions measured, and how often Lambda would have counted an error of theirs. */
function measuredIn(lines: readonly LogLine[]): Datapoint[] {
  return OF_STACK(
    lines.flatMap(({ function: name, message = '' }) => {
      if (!message.startsWith('function failed:')) return readEmf(message);
      const dimensions = { FunctionName: name };
      return [{ namespace: 'AWS/Lambda', name: 'Errors', dimensions, at: Date.now(), value: 1 }];
    }),
  );
}

/** What is measured from now on until `enough`. */
async function measuring(
  work: () => Promise<unknown>,
  enough: (points: readonly Datapoint[]) => boolean,
): Promise<Datapoint[]> {
  const { length } = await readLog();
  await work();
  let points: Datapoint[] = [];
  await expect
    .poll(
      async () => {
        points = measuredIn((await readLog(length)).lines);
        return enough(points);
      },
      { timeout: 60_000 },
    )
    .toBe(true);
  return points;
}

/** The sweep and its like run by themselves as well: what they say in between is left out. */
const only = (points: readonly Datapoint[], ...names: string[]) =>
  points.filter(({ name }) => names.includes(name));
const sumOf = (points: readonly Datapoint[], name: string) =>
  only(points, name).reduce((sum, { value }) => sum + value, 0);

async function add(url: string): Promise<string> {
  const made = await client.call(assets.operations.addRepository, {
    params: { org_id: orgId },
    body: { name: 'repository', url },
  });
  return toOpaque('asset', made.id);
}

async function scan(id: string) {
  const queued = await client.call(scans.operations.createScan, {
    body: { scope: 'asset', target_id: id, scanners: ['gitleaks'] },
  });
  const read = () => client.call(scans.operations.getScan, { params: { scan_id: queued.id } });
  await expect.poll(async () => (await read()).finished_at, { timeout: 50_000 }).not.toBeNull();
  return read();
}

/** Runs the sweep once, and says it to be what it said every minute. */
async function sweptForMinutes(minutes: number): Promise<Datapoint[]> {
  const points = await measuring(
    () => cloud.tick('sweep'),
    (all) => only(all, 'OldestScan').length > 0,
  );
  const now = Date.now();
  const last = ['OldestScan', 'OldestImport', 'OldestExport'].flatMap((name) => only(points, name).slice(-1));
  return Array.from({ length: minutes }, (_, minute) =>
    last.map((point) => ({ ...point, at: now - minute * MINUTE })),
  ).flat();
}

describe('nothing', () => {
  it('puts no alarm into ALARM', async () => {
    const now = Date.now();
    expect(new Set(Object.values(statesAt(healthy(now), now)))).toEqual(new Set(['OK']));
    expect(Object.values(statesAt(await sweptForMinutes(15))).filter((state) => state === 'ALARM')).toEqual([
      // Nobody has read the feeds here, nor fetched the databases.
      'ALARM',
      'ALARM',
    ]);
  });
});

describe('a scan that fails', () => {
  const ends = (points: readonly Datapoint[]) => sumOf(points, 'RunsEnded') > 0;

  it('because its repository can not be cloned is nobody’s alarm', async () => {
    const missing = await add(pathToFileURL(join(folder, 'nothing-here')).href);
    const points = await measuring(async () => {
      expect(await scan(missing)).toMatchObject({ error: { code: 'clone_failed' } });
    }, ends);
    expect([sumOf(points, 'RunsEnded'), sumOf(points, 'RunsFailed')]).toEqual([1, 0]);
    const now = Date.now();
    const states = statesAt([...healthy(now), ...only(points, 'RunsEnded', 'RunsFailed')], now);
    expect(Object.values(states)).not.toContain('ALARM');
  });

  it('because a scanner is broken is', async () => {
    const points = await measuring(async () => {
      expect(await scan(assetId)).toMatchObject({ error: { code: 'scanner_failed' } });
    }, ends);
    expectAlarm('ScanFailures', 'a scanner that crashes', only(points, 'RunsEnded', 'RunsFailed'));
  });

  it('because no runner can start is', async () => {
    await rm(join(folder, 'tmp'), { recursive: true });
    await writeFile(join(folder, 'tmp'), 'no folder any more');
    const points = await measuring(async () => {
      expect(await scan(assetId)).toMatchObject({ status: 'failed', error: { code: 'internal_error' } });
    }, ends);
    await rm(join(folder, 'tmp'));
    await mkdir(join(folder, 'tmp'));
    expectAlarm('ScanFailures', 'a runner that can not start', only(points, 'RunsEnded', 'RunsFailed'));
  });

  it('seldom, among others that go well, is not', () => {
    const now = Date.now();
    const runs = Array.from({ length: 5 }, (_, at) => [
      own('RunsEnded', 1, now - at),
      own('RunsFailed', at === 0 ? 1 : 0, now - at),
    ]).flat();
    expect(statesAt([...healthy(now), ...runs], now).ScanFailures).toBe('OK');
  });
});

describe('a message that can not be read', () => {
  const queue = () => process.env.SCAN_QUEUE_URL ?? '';
  const send = () => sqs.send(new SendMessageCommand({ QueueUrl: queue(), MessageBody: 'no message' }));

  it('raises its alarm at once, though its function answers in order', async () => {
    const points = await measuring(send, (all) => sumOf(all, 'WorkFailed') > 0);
    expect(only(points, 'Errors')).toEqual([]);
    expectAlarm('WorkFailed', 'an unreadable message', only(points, 'WorkFailed'));
  });

  it('raises another one where it was given up', async () => {
    // It comes again at once, and not only after twelve minutes.
    await sqs.send(
      new SetQueueAttributesCommand({ QueueUrl: queue(), Attributes: { VisibilityTimeout: '0' } }),
    );
    await send();
    const { Attributes } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: queue(), AttributeNames: ['RedrivePolicy'] }),
    );
    const { deadLetterTargetArn } = JSON.parse(Attributes?.RedrivePolicy ?? '{}');
    const name = String(deadLetterTargetArn).split(':').at(-1) ?? '';
    const deadLetters = queue().replace(/[^/]+$/, name);
    const depth = async () => {
      const answer = await sqs.send(
        new GetQueueAttributesCommand({
          QueueUrl: deadLetters,
          AttributeNames: ['ApproximateNumberOfMessages'],
        }),
      );
      return Number(answer.Attributes?.ApproximateNumberOfMessages);
    };
    await expect.poll(depth, { timeout: 60_000 }).toBeGreaterThan(0);
    expectAlarm('DeadLetters', 'a message that failed five times', [
      {
        namespace: 'AWS/SQS',
        name: 'ApproximateNumberOfMessagesVisible',
        dimensions: { QueueName: name },
        at: Date.now(),
        value: await depth(),
      },
    ]);
  });
});

describe('what waits', () => {
  const now = Date.now();
  const ago = (minutes: number) => now - minutes * MINUTE;

  it('a scan that nobody dispatches', async () => {
    const [store, runs] = [createScanStore(table), createRunStore(table)];
    const id = crypto.randomUUID();
    const limits = TIER_LIMITS.enterprise;
    const made = await store.create(
      orgId,
      {
        id,
        scope: 'project',
        targetId: crypto.randomUUID(),
        scanners: ['gitleaks'],
        branch: null,
        trigger: 'api',
      },
      limits,
      null,
      testAttribution(ago(30)),
    );
    expect(await store.admit(orgId, made, limits, ago(30))).toBe(true);
    // Planned, and cut off before its run was put among those that wait to be dispatched.
    const run = {
      id: crypto.randomUUID(),
      assetId: crypto.randomUUID(),
      scanners: ['gitleaks'] as const,
      branch: null,
      defaultBranch: true,
      createdAt: timestamp(ago(30)),
      deadlineAt: timestamp(now + 10 * HOUR),
    };
    await runs.plan(orgId, id, [run]);
    await store.recordPlan(orgId, id, 1, 1);
    const points = await sweptForMinutes(12);
    expectAlarm('ScansWait', 'a scan whose run is not dispatched', points);
    expect(statesAt(points.slice(0, 9 * 3)).ScansWait).toBe('ALARM');
    const held = await store.require(orgId, id);
    await store.finish(orgId, held, 'cancelled', testAttribution());
  });

  it('a scan that waits for its own organization’s others is nobody’s alarm', async () => {
    const store = createScanStore(table);
    const id = crypto.randomUUID();
    const made = await store.create(
      orgId,
      {
        id,
        scope: 'project',
        targetId: crypto.randomUUID(),
        scanners: ['gitleaks'],
        branch: null,
        trigger: 'api',
      },
      TIER_LIMITS.enterprise,
      null,
      testAttribution(ago(30)),
    );
    await setCapacity(TIER_LIMITS.enterprise.concurrentScans);
    const points = await sweptForMinutes(12);
    expect(only(points, 'OldestScan').map(({ value }) => value)).toEqual(Array(12).fill(0));
    await setCapacity(0);
    await store.finish(orgId, await store.require(orgId, id), 'cancelled', testAttribution());
    expect(made.status).toBe('queued');
  });

  async function setCapacity(running: number): Promise<void> {
    await table.update({
      Key: capacityKey(orgId),
      UpdateExpression: 'SET running_scans = :n',
      ExpressionAttributeValues: { ':n': running },
    });
  }

  it('the sweep itself, which says nothing any more', () => {
    const daily = (name: string) => name === 'FeedsRead' || name === 'DatabasesKept';
    const long = healthy(now).filter(({ name }) => daily(name));
    expect(statesAt(long, now).ScansWait).toBe('ALARM');
    const gone = healthy(now).filter(({ at, name }) => daily(name) || at < ago(13));
    expectAlarm('ScansWait', 'a sweep that does not run', gone, now);
  });

  it('an import that somebody holds', async () => {
    const asset = sampleAsset();
    await createAssetStore(table, createCounterStore(table, 1)).create(orgId, asset, testAttribution());
    const ref = { orgId, scanId: crypto.randomUUID(), assetId: asset.id, runId: crypto.randomUUID() };
    const reports = [{ scanner: 'semgrep' as const, count: 1 }];
    await createImportStore(table).create(
      { ref, branch: null, isDefault: true, becomesDefault: false, reports, idempotency: null },
      testAttribution(ago(25)),
    );
    await createManifestStore(table).lease(orgId, asset.id, 'semgrep', 'somebody', Date.now());
    expectAlarm('ImportsWait', 'an import whose worker hangs', await sweptForMinutes(4));
    const store = createScanStore(table);
    await store.finish(orgId, await store.require(orgId, ref.scanId), 'cancelled', testAttribution());
  });

  it('an export that somebody holds', async () => {
    const store = createExportStore(table);
    const id = crypto.randomUUID();
    await store.create(orgId, { id, format: 'csv', selection: {} }, testAttribution(ago(25)));
    expect(await store.take(orgId, id, 'somebody', Date.now())).toBe(true);
    expectAlarm('ImportsWait', 'an export whose worker hangs', await sweptForMinutes(4));
    await store.forget(orgId, id);
  });
});

describe('the feeds', () => {
  it('that can not be read are missed after a day and two hours, not before', async () => {
    const points = await measuring(
      () => cloud.tick('vulnerability-feeds').catch(() => {}),
      (all) => sumOf(all, 'Errors') > 0,
    );
    expect(only(points, 'FeedsRead')).toEqual([]);
    const now = Date.now();
    const alive = healthy(now).filter(({ name }) => name !== 'FeedsRead');
    expect(statesAt([...alive, own('FeedsRead', 1, now - 25 * HOUR)], now).FeedsOld).toBe('OK');
    expectAlarm('FeedsOld', 'feeds that can not be read', [own('FeedsRead', 1, now - 29 * HOUR)], now);
  });
});

describe('the databases of the scanners', () => {
  it('that can not be fetched are missed after two days, not before', async () => {
    const points = await measuring(
      () => cloud.tick('scanner-databases').catch(() => {}),
      (all) => sumOf(all, 'Errors') > 0,
    );
    expect(only(points, 'DatabasesKept')).toEqual([]);
    const now = Date.now();
    const alive = healthy(now).filter(({ name }) => name !== 'DatabasesKept');
    expect(statesAt([...alive, own('DatabasesKept', 1, now - 49 * HOUR)], now).DatabasesOld).toBe('OK');
    expectAlarm(
      'DatabasesOld',
      'databases that can not be fetched',
      [own('DatabasesKept', 1, now - 53 * HOUR)],
      now,
    );
  });
});

describe('an execution', () => {
  it('whose last step fails to the end', async () => {
    const machine = Object.entries(resources).find(([, { Type }]) => Type.endsWith('::StateMachine'));
    const text = machine?.[1].Properties.DefinitionString['Fn::Join'][1]
      .map((part: unknown) => (typeof part === 'string' ? part : 'arn:aws:x:y:000000000000:z'))
      .join('');
    const fails = async () => {
      throw new Error('no store');
    };
    const { result } = new StateMachine(JSON.parse(text), {
      validationOptions: { noValidate: true },
    }).run(
      { org_id: 'o', scan_id: 's', asset_id: 'a', run_id: 'r', claim: 'c', scanners: ['gitleaks'] },
      {
        overrides: {
          taskResourceLocalHandlers: { RunScanners: fails, IngestReport: fails, FinishRun: fails },
          retryIntervalOverrides: { RunScanners: 0, IngestReport: 0, FinishRun: 0 },
        },
      },
    );
    await expect(result).rejects.toThrow();
    const dimensions = { StateMachineArn: machine?.[0] ?? '' };
    const counted = {
      namespace: 'AWS/States',
      name: 'ExecutionsFailed',
      dimensions,
      at: Date.now(),
      value: 1,
    };
    expectAlarm('FailedRuns', 'a run that can not be ended', [counted]);
    expectAlarm('FailedRuns', 'a run that takes a day', [{ ...counted, name: 'ExecutionsTimedOut' }]);
  });
});

describe('what only AWS does, by the names that it documents', () => {
  const at = Date.now();
  const count = (namespace: string, name: string, dimensions: Record<string, string>, value = 1) => ({
    namespace,
    name,
    dimensions,
    at,
    value,
  });

  it('throttles functions', () => {
    expectAlarm('FunctionsThrottled', '(documented) functions throttled', [
      count('AWS/Lambda', 'Throttles', {}, 5),
    ]);
  });

  it.each([{}, { GlobalSecondaryIndexName: 'gsi1' }, { GlobalSecondaryIndexName: 'gsi3' }])(
    'throttles the table %o, and the alarm ends by itself',
    (index) => {
      const point = count('AWS/DynamoDB', 'WriteThrottleEvents', { TableName: 'Table', ...index });
      expectAlarm('TableThrottled', '(documented) the table throttled', [point]);
      const now = at + HOUR;
      const alarm = alarms.get('TableThrottled') as AlarmProperties;
      expect(stateOf(alarm, [...healthy(now), point], now + 1, nameOf, 'ALARM')).toBe('OK');
    },
  );

  it('can not start a function on schedule', () => {
    const rules = Object.entries(resources).filter(([, { Type }]) => Type === 'AWS::Events::Rule');
    expect(rules).toHaveLength(4);
    for (const [id] of rules)
      expectAlarm('SchedulesFail', '(documented) a rule without permission', [
        count('AWS/Events', 'FailedInvocations', { RuleName: id }),
      ]);
  });
});

// Last: nothing works any more after it.
describe('a store that is gone', () => {
  it('is felt by callers, by the authorizer, and by what runs in the background', async () => {
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
    await new DynamoDBClient({
      region: 'us-east-1',
      endpoint: cloud.endpoints.dynamodb,
      credentials,
    }).send(new DeleteTableCommand({ TableName: process.env.TABLE_NAME ?? '' }));
    const statuses: number[] = [];
    const points = await measuring(
      async () => {
        for (let index = 0; index < 5; index += 1) {
          const headers = { authorization: `Bearer ${accessToken}` };
          const answer = await fetch(`${cloud.url}/api/projects`, { headers });
          statuses.push(answer.status);
        }
        await cloud.tick('suppression-clock').catch(() => {});
        await cloud.tick('sweep').catch(() => {});
      },
      (all) => sumOf(all, 'AuthorizerFailed') >= 5 && only(all, 'Errors').length >= 2,
    );
    expect(statuses).toEqual([503, 503, 503, 503, 503]);
    const api = Object.entries(resources).find(([, { Type }]) => Type === 'AWS::ApiGatewayV2::Api')?.[0];
    expectAlarm(
      'ApiErrors',
      'a store that is gone: five requests',
      statuses.map((status) => ({
        namespace: 'AWS/ApiGateway',
        name: '5xx',
        dimensions: { ApiId: api ?? '' },
        at: Date.now(),
        value: status >= 500 ? 1 : 0,
      })),
    );
    expectAlarm('AuthorizerFailed', 'a store that is gone: callers', only(points, 'AuthorizerFailed'));
    const background = only(points, 'Errors').filter(
      ({ dimensions: { FunctionName } }) => FunctionName === 'suppression-clock',
    );
    expectAlarm('WorkFailed', 'a store that is gone: the clock of suppressions', background);
    // The sweep could not say what waits, and is missed.
    expect(only(points, 'OldestScan')).toEqual([]);
  });
});

describe('every alarm', () => {
  it('was put into ALARM by a failure', () => {
    expect([...proven.keys()].sort()).toEqual([...alarms.keys()].sort());
  });
});
