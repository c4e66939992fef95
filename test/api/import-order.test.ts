import { beforeAll, describe, expect, it } from 'vitest';
import { findings } from '#contract/operations/findings.ts';
import { freshAsset, importReport, sendReport } from '#test/harness/importing.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { sarifLog } from '#test/harness/sarif.ts';
import { awaitScan } from '#test/harness/scanning.ts';

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const report = (from: number, to: number) =>
  sarifLog(Array.from({ length: to - from }, (_, index) => ({ path: `src/${from + index}.ts` })));

async function counts(asset: string) {
  const totals = (status: string) =>
    org.client
      .call(findings.operations.listFindings, { query: { asset_id: asset, status, per_page: 1 } })
      .then(({ pagination }) => pagination.total);
  return { open: await totals('open,reopened'), resolved: await totals('resolved') };
}

describe('imports of an asset', () => {
  it('are taken in in the order in which they were accepted: the last one has the last word', async () => {
    const all = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const asset = await freshAsset(org);
        const accepted: string[] = [];
        for (const [from, to] of [
          [0, 500],
          [200, 700],
          [0, 300],
          [300, 800],
        ] as const)
          accepted.push((await sendReport(org, asset, report(from, to), { scanner: 'semgrep' })).id);
        return { asset, accepted };
      }),
    );
    for (const { asset, accepted } of all) {
      const scans = await Promise.all(accepted.map((id) => awaitScan(org, id)));
      expect(scans.map(({ status }) => status)).toEqual(Array.from(accepted, () => 'completed'));
      const ends = scans.map(({ finished_at }) => String(finished_at));
      expect(ends).toEqual(ends.toSorted());
      expect(await counts(asset)).toEqual({ open: 500, resolved: 300 });
    }
  });

  it('also where one says what was known before those that still wait', async () => {
    const asset = await freshAsset(org);
    await importReport(org, asset, report(0, 400), { scanner: 'semgrep' });
    await sendReport(org, asset, report(300, 900), { scanner: 'semgrep' });
    const last = await sendReport(org, asset, report(0, 400), { scanner: 'semgrep' });
    expect((await awaitScan(org, last.id)).status).toBe('completed');
    expect(await counts(asset)).toEqual({ open: 400, resolved: 500 });
  });

  it('do not hold up those of another asset', async () => {
    const [busy, other] = [await freshAsset(org), await freshAsset(org)];
    const waiting = await Promise.all(
      [0, 1000, 2000].map((from) => sendReport(org, busy, report(from, from + 1000), { scanner: 'semgrep' })),
    );
    await importReport(org, other, report(0, 10), { scanner: 'semgrep' });
    expect(await counts(other)).toEqual({ open: 10, resolved: 0 });
    await Promise.all(waiting.map(({ id }) => awaitScan(org, id)));
    expect((await counts(busy)).open).toBe(1000);
  });
});
