import { beforeAll, describe, expect, it } from 'vitest';
import { assets } from '#contract/operations/assets.ts';
import { scans } from '#contract/operations/scans.ts';
import { freshAsset, importReport, sendReport, statusesOf, uploadReport } from '#test/harness/importing.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { sarifLog } from '#test/harness/sarif.ts';
import { awaitScan } from '#test/harness/scanning.ts';

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const defaultBranchOf = async (asset: string) =>
  (await org.client.call(assets.operations.getAsset, { params: { asset_id: asset } })).default_branch;
const pathsOf = async (scan: string) => {
  const params = { scan_id: scan };
  const shown = await org.client.call(scans.operations.listScanFindings, { params });
  return shown.data.map(({ location }) => location.path).sort();
};
const many = Array.from({ length: 20 }, (_, index) => ({ path: `many/${index}.ts` }));

describe('the default branch of an asset that has no repository', () => {
  it('is the first one that an import names', async () => {
    const asset = await freshAsset(org, { default_branch: null });
    await importReport(org, asset, sarifLog([{ path: 'a.ts' }]), { branch: 'trunk' });
    expect(await defaultBranchOf(asset)).toBe('trunk');
    await importReport(org, asset, sarifLog([{ path: 'b.ts' }]), { branch: 'feature' });
    expect(await statusesOf(org, asset)).toEqual({ 'a.ts': 'open' });
    await importReport(org, asset, sarifLog([{ path: 'c.ts' }]));
    expect(await statusesOf(org, asset)).toEqual({ 'a.ts': 'resolved', 'c.ts': 'open' });
    expect(await defaultBranchOf(asset)).toBe('trunk');
  });

  it('is none that is named right after an import without one was accepted', async () => {
    for (const results of [[], [{ path: 'b.ts' }]]) {
      const asset = await freshAsset(org, { default_branch: null });
      const first = await sendReport(org, asset, sarifLog([{ path: 'a.ts' }]), { scanner: 'semgrep' });
      const second = await sendReport(org, asset, sarifLog(results), {
        scanner: 'semgrep',
        branch: 'feature/x',
      });
      for (const { id } of [first, second]) await awaitScan(org, id);
      expect(await defaultBranchOf(asset)).toBeNull();
      expect(await statusesOf(org, asset)).toEqual({ 'a.ts': 'open' });
    }
  });

  it('is none that is named after imports without one: somebody has to say so', async () => {
    const asset = await freshAsset(org, { default_branch: null });
    await importReport(org, asset, sarifLog([{ path: 'a.ts' }]));
    for (const send of [importReport, uploadReport]) {
      const scan = await send(org, asset, sarifLog([{ path: 'b.ts' }]), { branch: 'main' });
      expect(scan).toMatchObject({ status: 'completed', new_count: 0, resolved_count: 0 });
      expect(await pathsOf(scan.id)).toEqual(['b.ts']);
    }
    expect(await statusesOf(org, asset)).toEqual({ 'a.ts': 'open' });
    expect(await defaultBranchOf(asset)).toBeNull();
    await org.client.call(assets.operations.updateAsset, {
      params: { asset_id: asset },
      body: { default_branch: 'main' },
    });
    await importReport(org, asset, sarifLog([{ path: 'b.ts' }]), { branch: 'main' });
    expect(await statusesOf(org, asset)).toEqual({ 'a.ts': 'resolved', 'b.ts': 'open' });
  });

  it('is one alone where several are named at once', async () => {
    const names = ['one', 'two', 'three'];
    for (const send of [
      async (asset: string, name: string) =>
        awaitScan(org, (await sendReport(org, asset, sarifLog([{ path: name }]), { branch: name })).id),
      (asset: string, name: string) => uploadReport(org, asset, sarifLog([{ path: name }]), { branch: name }),
    ]) {
      const asset = await freshAsset(org, { default_branch: null });
      const ended = await Promise.all(names.map((name) => send(asset, name)));
      expect(ended.map(({ status }) => status)).toEqual(names.map(() => 'completed'));
      const chosen = await defaultBranchOf(asset);
      expect(names).toContain(chosen);
      expect(await statusesOf(org, asset)).toEqual({ [chosen ?? '']: 'open' });
      for (const { id, branch, new_count } of ended) {
        expect(await pathsOf(id)).toEqual([branch]);
        expect(new_count).toBe(branch === chosen ? 1 : 0);
      }
    }
  });

  it('alone confirms that nothing is left', async () => {
    const asset = await freshAsset(org, { default_branch: null });
    const empty = sarifLog([]);
    await importReport(org, asset, sarifLog(many));
    expect(await importReport(org, asset, empty)).toMatchObject({
      status: 'partial',
      error: { code: 'suspicious_empty_report' },
    });
    const other = await importReport(org, asset, empty, { branch: 'feature' });
    expect(other).toMatchObject({ status: 'completed', resolved_count: 0 });
    expect(new Set(Object.values(await statusesOf(org, asset)))).toEqual(new Set(['open']));
    expect(await importReport(org, asset, empty)).toMatchObject({ status: 'completed', resolved_count: 20 });
  });
});
