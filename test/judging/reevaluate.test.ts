import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { assets } from '#contract/operations/assets.ts';
import { projects } from '#contract/operations/projects.ts';
import { systemClock } from '#domain/clock.ts';
import { createIds, fromOpaque, toOpaque } from '#domain/ids.ts';
import { buildManifest } from '#domain/manifest.ts';
import type { ReevaluationRequested } from '#events/reevaluations.ts';
import { reevaluate } from '#functions/reevaluate-findings/reevaluate.ts';
import { judgeDependencies } from '#shared/judging/dependencies.ts';
import { judgeByDay } from '#shared/judging/judge-by-day.ts';
import { checkPolicy } from '#shared/policy/check.ts';
import { type AssetRecord, createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createFindingWriteStore } from '#store/finding-writes.ts';
import { createJudgedOrganizationStore } from '#store/judged-organizations.ts';
import { manifestKey } from '#store/keys.ts';
import { createManifestStore } from '#store/manifests.ts';
import { createReevaluationStore } from '#store/reevaluations.ts';
import { createScanStore } from '#store/scans.ts';
import { countedTable } from '#test/harness/counted-table.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { testAttribution } from '#test/harness/samples.ts';

const { table, requestsOf } = countedTable();
const counters = createCounterStore(table, 1);
const ids = createIds(systemClock);
/** Goes on by `step` whenever it is looked at. */
const clock = {
  at: 0,
  step: 0,
  now() {
    this.at += this.step;
    return Date.now() + this.at;
  },
};
const stores = {
  reevaluations: createReevaluationStore(table),
  assets: createAssetStore(table, counters),
  manifests: createManifestStore(table),
  scans: createScanStore(table),
  writes: createFindingWriteStore(table, counters),
  judged: createJudgedOrganizationStore(table),
  ...judgeDependencies(table, counters, ''),
  clock,
};
afterAll(() => Promise.all([stores.bulk.close(), stores.reactor.close()]));

const { operations: assetOperations } = assets;
let org: TestOrganization;
let sent: { message: ReevaluationRequested; delay: number }[];
beforeEach(async () => {
  org = await createTestOrganization();
  sent = [];
  Object.assign(clock, { at: 0, step: 0 });
});
const requests = {
  send: async (message: ReevaluationRequested, delay = 0) => void sent.push({ message, delay }),
};
const turn = (assetId: string | null = null) =>
  reevaluate({ org_id: org.orgId, asset_id: assetId }, { ...stores, requests });
const isPending = async () =>
  (await stores.reevaluations.listIdle(Date.now())).some(({ orgId }) => orgId === org.orgId);

async function activePolicy(rules: string, projectId: string | null = null): Promise<string> {
  const rego = `package svc.priority\n\nimport rego.v1\n\n${rules}\n`;
  const checked = await checkPolicy(stores.reactor, { kind: 'priority', rego, samples: [] });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const code = await stores.policyCode.keep(org.orgId, checked.compiled);
  const id = ids.next();
  await stores.policies.create(
    org.orgId,
    {
      id,
      name: `policy ${id}`,
      description: null,
      kind: 'priority',
      scope: projectId === null ? 'organization' : 'project',
      scope_target_id: projectId,
      code,
      message: null,
    },
    testAttribution(),
  );
  await stores.policies.setActive(org.orgId, id, true, testAttribution());
  return id;
}

/** Findings that their scanner reported last, as a run leaves them. */
async function reported(count: number): Promise<{ asset: AssetRecord; ids: string[] }> {
  const { asset, records } = await seedFindings(
    org,
    Array.from({ length: count }, () => ({ scanner: 'semgrep' as const })),
  );
  const entries = records.map(({ id }) => ({
    id,
    severity: 'high' as const,
    digest: '000000000000',
    createdAt: Date.now(),
  }));
  const chunks = buildManifest(entries);
  const holder = randomUUID();
  const at = Date.now();
  await stores.manifests.lease(org.orgId, asset.id, 'semgrep', holder, at);
  await stores.manifests.writeChunks(org.orgId, asset.id, 'semgrep', chunks);
  await stores.manifests.swap(org.orgId, asset.id, 'semgrep', {
    manifest: { chunks: chunks.map(({ hash }) => hash), count },
    counts: {},
    digest: 'x',
    scanId: randomUUID(),
    holder,
    at,
    heldScanId: null,
  });
  return { asset, ids: records.map(({ id }) => id) };
}
const priorities = async (of: readonly string[]) =>
  Object.fromEntries(
    Map.groupBy(await stores.writes.readExisting(org.orgId, of), ({ priority }) => String(priority))
      .entries()
      .map(([priority, records]) => [priority, records.length]),
  );

describe('a re-evaluation', () => {
  it('is recorded with the change of the policy, and gone when it is done', async () => {
    const { ids: of } = await reported(30);
    await activePolicy('priority := "p1"');
    expect(await isPending()).toBe(true);
    await turn();
    expect(await priorities(of)).toEqual({ p1: 30 });
    expect(await isPending()).toBe(false);
    expect(sent).toEqual([]);
    await turn();
    expect(sent).toEqual([]);
  });

  it('goes on in another turn where it left off, and asks about each finding once', async () => {
    const parts = [await reported(600), await reported(700)];
    const of = parts.flatMap((part) => part.ids);
    const policy = await activePolicy('priority := "p2"');
    // Each look at the clock takes 8 seconds: a turn ends within its first batches.
    clock.step = 8000;
    let turns = 0;
    do {
      sent = [];
      clock.at = 0;
      await turn();
      turns += 1;
    } while (sent.length > 0 && turns < 20);
    expect(turns).toBeGreaterThan(2);
    expect(turns).toBeLessThan(20);
    expect(await priorities(of)).toEqual({ p2: 1300 });
    const runs = await stores.policyRuns.list(org.orgId, policy, Date.now());
    expect(runs.reduce((sum, { evaluated }) => sum + evaluated, 0)).toBe(1300);
    expect(await isPending()).toBe(false);
  });

  it('waits for an ingest that is under way', async () => {
    const { asset, ids: of } = await reported(5);
    await activePolicy('priority := "p1"');
    await stores.manifests.lease(org.orgId, asset.id, 'semgrep', 'an ingest', Date.now());
    await turn();
    expect(sent).toEqual([{ message: { org_id: org.orgId, asset_id: null }, delay: 2 }]);
    expect(await priorities(of)).toEqual({ null: 5 });
    await stores.manifests.release(org.orgId, asset.id, 'semgrep', 'an ingest');
    await turn();
    expect(await priorities(of)).toEqual({ p1: 5 });
    expect(await isPending()).toBe(false);
  });

  it('begins anew where a policy changes meanwhile', async () => {
    const { ids: of } = await reported(5);
    await activePolicy('priority := "p1"');
    const takeThenChange: typeof stores.reevaluations.take = async (...args) => {
      const taken = await stores.reevaluations.take(...args);
      await stores.reevaluations.request({ orgId: org.orgId, assetId: null }, Date.now());
      return taken;
    };
    const message = { org_id: org.orgId, asset_id: null };
    const reevaluations = { ...stores.reevaluations, take: takeThenChange };
    await reevaluate(message, { ...stores, reevaluations, requests });
    expect(sent).toEqual([{ message, delay: 0 }]);
    expect(await isPending()).toBe(true);
    await turn();
    expect(await isPending()).toBe(false);
    expect(await priorities(of)).toEqual({ p1: 5 });
  });

  it('is worked on by one at a time, and by another after a crash', async () => {
    const { ids: of } = await reported(5);
    await activePolicy('priority := "p1"');
    const ref = { orgId: org.orgId, assetId: null };
    expect(await stores.reevaluations.take(ref, 'one that crashes', Date.now())).not.toBeNull();
    await turn();
    expect(await priorities(of)).toEqual({ null: 5 });
    expect(await isPending()).toBe(false);
    expect(await stores.reevaluations.listIdle(Date.now() + 61_000)).toContainEqual(ref);
    clock.at = 61_000;
    await turn();
    expect(await priorities(of)).toEqual({ p1: 5 });
    // The one that comes to again has lost it.
    expect(await stores.reevaluations.save(ref, 'one that crashes', null, Date.now())).toBe(false);
  });

  it('leaves its work to the next where it fails, from where it came to', async () => {
    const { ids: of } = await reported(600);
    await activePolicy('priority := "p1"');
    let batches = 0;
    const failing = {
      ...stores.writes,
      readExisting: async (...args: Parameters<typeof stores.writes.readExisting>) => {
        batches += 1;
        if (batches === 2) throw new Error('cut off');
        return stores.writes.readExisting(...args);
      },
    };
    const message = { org_id: org.orgId, asset_id: null };
    await expect(reevaluate(message, { ...stores, writes: failing, requests })).rejects.toThrow('cut off');
    expect(await priorities(of)).toEqual({ p1: 500, null: 100 });
    expect(await isPending()).toBe(true);
    await turn();
    expect(await priorities(of)).toEqual({ p1: 600 });
  });

  it('costs reads alone where nothing changes', async () => {
    await reported(500);
    await activePolicy('priority := "p1"');
    await turn();
    await stores.reevaluations.request({ orgId: org.orgId, assetId: null }, Date.now());
    // Its lease, active policies, assets; asset, heads, chunks, marks and scan; project's absence aside the
    // organization; 5 reads of a hundred, their surroundings; how far it is, the run, and its end.
    expect(await requestsOf(() => turn())).toBeLessThanOrEqual(18);
  });

  it('of an asset that is gone is done', async () => {
    await activePolicy('priority := "p1"');
    await turn();
    await stores.reevaluations.request({ orgId: org.orgId, assetId: randomUUID() }, Date.now());
    const [pending] = (await stores.reevaluations.listIdle(Date.now())).filter(
      ({ orgId }) => orgId === org.orgId,
    );
    await turn(pending?.assetId);
    expect(await isPending()).toBe(false);
  });

  it('follows an asset into the scope of another policy, and out of it', async () => {
    const { asset, ids: of } = await reported(4);
    const project = await org.client.call(projects.operations.createProject, { body: { name: 'Payments' } });
    await activePolicy('priority := "p1"', fromOpaque('project', project.id));
    await turn();
    expect(await priorities(of)).toEqual({ null: 4 });
    await org.client.call(projects.operations.assignProjectAssets, {
      params: { project_id: project.id },
      body: { asset_ids: [toOpaque('asset', asset.id)] },
    });
    expect(await stores.reevaluations.listIdle(Date.now())).toContainEqual({
      orgId: org.orgId,
      assetId: asset.id,
    });
    await turn(asset.id);
    expect(await priorities(of)).toEqual({ p1: 4 });
    await org.client.call(assetOperations.unlinkRepository, {
      params: { org_id: org.orgId, repo_id: asset.id },
    });
    await turn(asset.id);
    expect(await priorities(of)).toEqual({ null: 4 });
    expect(await isPending()).toBe(false);
  });

  it('costs next to nothing in an organization without policies', async () => {
    const { asset, ids: of } = await reported(4);
    await stores.reevaluations.request({ orgId: org.orgId, assetId: asset.id }, Date.now());
    // Its lease, the policies, whether there were any, and its end.
    expect(await requestsOf(() => turn(asset.id))).toBe(4);
    expect(await priorities(of)).toEqual({ null: 4 });
    expect(await isPending()).toBe(false);
  });

  it('reaches what is decided otherwise than reported: marks are looked at too', async () => {
    const { asset, ids: of } = await reported(3);
    const [held] = await stores.writes.readExisting(org.orgId, of.slice(0, 1));
    if (!held) throw new Error('nothing was seeded');
    const scope = {
      orgId: org.orgId,
      place: { assetId: asset.id, projectId: null, subProjectId: null },
      guards: [],
    };
    // As an absent finding of an organization that resolves nothing by itself.
    await stores.writes.changeAll(scope, [held], async () => [{ ...held, reported: false }], new Set());
    await table.update({
      Key: manifestKey(org.orgId, asset.id, 'semgrep'),
      UpdateExpression: 'SET chunks = :none',
      ExpressionAttributeValues: { ':none': [] },
    });
    await activePolicy('priority := "p1"');
    await turn();
    expect(await priorities(of)).toEqual({ p1: 1, null: 2 });
  });
});

describe('once a day', () => {
  // Other tests' organizations have active policies in the same table.
  const judged = {
    ...stores.judged,
    list: async () => (await stores.judged.list()).filter(({ orgId }) => orgId === org.orgId),
  };
  const daily = () => judgeByDay({ ...stores, judged, reevaluationRequests: requests });

  it('findings are judged anew where an active policy looks at scores or at time', async () => {
    await activePolicy('priority := "p0" if input.finding.kev');
    await turn();
    sent = [];
    await daily();
    expect(sent).toContainEqual({ message: { org_id: org.orgId, asset_id: null }, delay: 0 });
    expect(await isPending()).toBe(true);
  });

  it('and nowhere else', async () => {
    const id = await activePolicy('priority := "p0" if input.finding.severity == "high"');
    await turn();
    await daily();
    expect(sent.filter(({ message }) => message.org_id === org.orgId)).toEqual([]);
    expect(await stores.judged.has(org.orgId)).toBe(true);
    await stores.policies.setActive(org.orgId, id, false, testAttribution());
    await daily();
    expect(await stores.judged.has(org.orgId)).toBe(true);
    clock.at = 25 * 3600 * 1000;
    await daily();
    expect(await stores.judged.has(org.orgId)).toBe(false);
  });
});
