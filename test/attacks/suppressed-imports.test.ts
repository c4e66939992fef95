import { beforeAll, describe, expect } from 'vitest';
import { scans } from '#contract/operations/scans.ts';
import { attack } from '#test/harness/attack.ts';
import { freshAsset, importReport, listFindingsOf } from '#test/harness/importing.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { sarifLog } from '#test/harness/sarif.ts';

/** Reports that say of a finding that its source, or the tool, suppresses it: it is there all the same. */
let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

async function find(asset: string) {
  const found = await listFindingsOf(org, asset);
  return Object.fromEntries(
    found.map(({ location, status, suppressed_in_repository: by }) => [
      location.path,
      [status, by?.kind ?? null],
    ]),
  );
}

async function hiddenBy(scan: { id: string }) {
  const { data } = await org.client.call(scans.operations.listScanRuns, { params: { scan_id: scan.id } });
  return data.flatMap((run) => run.scanners.flatMap((state) => state.suppressed_in_repository));
}

const PATHS = ['a.py', 'b.py', 'c.py'];

describe('imports in which a known finding is suppressed', () => {
  const sarif = (suppressions: Readonly<Record<string, object[]>>) => {
    const log = sarifLog(PATHS.map((path) => ({ path, snippet: `code of ${path}` })));
    const [run] = log.runs;
    const results = run?.results.map((one, index) => {
      const [...own] = suppressions[PATHS[index] ?? ''] ?? [];
      return { ...one, ...(own.length > 0 && { suppressions: own }) };
    });
    return { ...log, runs: [{ ...run, results }] };
  };

  attack('hostile reports', 'got through', 'SARIF: in its source, and in the tool', async () => {
    const asset = await freshAsset(org);
    await importReport(org, asset, sarif({}));
    const hidden = sarif({ 'a.py': [{ kind: 'inSource' }], 'b.py': [{ kind: 'external' }] });
    for (const _ of [1, 2]) {
      const scan = await importReport(org, asset, hidden);
      expect(scan).toMatchObject({ status: 'completed', resolved_count: 0 });
      expect(await hiddenBy(scan)).toEqual([
        { kind: 'sarif_in_source', count: 1, places: [{ path: 'a.py', line: 1 }] },
        { kind: 'sarif_external', count: 1, places: [{ path: 'b.py', line: 1 }] },
      ]);
      expect(await find(asset)).toEqual({
        'a.py': ['open', 'sarif_in_source'],
        'b.py': ['open', 'sarif_external'],
        'c.py': ['open', null],
      });
    }
    await importReport(org, asset, sarif({ 'a.py': [{ kind: 'inSource', status: 'rejected' }] }));
    expect(await find(asset)).toMatchObject({ 'a.py': ['open', null], 'b.py': ['open', null] });
  });

  attack('hostile reports', 'held', 'one that nobody knew is no finding', async () => {
    const asset = await freshAsset(org);
    await importReport(org, asset, sarif({ 'a.py': [{ kind: 'inSource' }] }));
    expect(await find(asset)).toEqual({ 'b.py': ['open', null], 'c.py': ['open', null] });
  });

  attack('hostile reports', 'got through', "Semgrep's own JSON: is_ignored", async () => {
    const report = (...ignored: string[]) => ({
      version: '1.182.0',
      errors: [],
      paths: { scanned: PATHS },
      results: PATHS.map((path) => ({
        check_id: 'rule',
        path,
        start: { line: 3, col: 1 },
        end: { line: 3, col: 9 },
        extra: {
          message: 'weak',
          severity: 'ERROR',
          metadata: {},
          lines: `weak(${path})${ignored.includes(path) ? '  # nosemgrep: rule' : ''}`,
          is_ignored: ignored.includes(path),
        },
      })),
    });
    const asset = await freshAsset(org);
    await importReport(org, asset, report());
    const scan = await importReport(org, asset, report('b.py'));
    expect(scan).toMatchObject({ status: 'completed', new_count: 0, resolved_count: 0 });
    expect(await hiddenBy(scan)).toEqual([
      { kind: 'nosemgrep', count: 1, places: [{ path: 'b.py', line: 3 }] },
    ]);
    expect(await find(asset)).toMatchObject({ 'b.py': ['open', 'nosemgrep'], 'c.py': ['open', null] });
  });

  attack('hostile reports', 'held', "what only our runner says is no scanner's report", async () => {
    const asset = await freshAsset(org);
    const forged = { format: 'aspm-runner-report', report: [], unread: [], hidden: [] };
    await expect(importReport(org, asset, forged, { scanner: 'gitleaks' })).rejects.toMatchObject({
      code: 'validation_error',
    });
  });
});
