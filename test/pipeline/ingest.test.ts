import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { TIER_LIMITS } from '#contract/limits.ts';
import { totalOf } from '#domain/cells.ts';
import { ingestDependenciesOf } from '#shared/ingest/dependencies.ts';
import { ingestReport } from '#shared/ingest/ingest.ts';
import type { AssetRecord } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { ofAsset } from '#store/finding-order.ts';
import { createProjectStore } from '#store/projects.ts';
import type { RunRef } from '#store/runs.ts';
import { countedTable } from '#test/harness/counted-table.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { sampleAsset, testAttribution } from '#test/harness/samples.ts';

const { table, requestsOf } = countedTable();
const counters = createCounterStore(table, 1);
const clock = { at: Date.now(), now: () => clock.at };
const stores = {
  ...ingestDependenciesOf(table, counters, {
    REPORT_BUCKET_URL: inject('service').bucketUrl,
    POLICY_ASSETS_DIR: '',
  }),
  clock,
};
const findings = stores.findings;

let org: TestOrganization;
let asset: AssetRecord;
beforeAll(async () => {
  org = await createTestOrganization();
});

/** A Gitleaks report of `count` secrets, as the runner cleans it; `skip` leaves some of them out. */
const report = (count: number, skip: readonly number[] = []) =>
  Array.from({ length: count }, (_, index) => index)
    .filter((index) => !skip.includes(index))
    .map((index) => ({
      RuleID: 'generic-api-key',
      Description: 'A key',
      File: `config/${index}.env`,
      StartLine: 1,
      EndLine: 1,
      secret_hmac: `hmac ${index}`,
    }));

/** A run of one scanner, up to the point where its report waits in the bucket. */
async function reportedRun(content: unknown, defaultBranch = true): Promise<RunRef> {
  const { orgId } = org;
  const scanId = randomUUID();
  await stores.scans.create(
    orgId,
    {
      id: scanId,
      scope: 'asset',
      targetId: asset.id,
      scanners: ['gitleaks'],
      branch: randomUUID(),
      trigger: 'api',
    },
    TIER_LIMITS.enterprise,
    null,
    testAttribution(clock.at),
  );
  const scan = await stores.scans.require(orgId, scanId);
  expect(
    await stores.scans.admit(orgId, scan, { ...TIER_LIMITS.enterprise, concurrentScans: 1000 }, clock.at),
  ).toBe(true);
  const ref = { orgId, scanId, assetId: asset.id, runId: randomUUID() };
  const now = new Date(clock.at).toISOString();
  await stores.runs.plan(orgId, scanId, [
    {
      id: ref.runId,
      assetId: asset.id,
      scanners: ['gitleaks'],
      branch: null,
      defaultBranch,
      createdAt: now,
      deadlineAt: now,
    },
  ]);
  const body = gzipSync(JSON.stringify(content));
  const { url, headers } = await stores.bucket.presignUpload(
    { ...ref, scanner: 'gitleaks', format: 'native' },
    body.length,
  );
  expect((await fetch(url, { method: 'PUT', headers, body })).status).toBe(200);
  await stores.runs.scannerReported(ref, 'gitleaks', 0, clock.at);
  return ref;
}

const ingest = (ref: RunRef) =>
  ingestReport(
    {
      org_id: ref.orgId,
      scan_id: ref.scanId,
      asset_id: ref.assetId,
      run_id: ref.runId,
      scanner: 'gitleaks',
      format: 'native',
    },
    stores,
  );

async function ingested(content: unknown) {
  clock.at += 1000;
  const ref = await reportedRun(content);
  await ingest(ref);
  return { ref, state: (await stores.runs.get(ref.orgId, ref.scanId, ref.assetId))?.states.gitleaks };
}

async function freshAsset(change: Partial<AssetRecord> = {}): Promise<void> {
  asset = sampleAsset(change);
  await stores.assets.create(org.orgId, asset, testAttribution(clock.at));
}

const statuses = async () => {
  const { ids } = await findings.listIds(org.orgId, { places: [ofAsset(asset.id)] }, 'created_at', 0, 1000);
  const records = await findings.getMany(org.orgId, ids);
  return Object.fromEntries(records.map((record) => [record.location.path, record.status]));
};
const counted = async () => totalOf((await counters.readAssets(org.orgId, [asset.id]))[0] ?? new Map());

describe('ingest', () => {
  it('creates, resolves and reopens, and counts what is there', async () => {
    await freshAsset();
    expect((await ingested(report(5))).state?.result).toMatchObject({ new_count: 5, resolved_count: 0 });
    expect((await ingested(report(5, [1, 2]))).state?.result).toMatchObject({
      new_count: 0,
      resolved_count: 2,
    });
    expect(await statuses()).toEqual({
      'config/0.env': 'open',
      'config/1.env': 'resolved',
      'config/2.env': 'resolved',
      'config/3.env': 'open',
      'config/4.env': 'open',
    });
    expect((await ingested(report(6, [2]))).state?.result).toMatchObject({ new_count: 1, resolved_count: 0 });
    expect(await statuses()).toMatchObject({
      'config/1.env': 'reopened',
      'config/2.env': 'resolved',
      'config/5.env': 'open',
    });
    expect(await counted()).toBe(6);
  });

  it('counts the same when a step is repeated, before or after its end', async () => {
    await freshAsset();
    clock.at += 1000;
    const ref = await reportedRun(report(150));
    // Cut off after the first transaction: the lease is there, some findings are, the manifest is not.
    const failing = {
      ...stores.writes,
      createAll: async (...[scope, records]: Parameters<typeof stores.writes.createAll>) => {
        await stores.writes.createAll(scope, records.slice(0, 92));
        throw new Error('cut off');
      },
    };
    const step = {
      org_id: ref.orgId,
      scan_id: ref.scanId,
      asset_id: ref.assetId,
      run_id: ref.runId,
      scanner: 'gitleaks' as const,
      format: 'native' as const,
    };
    await expect(ingestReport(step, { ...stores, writes: failing })).rejects.toThrow('cut off');
    expect(await counted()).toBe(92);
    await ingest(ref);
    await ingest(ref);
    expect((await stores.runs.get(ref.orgId, ref.scanId, ref.assetId))?.states.gitleaks).toMatchObject({
      status: 'completed',
      result: { new_count: 150 },
    });
    expect(await counted()).toBe(150);
  });

  it('holds back a report that lost everything, until a second one confirms it', async () => {
    await freshAsset();
    await ingested(report(20));
    const { state } = await ingested([]);
    expect(state).toMatchObject({ status: 'failed', error: { code: 'suspicious_empty_report' } });
    expect(new Set(Object.values(await statuses()))).toEqual(new Set(['open']));
    expect((await ingested([])).state?.result).toMatchObject({ resolved_count: 20 });
    expect(new Set(Object.values(await statuses()))).toEqual(new Set(['resolved']));
  });

  it('takes what an incomplete report holds, and leaves the rest as it is known', async () => {
    await freshAsset();
    await ingested(report(4));
    const { state } = await ingested([...report(5, [0, 1]), { RuleID: 'no file' }]);
    expect(state).toMatchObject({
      status: 'failed',
      error: { code: 'report_incomplete', message: '1 result could not be read' },
      result: { new_count: 1, resolved_count: 0, manifests: [{ origin: 'gitleaks', count: 3 }] },
    });
    expect(new Set(Object.values(await statuses()))).toEqual(new Set(['open']));
    // Known are all five: the same again changes nothing, one less is resolved.
    expect((await ingested(report(5))).state).toMatchObject({
      status: 'completed',
      result: { new_count: 0, resolved_count: 0, manifests: [{ count: 5 }] },
    });
    expect((await ingested(report(5, [0]))).state?.result).toMatchObject({ resolved_count: 1 });
  });

  it('lets one run at a time at an asset and scanner, and takes over what crashed', async () => {
    await freshAsset();
    const [first, second] = [await reportedRun(report(3)), await reportedRun(report(4))];
    expect(
      await stores.manifests.lease(org.orgId, asset.id, 'gitleaks', first.runId, clock.at),
    ).not.toBeNull();
    await expect(ingest(second)).rejects.toMatchObject({ name: 'ManifestBusy' });
    expect(await counted()).toBe(0);
    clock.at += 121_000;
    await ingest(second);
    expect(await counted()).toBe(4);
    // The one that was overtaken writes nothing more.
    await expect(
      stores.manifests.swap(org.orgId, asset.id, 'gitleaks', {
        manifest: { chunks: [], count: 0 },
        counts: {},
        digest: '',
        scanId: first.scanId,
        holder: first.runId,
        at: clock.at,
        heldScanId: null,
      }),
    ).rejects.toMatchObject({ name: 'LeaseLost' });
  });

  it('records a report that can not be read as the scanner’s failure', async () => {
    await freshAsset();
    for (const rubbish of ['rubbish', { results: 3 }, null])
      expect((await ingested(rubbish)).state).toMatchObject({
        status: 'failed',
        error: { code: 'report_invalid' },
      });
    expect(await counted()).toBe(0);
  });

  it('takes nothing from a scan that was cancelled', async () => {
    await freshAsset();
    const ref = await reportedRun(report(3));
    const scan = await stores.scans.require(ref.orgId, ref.scanId);
    await stores.scans.finish(ref.orgId, scan, 'cancelled', testAttribution(clock.at));
    await ingest(ref);
    expect(await counted()).toBe(0);
  });

  it('counts in the project that the asset is in', async () => {
    const projectId = randomUUID();
    await createProjectStore(table, counters).create(
      org.orgId,
      { id: projectId, name: 'Counted', description: null, team_id: null, parent: null },
      testAttribution(),
    );
    await freshAsset({ project_id: projectId });
    await ingested(report(7));
    const [counts] = await counters.readProjects(org.orgId, [projectId]);
    expect(totalOf(counts ?? new Map())).toBe(7);
  });

  it('costs a few requests where nothing changed, whatever the size', async () => {
    await freshAsset();
    await ingested(report(2000));
    clock.at += 1000;
    const ref = await reportedRun(report(2000));
    expect(await requestsOf(() => ingest(ref))).toBeLessThanOrEqual(10);
  });
});
