import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { assets } from '#contract/operations/assets.ts';
import { findings } from '#contract/operations/findings.ts';
import { imports } from '#contract/operations/imports.ts';
import { projects } from '#contract/operations/projects.ts';
import { scans } from '#contract/operations/scans.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { assetFindingsPartition, deletingAssetsKey, deletionKey } from '#store/keys.ts';
import { createRecordDeletions } from '#store/record-deletions.ts';
import { createScanStore } from '#store/scans.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import { testAttribution } from '#test/harness/samples.ts';
import { sarifLog } from '#test/harness/sarif.ts';
import { awaitScan } from '#test/harness/scanning.ts';
import { storedItems } from '#test/harness/stored-items.ts';

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const summary = (query = {}) => org.client.call(findings.operations.getFindingSummary, { query });
const mentions = async (text: string) =>
  (await storedItems()).filter((item) => JSON.stringify(item).includes(text));

/** Whether a deletion has not ended. */
async function isPending(part: string): Promise<boolean> {
  return (await testTable().get(deletionKey(org.orgId, part))) !== null;
}

async function hasFindings(assetId: string): Promise<boolean> {
  const held = await testTable().count({
    IndexName: 'gsi2',
    KeyConditionExpression: 'gsi2pk = :pk',
    ExpressionAttributeValues: { ':pk': assetFindingsPartition(org.orgId, assetId) },
  });
  return held > 0;
}

async function imported(assetId: string, ...paths: string[]) {
  const { id } = await org.client.call(imports.operations.importFindings, {
    params: { asset_id: assetId },
    upload: JSON.stringify(sarifLog(paths.map((path) => ({ path })))),
    headers: { 'content-type': 'application/json' },
  });
  return awaitScan(org, id);
}

describe('deleting an asset', () => {
  it('takes its counts away at once, and all that it had in the background', async () => {
    const project = await org.client.call(projects.operations.createProject, {
      body: { name: randomUUID() },
    });
    const { asset } = await seedFindings(
      org,
      Array.from({ length: 130 }, () => ({ cve_id: 'CVE-2026-9999' })),
    );
    const kept = await seedFindings(org, [{}, {}]);
    const id = toOpaque('asset', asset.id);
    await org.client.call(projects.operations.assignProjectAssets, {
      params: { project_id: project.id },
      body: { asset_ids: [id] },
    });
    await imported(id, 'a.ts');
    const before = await summary();
    expect((await summary({ project_id: project.id })).total).toBe(131);

    expect(await org.client.call(assets.operations.deleteAsset, { params: { asset_id: id } })).toEqual({
      id,
      deleted: true,
    });
    expect((await summary()).total).toBe(before.total - 131);
    expect((await summary({ project_id: project.id })).total).toBe(0);
    const shown = await org.client.call(projects.operations.getProject, {
      params: { project_id: project.id },
    });
    expect(shown).toMatchObject({ asset_count: 0, finding_count: 0 });
    for (const path of [`/api/assets/${id}`, `/api/assets/${id}/findings`])
      expect((await request('GET', path, { key: org.accessToken })).status).toBe(404);
    expect((await request('DELETE', `/api/assets/${id}`, { key: org.accessToken })).status).toBe(404);
    // Its name is free again.
    await expect.poll(() => hasFindings(asset.id), { timeout: 60_000, interval: 100 }).toBe(false);
    // What is left is its place in the audit log, and the second look to come; its scan may end just now.
    const left = async () =>
      (await mentions(asset.id)).map(({ pk }) => String(pk)).filter((pk) => !/AUDIT|DELETIONS/.test(pk));
    await expect.poll(left, { timeout: 60_000, interval: 1000 }).toEqual([]);
    expect((await summary({ asset_id: toOpaque('asset', kept.asset.id) })).total).toBe(2);
    const list = await org.client.call(findings.operations.listFindings, { query: { per_page: 100 } });
    expect(list.data).toHaveLength(list.pagination.total);
  });

  it('ends with a second look, and waits for scans that still run', async () => {
    const { asset } = await seedFindings(org, [{}]);
    const table = testTable();
    const counters = createCounterStore(table, 1);
    const deletions = createRecordDeletions(table, createAssetStore(table, counters), counters);
    const go = (now: number) =>
      deletions.continueAsset(
        org.orgId,
        asset.id,
        now,
        () => true,
        async () => true,
      );
    await deletions.beginAsset(org.orgId, asset.id, testAttribution());
    const now = Date.now();
    expect(await go(now)).toBe('later');
    expect(await go(now + 10_000)).toBe('later');
    expect(await go(now + 31_000)).toBe('done');
    expect(await go(now + 32_000)).toBe('done');
  });

  it('loses nothing where findings are written meanwhile', async () => {
    const { asset } = await seedFindings(org, [{}]);
    const id = toOpaque('asset', asset.id);
    const before = await summary();
    const work = [
      ...Array.from({ length: 5 }, (_, n) => imported(id, `f${n}.ts`).catch(() => null)),
      request('DELETE', `/api/assets/${id}`, { key: org.accessToken }),
    ];
    await Promise.all(work);
    await request('DELETE', `/api/assets/${id}`, { key: org.accessToken });
    await expect.poll(async () => (await summary()).total, { timeout: 10_000 }).toBe(before.total - 1);
  });
});

describe('lists while an asset is being deleted', () => {
  it('have whole pages, exact totals and nothing of it, however they are asked', async () => {
    const own = await createTestOrganization();
    const cve_id = 'CVE-2026-7777';
    const change = (nth: number) => ({
      cve_id,
      severity: nth % 2 === 0 ? ('high' as const) : ('low' as const),
      created_at: new Date(Date.UTC(2026, 0, 1, 0, nth)).toISOString(),
    });
    const numbers = Array.from({ length: 60 }, (_, nth) => nth);
    const stay = await seedFindings(
      own,
      numbers.map((nth) => change(nth * 2)),
    );
    const go = await seedFindings(
      own,
      numbers.map((nth) => change(nth * 2 + 1)),
    );
    const also = await seedFindings(
      own,
      numbers.map((nth) => change(nth * 3)),
    );
    const store = createCounterStore(testTable(), 8);
    const deletions = createRecordDeletions(testTable(), createAssetStore(testTable(), store), store);
    // Begun, and not carried out: as in the seconds that a large one takes.
    for (const { asset } of [go, also]) await deletions.beginAsset(own.orgId, asset.id, testAttribution());
    const expected = new Set(stay.records.map(({ id }) => toOpaque('finding', id)));
    const queries = [
      { sort: '-severity' },
      { sort: 'created_at' },
      { sort: '-created_at', severity: 'high,low' },
      { sort: 'severity', cve_id },
      { sort: 'created_at', age_min: 1 },
    ] as const;
    for (const query of queries) {
      const seen: string[] = [];
      for (let page = 1; page <= 3; page += 1) {
        const list = await own.client.call(findings.operations.listFindings, {
          query: { ...query, page, per_page: 20 },
        });
        expect(list.pagination.total).toBe(60);
        expect(list.data).toHaveLength(20);
        seen.push(...list.data.map(({ id }) => id));
      }
      expect(new Set(seen)).toEqual(expected);
    }
    for (const { asset } of [go, also])
      for (const step of [0, 31_000])
        await deletions.continueAsset(
          own.orgId,
          asset.id,
          Date.now() + step,
          () => true,
          async () => true,
        );
    const [left] = await testTable().batchGet([deletingAssetsKey(own.orgId)]);
    expect(left?.assets).toBeUndefined();
  });
});

describe('deleting a scan', () => {
  it('takes away all that it shows from the next request on', async () => {
    const { asset } = await seedFindings(org, []);
    const scan = await imported(toOpaque('asset', asset.id), 'a.ts');
    const scanId = fromOpaque('scan', scan.id) ?? '';
    const store = createCounterStore(testTable(), 8);
    const deletions = createRecordDeletions(testTable(), createAssetStore(testTable(), store), store);
    const held = await createScanStore(testTable()).require(org.orgId, scanId);
    // Begun, and not carried out.
    await deletions.beginScan(org.orgId, held, testAttribution());
    for (const part of ['', '/findings', '/summary', '/runs'])
      expect((await request('GET', `/api/scans/${scan.id}${part}`, { key: org.accessToken })).status).toBe(
        404,
      );
    expect(await deletions.continueScan(org.orgId, scanId, () => true)).toBe('done');
    expect(await mentions(`RUNS#${scanId}`)).toEqual([]);
  });

  it('removes it with its reports, and leaves the findings', async () => {
    const { asset } = await seedFindings(org, []);
    const id = toOpaque('asset', asset.id);
    const scan = await imported(id, 'a.ts', 'b.ts');
    const params = { scan_id: scan.id };
    expect(await org.client.call(scans.operations.deleteScan, { params })).toEqual({
      id: scan.id,
      deleted: true,
    });
    for (const path of ['', '/findings', '/summary', '/runs'])
      await expect
        .poll(
          async () => (await request('GET', `/api/scans/${scan.id}${path}`, { key: org.accessToken })).status,
        )
        .toBe(404);
    expect((await summary({ asset_id: id })).total).toBe(2);
    const own = fromOpaque('scan', scan.id) ?? '';
    await expect.poll(() => isPending(`scan#${own}`), { timeout: 20_000, interval: 100 }).toBe(false);
    expect(await mentions(`#RUNS#${own}`)).toEqual([]);
    await imported(id, 'a.ts');
    expect((await summary({ asset_id: id })).by_status).toMatchObject({ open: 1, resolved: 1 });
  });

  it('is refused while it runs', async () => {
    const table = testTable();
    const counters = createCounterStore(table, 1);
    const deletions = createRecordDeletions(table, createAssetStore(table, counters), counters);
    const { asset } = await seedFindings(org, []);
    const scan = await imported(toOpaque('asset', asset.id), 'a.ts');
    const held = { id: fromOpaque('scan', scan.id) ?? '', status: 'running' } as never;
    await expect(deletions.beginScan(org.orgId, held, testAttribution())).rejects.toMatchObject({
      code: 'conflict',
    });
  });
});
