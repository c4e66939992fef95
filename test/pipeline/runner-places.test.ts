import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import fc from 'fast-check';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { TIER_LIMITS } from '#contract/limits.ts';
import { timestamp } from '#domain/clock.ts';
import type { DispatchRequested, RunExecution } from '#events/pipeline.ts';
import { finishRun } from '#functions/finish-run/finish-run.ts';
import { dispatchRuns } from '#functions/run-dispatcher/dispatch.ts';
import { sweep } from '#functions/sweep/sweep.ts';
import { createTables } from '#infra/local/dynamodb.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createExportStore } from '#store/exports.ts';
import { runKey } from '#store/keys.ts';
import { createManifestStore } from '#store/manifests.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createRecordDeletions, type RecordDeletions } from '#store/record-deletions.ts';
import { createRunnerPlaceStore } from '#store/runner-places.ts';
import { createRunStore } from '#store/runs.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable, type Table } from '#store/table.ts';
import { sampleAsset, testAttribution } from '#test/harness/samples.ts';

/**
 * A bound on runners over all organizations, on a table of its own: the sweep and the dispatcher of the service
 * under test, which know no bound, would serve these organizations as well.
 */
const clock = { at: Date.now(), now: () => clock.at };
let requests = 0;
let table: Table;
let stores: ReturnType<typeof storesOf>;
let deletions: RecordDeletions;

function storesOf(on: Table) {
  return {
    scans: createScanStore(on),
    runs: createRunStore(on),
    organizations: createOrganizationStore(on),
    assets: createAssetStore(on, createCounterStore(on, 1)),
    exports: createExportStore(on),
    manifests: createManifestStore(on),
    places: createRunnerPlaceStore(on),
  };
}

beforeAll(async () => {
  const { dynamodb, region, credentials } = inject('service');
  const client = new DynamoDBClient({ endpoint: dynamodb, region, credentials });
  const text = (name: string) => ({ AttributeName: name, AttributeType: 'S' as const });
  const keys = (pk: string, sk: string) => [
    { AttributeName: pk, KeyType: 'HASH' as const },
    { AttributeName: sk, KeyType: 'RANGE' as const },
  ];
  const name = `Places-${randomUUID()}`;
  await createTables(
    [{ name, AttributeDefinitions: [text('pk'), text('sk')], KeySchema: keys('pk', 'sk') }],
    client,
  );
  client.middlewareStack.add(
    (next) => async (input) => {
      requests += 1;
      return next(input);
    },
    { step: 'finalizeRequest', name: 'countRequests' },
  );
  table = createTable(name, client);
  stores = storesOf(table);
  deletions = createRecordDeletions(table, stores.assets, createCounterStore(table, 1));
});

async function requestsOf(work: () => Promise<unknown>): Promise<number> {
  const before = requests;
  await work();
  return requests - before;
}

/** A deployment with a bound: the far ends of queues and of Step Functions are in the test's hands. */
function deployment(maxRunners: number) {
  const running = new Map<string, RunExecution>();
  const started: RunExecution[] = [];
  const messages: DispatchRequested[] = [];
  const state = { failing: false };
  const dependencies = {
    ...stores,
    maxRunners,
    clock,
    executions: {
      async start(input: RunExecution) {
        if (state.failing) throw new Error('no capacity');
        running.set(input.run_id, input);
        started.push(input);
      },
      isRunning: async (runId: string) => running.has(runId),
      stop: async (runId: string) => void running.delete(runId),
    },
    scanRequests: { send: async () => {} },
    dispatchRequests: { send: async (message: DispatchRequested) => void messages.push(message) },
    importRequests: { send: async () => {} },
    listPendingDeletions: async () => [],
    deletions: { send: async () => {} },
    reevaluations: { listIdle: async () => [] },
    reevaluationRequests: { send: async () => {} },
    exportRequests: { send: async () => {} },
  };
  return {
    running,
    started,
    messages,
    state,
    places: () => stores.places.read(),
    dispatch: (orgId: string) => dispatchRuns({ org_id: orgId }, dependencies),
    /** Dispatchers at work at once, each with a message; one that fails comes again. */
    async deliver(many: number) {
      const taken = messages.splice(0, many);
      const done = await Promise.allSettled(taken.map((message) => dispatchRuns(message, dependencies)));
      for (const [at, { status }] of done.entries())
        if (status === 'rejected') messages.push(taken[at] as DispatchRequested);
    },
    async end(run: RunExecution) {
      running.delete(run.run_id);
      await finishRun(run, dependencies);
    },
    sweep: () => sweep(dependencies),
  };
}

async function organization(): Promise<string> {
  const orgId = randomUUID();
  const userId = randomUUID();
  await stores.organizations.createOrganization(
    { id: orgId, name: 'Test', slug: `test-${orgId}`, tier: 'enterprise' },
    {
      newUser: {
        id: userId,
        email: `${userId}@example.com`,
        name: 'Test',
        password_hash: 'none',
        created_at: timestamp(clock.at),
        last_login_at: null,
      },
    },
    testAttribution(clock.at),
  );
  return orgId;
}

/** A scan that is planned, and waits to be dispatched. */
async function plan(orgId: string, runs: number): Promise<string> {
  const id = randomUUID();
  const limits = { ...TIER_LIMITS.enterprise, concurrentScans: 1000 };
  const scan = await stores.scans.create(
    orgId,
    { id, scope: 'project', targetId: randomUUID(), scanners: ['gitleaks'], branch: null, trigger: 'api' },
    { ...limits, maxScanMinutes: 30 },
    null,
    testAttribution(clock.at),
  );
  await stores.scans.admit(orgId, scan, limits, clock.at);
  const planned = Array.from({ length: runs }, () => sampleAsset());
  for (const asset of planned) await stores.assets.create(orgId, asset, testAttribution(clock.at));
  await stores.runs.plan(
    orgId,
    id,
    planned.map((asset) => ({
      id: randomUUID(),
      assetId: asset.id,
      scanners: ['gitleaks'] as const,
      branch: null,
      defaultBranch: true,
      createdAt: timestamp(clock.at),
      deadlineAt: timestamp(clock.at + 30 * 60_000),
    })),
  );
  await stores.scans.recordPlan(orgId, id, runs, runs);
  await stores.runs.enqueue(orgId, await stores.runs.listAll(orgId, id));
  return id;
}

type Step =
  | { kind: 'plan'; org: number; runs: number }
  | { kind: 'deliver'; many: number }
  | { kind: 'end' | 'lose' | 'purge' | 'delete'; which: number }
  | { kind: 'break' | 'mend' | 'sweep' };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('plan' as const), org: fc.nat(2), runs: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant('deliver' as const), many: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant('deliver' as const), many: fc.integer({ min: 1, max: 4 }) }),
  fc.record({
    kind: fc.constantFrom(
      'end' as const,
      'end' as const,
      'lose' as const,
      'purge' as const,
      'delete' as const,
    ),
    which: fc.nat(9),
  }),
  fc.record({ kind: fc.constantFrom('break' as const, 'mend' as const, 'sweep' as const) }),
);

describe('places of runners', () => {
  it('are never more than the bound, and none is lost, whatever happens', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(STEP, { minLength: 10, maxLength: 40 }),
        async (max, steps) => {
          const service = deployment(max);
          const orgs = await Promise.all([organization(), organization(), organization()]);
          const scans: [string, string][] = [];
          const pick = (which: number) =>
            [...service.running.values()][which % Math.max(1, service.running.size)];
          /** Assets that were deleted, with how many runs had been started by then. */
          const deleted = new Map<string, number>();
          const left = async () =>
            (await Promise.all(scans.map(([orgId, id]) => stores.runs.listAll(orgId, id)))).flat();
          const perform = async (step: Step): Promise<void> => {
            clock.at += 1000;
            if (step.kind === 'plan') {
              const orgId = orgs[step.org] as string;
              scans.push([orgId, await plan(orgId, step.runs)]);
              service.messages.push({ org_id: orgId });
            }
            if (step.kind === 'deliver') await service.deliver(step.many);
            if (step.kind === 'break' || step.kind === 'mend') service.state.failing = step.kind === 'break';
            if (step.kind === 'sweep') {
              clock.at += 31_000;
              await service.sweep();
            }
            if (!('which' in step)) return;
            if (step.kind === 'delete') {
              const all = await left();
              const gone = all[step.which % Math.max(1, all.length)]?.asset_id;
              if (gone !== undefined && !deleted.has(gone)) {
                const [orgId] =
                  scans.find(([, id]) => all.some((run) => run.asset_id === gone && run.scan_id === id)) ??
                  [];
                await deletions.beginAsset(String(orgId), gone, testAttribution(clock.at));
                deleted.set(gone, service.started.length);
              }
              return;
            }
            const run = pick(step.which);
            if (!run) return;
            if (step.kind === 'end') await service.end(run);
            if (step.kind === 'lose') service.running.delete(run.run_id);
            if (step.kind === 'purge') {
              service.running.delete(run.run_id);
              await table.deleteAll([runKey(run.org_id, run.scan_id, run.asset_id)]);
            }
          };
          for (const step of steps) {
            await perform(step);
            expect(service.running.size).toBeLessThanOrEqual(max);
            const { held } = await service.places();
            expect(held.length).toBeLessThanOrEqual(max);
            // A run that runs no more has given its place back already; what was deleted leaves it to the sweep.
            for (const { orgId, scanId, assetId } of held)
              expect([null, 'running']).toContain(
                (await stores.runs.get(orgId, scanId, assetId))?.status ?? null,
              );
            for (const id of service.running.keys()) expect(held.map(({ runId }) => runId)).toContain(id);
          }

          // Everything that waits gets its turn, and ends.
          service.state.failing = false;
          for (let round = 0; round < 200; round += 1) {
            clock.at += 31_000;
            await service.sweep();
            while (service.messages.length > 0) await service.deliver(3);
            for (const run of [...service.running.values()]) await service.end(run);
            const open = (await left()).filter(({ status }) => status === 'waiting' || status === 'running');
            if (open.length === 0) break;
          }
          expect((await left()).map(({ status }) => status)).toEqual(
            (await left()).map(() => expect.stringMatching(/^(?:completed|failed|cancelled)$/)),
          );
          await service.sweep();
          while (service.messages.length > 0) await service.deliver(3);
          expect(await service.places()).toEqual({ held: [], turns: [] });
          for (const [at, { asset_id }] of service.started.entries())
            expect(at).toBeLessThan(deleted.get(asset_id) ?? Infinity);
          for (const orgId of orgs) expect(await stores.runs.listWaiting(orgId, 10)).toEqual([]);
          // Scans that lost a run for good would be looked at for ever.
          for (const { orgId, scanId } of await stores.scans.listActive()) {
            const scan = await stores.scans.require(orgId, scanId);
            await stores.scans.finish(orgId, scan, 'cancelled', testAttribution(clock.at));
          }
        },
      ),
      { numRuns: 12, endOnFailure: true },
    );
  });

  it('go to the organization that holds fewest: one run does not wait for a thousand', async () => {
    const service = deployment(2);
    const [large, small] = [await organization(), await organization()];
    await plan(large, 40);
    await service.dispatch(large);
    expect(service.started).toHaveLength(2);
    await plan(small, 1);
    await service.dispatch(small);
    expect(service.started).toHaveLength(2);
    // It is the large one's own end that gives the place away.
    await service.end(service.started[0] as RunExecution);
    await service.deliver(1);
    expect(service.started.map(({ org_id }) => org_id)).toEqual([large, large, small]);
    await drain(service);
  });

  it('go round where there is but one', async () => {
    const service = deployment(1);
    const orgs = [await organization(), await organization(), await organization()];
    const names = new Map(orgs.map((orgId, at) => [orgId, 'ABC'[at]]));
    for (const [at, orgId] of orgs.entries()) {
      await plan(orgId, at === 2 ? 1 : 4);
      await service.dispatch(orgId);
    }
    // The first one began before the others asked, and was put behind nobody.
    for (let round = 0; round < 20 && service.running.size > 0; round += 1) {
      await service.end(service.started.at(-1) as RunExecution);
      await service.deliver(10);
    }
    expect(service.started.map(({ org_id }) => names.get(org_id)).join('')).toBe('AABCABABB');
    await drain(service);
  });

  it('are not held up by an organization with which something is wrong', async () => {
    const service = deployment(2);
    const [broken, sound] = [await organization(), await organization()];
    const scanId = await plan(broken, 1);
    const [run] = await stores.runs.listAll(broken, scanId);
    await table.update({
      Key: runKey(broken, scanId, run?.asset_id ?? ''),
      UpdateExpression: 'SET scanners = :rubbish',
      ExpressionAttributeValues: { ':rubbish': 'rubbish' },
    });
    await expect(service.dispatch(broken)).rejects.toThrow();
    await plan(sound, 1);
    await expect(service.dispatch(sound)).rejects.toThrow();
    expect(service.started.map(({ org_id }) => org_id)).toEqual([sound]);
    await table.deleteAll([runKey(broken, scanId, run?.asset_id ?? '')]);
    await drain(service);
  });

  it('do not cost a scan its time while it waits for one', async () => {
    const service = deployment(1);
    const [first, second] = [await organization(), await organization()];
    await plan(first, 1);
    await service.dispatch(first);
    const scanId = await plan(second, 1);
    await service.dispatch(second);
    // Longer than the scan may take.
    clock.at += 40 * 60_000;
    for (const run of service.running.values()) await service.end(run);
    await service.sweep();
    expect((await stores.scans.require(second, scanId)).status).toBe('running');
    await service.deliver(10);
    expect(service.started.map(({ org_id }) => org_id)).toEqual([first, second]);
    const scan = await stores.scans.require(second, scanId);
    expect(scan.deadline_at).toBe(timestamp(clock.at + 30 * 60_000));
    const [run] = await stores.runs.listAll(second, scanId);
    expect(run).toMatchObject({ status: 'running', deadline_at: scan.deadline_at });
    clock.at += 31 * 60_000;
    await service.sweep();
    expect(await stores.scans.require(second, scanId)).toMatchObject({
      status: 'failed',
      failures: [{ code: 'scanner_timeout' }],
    });
    await drain(service);
  });

  it('are asked for no more once the bound is gone: whoever waited for one is started, and nothing is left', async () => {
    const bound = deployment(1);
    const [first, second, third] = [await organization(), await organization(), await organization()];
    for (const orgId of [first, second, third]) {
      await plan(orgId, 1);
      await bound.dispatch(orgId);
    }
    expect((await bound.places()).turns).toHaveLength(2);
    const free = deployment(0);
    for (const [id, run] of bound.running) free.running.set(id, run);
    await free.sweep();
    while (free.messages.length > 0) await free.deliver(10);
    expect(free.started.map(({ org_id }) => org_id)).toEqual([second, third]);
    expect((await free.places()).turns).toEqual([]);
    await drain(free);
  });

  it('cost two requests more than none, and nothing where there is no bound', async () => {
    const orgId = await organization();
    await plan(orgId, 1);
    const free = deployment(0);
    // Organization, queue, run, scan, admission.
    expect(await requestsOf(() => free.dispatch(orgId))).toBe(5);
    await free.end(free.started[0] as RunExecution);
    const bound = deployment(1);
    await plan(orgId, 1);
    // The places, and that the scan's time begins.
    expect(await requestsOf(() => bound.dispatch(orgId))).toBe(7);
    await plan(orgId, 1);
    // Nothing is free: the places, organization, queue, and the place in the row.
    expect(await requestsOf(() => bound.dispatch(orgId))).toBe(4);
    expect(await requestsOf(() => bound.dispatch(orgId))).toBe(3);
    await drain(bound);
  });
});

/** Ends what runs and what waits: the places are everybody's in this table. */
async function drain(service: ReturnType<typeof deployment>): Promise<void> {
  for (let round = 0; round < 100; round += 1) {
    for (const run of [...service.running.values()]) await service.end(run);
    const { turns } = await service.places();
    service.messages.push(...turns.map(({ orgId }) => ({ org_id: orgId })));
    if (service.messages.length === 0 && service.running.size === 0) break;
    await service.deliver(10);
  }
  expect(await service.places()).toEqual({ held: [], turns: [] });
}
