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

/** A log of a tool that says that it did not get to its end. */
function brokenOff(results: readonly SarifResult[]) {
  const log = sarifLog(results);
  return { ...log, runs: log.runs.map((run) => ({ ...run, invocations: [{ executionSuccessful: false }] })) };
}
const many = Array.from({ length: 20 }, (_, index) => ({ path: `many/${index}.ts` }));
const pathsOf = async (scan: string) => {
  const params = { scan_id: scan };
  const shown = await org.client.call(scans.operations.listScanFindings, { params });
  return shown.data.map(({ location }) => location.path).sort();
};
async function setStatus(asset: string, path: string, status: 'resolved' | 'open') {
  const found = (await listFindingsOf(org, asset)).find(({ location }) => location.path === path);
  const params = { finding_id: found?.id ?? '' };
  await org.client.call(findings.operations.updateFinding, { params, body: { status } });
}

describe('a report of some files that were not analysed whole', () => {
  const unread = (results: readonly SarifResult[], ...paths: string[]) => {
    const locations = (uri: string) => [{ physicalLocation: { artifactLocation: { uri } } }];
    const told = paths.map((path) => ({ level: 'error', locations: locations(path) }));
    const invocations = [{ executionSuccessful: true, toolExecutionNotifications: told }];
    const log = sarifLog(results);
    return { ...log, runs: log.runs.map((run) => ({ ...run, invocations })) };
  };

  it('resolves what is gone elsewhere, and of these the next whole one', async () => {
    const asset = await freshAsset(org);
    const [a, b, c] = [{ path: 'a.ts' }, { path: 'b.ts' }, { path: 'c.ts' }];
    const first = await importReport(org, asset, sarifLog([a, b, c]));
    const second = await importReport(org, asset, unread([a], 'b.ts'));
    expect(second).toMatchObject({ status: 'completed', resolved_count: 1, error: null });
    expect(await statusesOf(org, asset)).toEqual({ 'a.ts': 'open', 'b.ts': 'open', 'c.ts': 'resolved' });
    expect(await pathsOf(second.id)).toEqual(['a.ts']);
    const shown = Object.fromEntries(
      (await listFindingsOf(org, asset)).map((one) => [one.location.path, one.last_seen_scan_id]),
    );
    expect([shown['a.ts'], shown['b.ts']]).toEqual([second.id, first.id]);
    // Once more the same, and then whole.
    await importReport(org, asset, unread([a], 'b.ts'));
    expect(await statusesOf(org, asset)).toMatchObject({ 'a.ts': 'open', 'b.ts': 'open' });
    const last = await importReport(org, asset, sarifLog([a]));
    expect(last).toMatchObject({ status: 'completed', resolved_count: 1 });
    expect(await statusesOf(org, asset)).toMatchObject({ 'a.ts': 'open', 'b.ts': 'resolved' });
  });

  it('leaves what it reports again as it was, and decisions of people alone', async () => {
    const asset = await freshAsset(org);
    const [a, b, c] = [{ path: 'a.ts' }, { path: 'b.ts' }, { path: 'c.ts' }];
    await importReport(org, asset, sarifLog([a, b, c]));
    await setStatus(asset, 'c.ts', 'resolved');
    await importReport(org, asset, unread([a], 'b.ts', 'c.ts'));
    expect(await statusesOf(org, asset)).toEqual({ 'a.ts': 'open', 'b.ts': 'open', 'c.ts': 'resolved' });
    const again = await importReport(org, asset, sarifLog([a, b]));
    expect(again).toMatchObject({ new_count: 0, resolved_count: 0 });
    expect(await statusesOf(org, asset)).toEqual({ 'a.ts': 'open', 'b.ts': 'open', 'c.ts': 'resolved' });
  });

  it.each(['file:///w/src/b.ts', 'b.ts', 'src/', 'src'])('names it as it likes: %s', async (told) => {
    const asset = await freshAsset(org);
    const [a, b, c] = [{ path: 'a.ts' }, { path: 'src/b.ts' }, { path: 'lib/c.ts' }];
    await importReport(org, asset, sarifLog([a, b, c]));
    const scan = await importReport(org, asset, unread([a], told));
    expect(scan).toMatchObject({ status: 'completed', resolved_count: 1 });
    expect(await statusesOf(org, asset)).toEqual({
      'a.ts': 'open',
      'src/b.ts': 'open',
      'lib/c.ts': 'resolved',
    });
  });

  it('is another request than one of other files', async () => {
    const asset = await freshAsset(org);
    const key = `key ${asset}`;
    await sendReport(org, asset, unread([{ path: 'a.ts' }], 'b.ts'), {}, key);
    await expect(sendReport(org, asset, sarifLog([{ path: 'a.ts' }]), {}, key)).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  it('is taken from Semgrep itself too, by upload', async () => {
    const asset = await freshAsset(org);
    const result = (path: string) => ({
      check_id: 'r',
      path,
      start: { line: 1, col: 1 },
      end: { line: 1, col: 2 },
      extra: { message: 'm', severity: 'ERROR', lines: 'eval(x)', metadata: {} },
    });
    const error = { level: 'warn', type: ['PartialParsing', []], path: 'b.py', message: 'x' };
    await uploadReport(org, asset, { results: [result('a.py'), result('b.py'), result('c.py')], errors: [] });
    const scan = await uploadReport(org, asset, { results: [result('a.py')], errors: [error] });
    expect(scan).toMatchObject({ status: 'completed', resolved_count: 1 });
    expect(await statusesOf(org, asset)).toEqual({ 'a.py': 'open', 'b.py': 'open', 'c.py': 'resolved' });
  });
});

describe('an incomplete report', () => {
  it('brings what it found and resolves nothing: its scan is partial and says why', async () => {
    const asset = await freshAsset(org);
    await importReport(org, asset, sarifLog([{ path: 'a.ts' }, { path: 'b.ts' }]));
    const scan = await importReport(org, asset, brokenOff([{ path: 'a.ts', line: 9 }, { path: 'c.ts' }]));
    expect(scan).toMatchObject({
      status: 'partial',
      new_count: 1,
      resolved_count: 0,
      finding_counts: { medium: 2 },
      progress: { total: 1, done: 0, failed: 1 },
      error: { code: 'report_incomplete' },
    });
    expect(scan.error?.message).toContain('not successful');
    expect(await statusesOf(org, asset)).toEqual({ 'a.ts': 'open', 'b.ts': 'open', 'c.ts': 'open' });
    expect((await listFindingsOf(org, asset)).find(({ location }) => location.path === 'a.ts')).toMatchObject(
      { location: { start_line: 9 } },
    );
    expect(await pathsOf(scan.id)).toEqual(['a.ts', 'c.ts']);
  });

  it('leaves what it did not see to the next complete one', async () => {
    const asset = await freshAsset(org);
    await importReport(org, asset, sarifLog([{ path: 'a.ts' }, { path: 'b.ts' }]));
    await importReport(org, asset, brokenOff([{ path: 'c.ts' }]));
    // What both said together, said by one: nothing is new, and it is done with at once.
    const all = sarifLog([{ path: 'a.ts' }, { path: 'b.ts' }, { path: 'c.ts' }]);
    expect(await sendReport(org, asset, all)).toMatchObject({
      status: 'completed',
      finding_counts: { medium: 3 },
    });
    await importReport(org, asset, brokenOff([{ path: 'a.ts' }]));
    const last = await importReport(org, asset, sarifLog([{ path: 'a.ts' }, { path: 'c.ts' }]));
    expect(last).toMatchObject({ status: 'completed', new_count: 0, resolved_count: 1 });
    expect(await statusesOf(org, asset)).toEqual({ 'a.ts': 'open', 'b.ts': 'resolved', 'c.ts': 'open' });
  });

  it('is no answer to a complete one that says the same', async () => {
    const asset = await freshAsset(org);
    await importReport(org, asset, sarifLog([{ path: 'a.ts' }]));
    for (const _ of [1, 2]) {
      const scan = await importReport(org, asset, brokenOff([{ path: 'a.ts' }]));
      expect(scan).toMatchObject({ status: 'partial', error: { code: 'report_incomplete' }, new_count: 0 });
    }
    const key = `key ${asset}`;
    await sendReport(org, asset, sarifLog([{ path: 'a.ts' }]), {}, key);
    await expect(sendReport(org, asset, brokenOff([{ path: 'a.ts' }]), {}, key)).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  it('may be the first: a complete one then resolves what is gone', async () => {
    const asset = await freshAsset(org);
    const first = await importReport(org, asset, brokenOff([{ path: 'a.ts' }, { path: 'b.ts' }]));
    expect(first).toMatchObject({ status: 'partial', new_count: 2 });
    for (const shown of await listFindingsOf(org, asset))
      expect(shown).toMatchObject({ first_seen_scan_id: first.id, last_seen_scan_id: first.id });
    const next = await importReport(org, asset, sarifLog([{ path: 'b.ts' }]));
    expect(next).toMatchObject({ status: 'completed', new_count: 0, resolved_count: 1 });
    expect(await statusesOf(org, asset)).toEqual({ 'a.ts': 'resolved', 'b.ts': 'open' });
  });

  it('has not seen what it does not name', async () => {
    const asset = await freshAsset(org);
    const first = await importReport(org, asset, sarifLog([{ path: 'a.ts' }, { path: 'b.ts' }]));
    const scan = await importReport(org, asset, brokenOff([{ path: 'b.ts', line: 7 }, { path: 'c.ts' }]));
    const seen = Object.fromEntries(
      (await listFindingsOf(org, asset)).map((one) => [one.location.path, one.last_seen_scan_id]),
    );
    expect(seen).toMatchObject({ 'a.ts': first.id, 'c.ts': scan.id });
  });

  it('reopens what it reports although a person resolved it, and leaves other decisions alone', async () => {
    const asset = await freshAsset(org);
    await importReport(org, asset, sarifLog([{ path: 'a.ts' }, { path: 'b.ts' }, { path: 'c.ts' }]));
    await importReport(org, asset, sarifLog([{ path: 'a.ts' }, { path: 'b.ts' }]));
    await setStatus(asset, 'a.ts', 'resolved');
    await setStatus(asset, 'b.ts', 'resolved');
    await setStatus(asset, 'c.ts', 'open');
    await importReport(org, asset, brokenOff([{ path: 'a.ts' }]));
    expect(await statusesOf(org, asset)).toEqual({
      'a.ts': 'reopened',
      'b.ts': 'resolved',
      'c.ts': 'open',
    });
    // The marks are still there for a run that knows.
    await importReport(org, asset, sarifLog([{ path: 'a.ts' }, { path: 'b.ts' }]));
    expect(await statusesOf(org, asset)).toEqual({
      'a.ts': 'reopened',
      'b.ts': 'reopened',
      'c.ts': 'resolved',
    });
  });

  it('that is empty is neither suspicious nor a confirmation', async () => {
    const asset = await freshAsset(org);
    const open = Object.fromEntries(many.map(({ path }) => [path, 'open']));
    await importReport(org, asset, sarifLog(many));
    expect(await importReport(org, asset, brokenOff([]))).toMatchObject({
      status: 'partial',
      error: { code: 'report_incomplete' },
    });
    const held = await importReport(org, asset, sarifLog([]), { scanner: 'semgrep' });
    expect(held).toMatchObject({ status: 'partial', error: { code: 'suspicious_empty_report' } });
    expect(await importReport(org, asset, brokenOff([]))).toMatchObject({
      error: { code: 'report_incomplete' },
    });
    expect(await statusesOf(org, asset)).toEqual(open);
    expect(await importReport(org, asset, sarifLog([]))).toMatchObject({
      status: 'completed',
      resolved_count: 20,
    });
  });

  it('by upload, and of a scanner itself', async () => {
    const asset = await freshAsset(org);
    await importReport(org, asset, sarifLog([{ path: 'a.ts' }]));
    expect(await uploadReport(org, asset, brokenOff([]))).toMatchObject({
      status: 'partial',
      error: { code: 'report_incomplete' },
    });
    const native = { results: [], errors: [{ level: 'error', type: 'Fatal error', message: 'gave up' }] };
    const scan = await importReport(org, asset, native);
    expect(scan).toMatchObject({ status: 'partial', error: { code: 'report_incomplete' } });
    expect(scan.error?.message).toContain('1 error');
    expect(await statusesOf(org, asset)).toEqual({ 'a.ts': 'open' });
  });

  it('of another branch makes its scan partial too', async () => {
    const asset = await freshAsset(org, { default_branch: 'main' });
    const scan = await importReport(org, asset, brokenOff([{ path: 'a.ts' }]), { branch: 'feature' });
    expect(scan).toMatchObject({ status: 'partial', error: { code: 'report_incomplete' } });
    expect(await pathsOf(scan.id)).toEqual(['a.ts']);
    expect(await listFindingsOf(org, asset)).toEqual([]);
  });
});
