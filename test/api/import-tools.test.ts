import { beforeAll, describe, expect, it } from 'vitest';
import { findings } from '#contract/operations/findings.ts';
import { scans } from '#contract/operations/scans.ts';
import {
  freshAsset,
  importReport,
  listFindingsOf,
  sendReport,
  statusesOf,
  uploadReport,
} from '#test/harness/importing.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { type SarifResult, sarifLog } from '#test/harness/sarif.ts';

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const SEMGREP = { scanner: 'semgrep' };
const paths = (...names: string[]): SarifResult[] => names.map((path) => ({ path }));
const codeql = (...names: string[]) => sarifLog(paths(...names), 'CodeQL');
const eslint = (...names: string[]) => sarifLog(paths(...names), 'ESLint');
const together = (...logs: ReturnType<typeof sarifLog>[]) => ({
  version: '2.1.0',
  runs: logs.flatMap(({ runs }) => runs),
});
const imported = (asset: string, report: unknown) => importReport(org, asset, report, SEMGREP);

describe('tools that are imported in the place of one scanner', () => {
  it('each say for themselves what is gone', async () => {
    const asset = await freshAsset(org);
    await imported(asset, sarifLog(paths('own.ts')));
    await imported(asset, codeql('a.ts', 'b.ts'));
    const second = await imported(asset, eslint('c.ts'));
    expect(second).toMatchObject({ status: 'completed', new_count: 1, resolved_count: 0 });
    expect(await statusesOf(org, asset)).toEqual({
      'own.ts': 'open',
      'a.ts': 'open',
      'b.ts': 'open',
      'c.ts': 'open',
    });
    expect(await imported(asset, codeql('b.ts'))).toMatchObject({ resolved_count: 1 });
    // A run that found nothing says so of its own tool.
    expect(await imported(asset, eslint())).toMatchObject({ status: 'completed', resolved_count: 1 });
    expect(await imported(asset, { results: [], errors: [] })).toMatchObject({ resolved_count: 1 });
    expect(await statusesOf(org, asset)).toEqual({
      'own.ts': 'resolved',
      'a.ts': 'resolved',
      'b.ts': 'open',
      'c.ts': 'resolved',
    });
  });

  it('may come in one report, one of them empty, by upload too', async () => {
    const asset = await freshAsset(org);
    const first = await imported(
      asset,
      together(codeql('a.ts', 'b.ts'), eslint('c.ts'), sarifLog(paths('d'))),
    );
    expect(first).toMatchObject({
      status: 'completed',
      new_count: 4,
      finding_counts: { medium: 4 },
      progress: { total: 1, done: 1 },
    });
    const shown = await org.client.call(scans.operations.listScanFindings, { params: { scan_id: first.id } });
    expect(shown.pagination.total).toBe(4);
    const report = together(codeql('b.ts'), eslint());
    const second = await uploadReport(org, asset, report, SEMGREP);
    expect(second).toMatchObject({ status: 'completed', new_count: 0, resolved_count: 2 });
    expect(await statusesOf(org, asset)).toEqual({
      'a.ts': 'resolved',
      'b.ts': 'open',
      'c.ts': 'resolved',
      d: 'open',
    });
  });

  it('are done with at once where none of them says anything new', async () => {
    const asset = await freshAsset(org);
    const report = together(codeql('a.ts', 'b.ts'), eslint('c.ts'));
    await imported(asset, report);
    const before = await listFindingsOf(org, asset);
    const again = await sendReport(org, asset, report, SEMGREP);
    expect(again).toMatchObject({
      status: 'completed',
      finding_counts: { medium: 3 },
      progress: { total: 1, done: 1 },
    });
    expect(await listFindingsOf(org, asset)).toEqual(
      before.map((one) => ({ ...one, last_seen_scan_id: again.id })),
    );
    const shown = await org.client.call(scans.operations.listScanFindings, { params: { scan_id: again.id } });
    expect(shown.pagination.total).toBe(3);
    expect(shown.data.every(({ last_seen_scan_id }) => last_seen_scan_id === again.id)).toBe(true);
  });

  it('are the same tool in its next version', async () => {
    const asset = await freshAsset(org);
    await imported(asset, sarifLog(paths('a.ts', 'b.ts'), 'PMD 7.1.0'));
    const next = await imported(asset, sarifLog(paths('b.ts'), 'pmd 7.2.0'));
    expect(next).toMatchObject({ new_count: 0, resolved_count: 1 });
    const both = together(sarifLog(paths('b.ts'), 'PMD 7.2.0'), sarifLog(paths('c.ts'), 'pmd'));
    expect(await imported(asset, both)).toMatchObject({ new_count: 1, resolved_count: 0 });
    expect(await statusesOf(org, asset)).toEqual({ 'a.ts': 'resolved', 'b.ts': 'open', 'c.ts': 'open' });
  });

  it('are held one by one where one of them lost everything', async () => {
    const asset = await freshAsset(org);
    const many = Array.from({ length: 20 }, (_, index) => `many/${index}.ts`);
    await imported(asset, together(codeql(...many), eslint('a.ts', 'b.ts')));
    const scan = await imported(asset, together(codeql(), eslint('b.ts')));
    expect(scan).toMatchObject({
      status: 'partial',
      resolved_count: 1,
      finding_counts: { medium: 1 },
      error: { code: 'suspicious_empty_report' },
    });
    expect(scan.error?.message).toContain('CodeQL reported nothing');
    expect(await statusesOf(org, asset)).toMatchObject({ 'many/3.ts': 'open', 'a.ts': 'resolved' });
    // Another tool's run confirms nothing.
    await imported(asset, eslint());
    expect(await statusesOf(org, asset)).toMatchObject({ 'many/3.ts': 'open', 'b.ts': 'resolved' });
    expect(await imported(asset, codeql())).toMatchObject({ status: 'completed', resolved_count: 20 });
  });

  it('look again at what people decided about their own findings alone', async () => {
    const asset = await freshAsset(org);
    await imported(asset, codeql('a.ts', 'b.ts'));
    const found = (await listFindingsOf(org, asset)).find(({ location }) => location.path === 'a.ts');
    const params = { finding_id: found?.id ?? '' };
    await org.client.call(findings.operations.updateFinding, { params, body: { status: 'resolved' } });
    await imported(asset, eslint('c.ts'));
    await imported(asset, sarifLog([]));
    expect(await statusesOf(org, asset)).toMatchObject({ 'a.ts': 'resolved' });
    await imported(asset, codeql('a.ts', 'b.ts'));
    expect(await statusesOf(org, asset)).toMatchObject({ 'a.ts': 'reopened' });
  });

  it('are shown with the scan that saw them last, each with its own', async () => {
    const asset = await freshAsset(org);
    const ofTool = await imported(asset, codeql('a.ts'));
    const ofScanner = await imported(asset, sarifLog(paths('b.ts')));
    const seen = async () =>
      Object.fromEntries(
        (await listFindingsOf(org, asset)).map((one) => [one.location.path, one.last_seen_scan_id]),
      );
    expect(await seen()).toEqual({ 'a.ts': ofTool.id, 'b.ts': ofScanner.id });
    const again = await sendReport(org, asset, codeql('a.ts'), SEMGREP);
    expect(await seen()).toEqual({ 'a.ts': again.id, 'b.ts': ofScanner.id });
  });

  it('are refused where there are more than a hundred', async () => {
    const asset = await freshAsset(org);
    const logs = Array.from({ length: 101 }, (_, index) =>
      sarifLog([], `Tool ${String.fromCharCode(97 + (index % 26))}${index}x`),
    );
    await expect(sendReport(org, asset, together(...logs), SEMGREP)).rejects.toMatchObject({
      code: 'validation_error',
    });
  });
});
