import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { findings } from '#contract/operations/findings.ts';
import { scans } from '#contract/operations/scans.ts';
import { toOpaque } from '#domain/ids.ts';
import { SCANNERS } from '#domain/vocabulary.ts';
import { toSarif } from '#shared/export/sarif.ts';
import { request } from '#test/harness/http.ts';
import {
  importReport,
  listFindingsOf,
  freshAsset as makeAsset,
  sendReport,
  statusesOf,
  uploadReport,
} from '#test/harness/importing.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import type { sampleAsset } from '#test/harness/samples.ts';
import { largeSarif, sarifLog } from '#test/harness/sarif.ts';
import { awaitScan } from '#test/harness/scanning.ts';
import { storedItems } from '#test/harness/stored-items.ts';
import { listObjects } from '#test/harness/stored-objects.ts';

const { updateFinding, getFindingSummary } = findings.operations;
let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const freshAsset = (change?: Parameters<typeof sampleAsset>[0]) => makeAsset(org, change);
const send = (asset: string, report: unknown, query: Record<string, string> = {}, key?: string) =>
  sendReport(org, asset, report, query, key);
const imported = (asset: string, report: unknown, query: Record<string, string> = {}) =>
  importReport(org, asset, report, query);
const list = (asset: string, query: Record<string, string> = {}) => listFindingsOf(org, asset, query);
const statuses = (asset: string) => statusesOf(org, asset);
const sample = (scanner: string): unknown =>
  JSON.parse(readFileSync(new URL(`../fixtures/reports/${scanner}.json`, import.meta.url), 'utf8'));

describe('an import', () => {
  it('that runs is taken whole: it can’t be cancelled', async () => {
    const asset = await freshAsset();
    const { id } = await sendReport(org, asset, largeSarif(500));
    const answer = await request('POST', `/api/scans/${id}/cancel`, { key: org.accessToken });
    expect(answer).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    expect(await awaitScan(org, id)).toMatchObject({ status: 'completed', new_count: 500 });
  });

  it('is a complete run of its scanner: new, gone and coming back', async () => {
    const asset = await freshAsset();
    const two = sarifLog([
      { path: 'a.ts', score: '9.1' },
      { path: 'b.ts', level: 'error' },
    ]);
    const first = await imported(asset, two);
    expect(first).toMatchObject({
      status: 'completed',
      trigger: 'import',
      scanners: ['semgrep'],
      new_count: 2,
      resolved_count: 0,
      finding_counts: { critical: 1, high: 1 },
      progress: { total: 1, done: 1, failed: 0 },
    });
    expect((await list(asset, { sort: '-severity' })).map(({ severity }) => severity)).toEqual([
      'critical',
      'high',
    ]);
    expect(await list(asset)).toMatchObject([{ first_seen_scan_id: first.id }, { tool: null }]);
    const second = await imported(asset, sarifLog([{ path: 'a.ts', score: '9.1' }, { path: 'c.ts' }]));
    expect(second).toMatchObject({ new_count: 1, resolved_count: 1 });
    expect(await statuses(asset)).toEqual({ 'a.ts': 'open', 'b.ts': 'resolved', 'c.ts': 'open' });
    await imported(asset, two);
    expect(await statuses(asset)).toEqual({ 'a.ts': 'open', 'b.ts': 'reopened', 'c.ts': 'resolved' });
  });

  it('of the same report changes nothing but who saw it last, and is done with at once', async () => {
    const asset = await freshAsset();
    const report = largeSarif(120);
    await imported(asset, report);
    const before = await list(asset);
    const again = await send(asset, report);
    expect(again).toMatchObject({ status: 'completed', new_count: 0, resolved_count: 0 });
    const after = await list(asset);
    expect(after).toEqual(before.map((one) => ({ ...one, last_seen_scan_id: again.id })));
    const shown = await org.client.call(scans.operations.listScanFindings, { params: { scan_id: again.id } });
    expect(shown.pagination.total).toBe(120);
  });

  it('brings what a scanner says anew, and keeps what people said', async () => {
    const asset = await freshAsset();
    await imported(asset, sarifLog([{ path: 'a.ts', score: '5.0', line: 3 }]));
    const [held] = await list(asset);
    const params = { finding_id: held?.id ?? '' };
    await org.client.call(updateFinding, { params, body: { status: 'confirmed', notes: 'mine' } });
    const scan = await imported(asset, sarifLog([{ path: 'a.ts', score: '9.5', line: 9 }]));
    expect(scan).toMatchObject({ new_count: 0, resolved_count: 0 });
    expect(await list(asset)).toMatchObject([
      { id: held?.id, severity: 'critical', status: 'confirmed', notes: 'mine', location: { start_line: 9 } },
    ]);
    const summary = await org.client.call(getFindingSummary, { query: { asset_id: asset } });
    expect(summary).toMatchObject({ total: 1, by_severity: { critical: 1, medium: 0 } });
  });

  it('reopens what a person resolved and is still reported, even where nothing else changed', async () => {
    const asset = await freshAsset();
    const report = sarifLog([{ path: 'a.ts' }, { path: 'b.ts' }]);
    await imported(asset, report);
    const held = (await list(asset)).find(({ location }) => location.path === 'a.ts');
    const params = { finding_id: held?.id ?? '' };
    await org.client.call(updateFinding, { params, body: { status: 'resolved' } });
    await imported(asset, report);
    expect((await list(asset)).find(({ id }) => id === held?.id)).toMatchObject({ status: 'reopened' });
    // The other way: what is absent but was opened by a person is resolved by the next run.
    await imported(asset, sarifLog([{ path: 'b.ts' }]));
    const gone = (await list(asset)).find(({ location }) => location.path === 'a.ts');
    expect(gone?.status).toBe('resolved');
    await org.client.call(updateFinding, {
      params: { finding_id: gone?.id ?? '' },
      body: { status: 'open' },
    });
    await imported(asset, sarifLog([{ path: 'b.ts' }]));
    expect(await statuses(asset)).toMatchObject({ 'a.ts': 'resolved', 'b.ts': 'open' });
  });

  it('tells the tool of a foreign driver, and asks for the scanner where nothing tells it', async () => {
    const asset = await freshAsset();
    const codeql = sarifLog([{ path: 'a.ts' }], 'CodeQL');
    const refused = await request('POST', `/api/assets/${asset}/findings/import`, {
      key: org.accessToken,
      body: codeql,
    });
    expect([refused.status, refused.body.error?.code]).toEqual([400, 'invalid_parameter']);
    expect(refused.body.error?.message).toContain('CodeQL');
    await imported(asset, codeql, { scanner: 'semgrep' });
    expect(await list(asset)).toMatchObject([{ scanner: 'semgrep', tool: 'CodeQL' }]);
  });

  it.each(SCANNERS)('takes the JSON of %s, known by its shape', async (scanner) => {
    const asset = await freshAsset();
    const scan = await imported(asset, sample(scanner));
    expect(scan).toMatchObject({ status: 'completed', scanners: [scanner] });
    expect(scan.new_count).toBeGreaterThan(0);
    expect((await list(asset)).length).toBe(scan.new_count);
  });

  it('keeps no secret, whatever the format', async () => {
    const asset = await freshAsset();
    const secret = 'AKIAQ3EGVE5XK7TTJ2LD';
    await imported(asset, [
      { RuleID: 'aws-access-token', File: 'a.env', StartLine: 1, Secret: secret, Match: `key=${secret}` },
    ]);
    await imported(
      asset,
      sarifLog([{ path: 'b.env', snippet: secret, text: `${secret} is a key` }], 'gitleaks'),
      {},
    );
    await imported(
      asset,
      sarifLog([{ path: 'c.ts', snippet: `k = "${secret}"`, text: `hard-coded "${secret}"` }]),
    );
    expect(JSON.stringify(await list(asset))).not.toContain(secret);
    expect(
      JSON.stringify((await storedItems()).filter(({ pk }) => String(pk).includes(org.orgId))),
    ).not.toContain(secret);
  });

  it('takes a report that begins with a byte order mark', async () => {
    const asset = await freshAsset();
    const text = `\ufeff${JSON.stringify(sarifLog([{ path: 'a.ts' }]))}`;
    expect(await imported(asset, text)).toMatchObject({ status: 'completed', new_count: 1 });
  });

  it('of another branch belongs to its scan alone', async () => {
    const asset = await freshAsset({ default_branch: 'main' });
    await imported(asset, sarifLog([{ path: 'a.ts' }]), { branch: 'main' });
    const scan = await imported(asset, sarifLog([{ path: 'b.ts' }]), { branch: 'feature' });
    expect(await statuses(asset)).toEqual({ 'a.ts': 'open' });
    const own = await org.client.call(scans.operations.listScanFindings, { params: { scan_id: scan.id } });
    expect(own.data).toMatchObject([{ location: { path: 'b.ts' } }]);
  });

  it('takes texts that are cut, or were cut, through an emoji', async () => {
    const asset = await freshAsset();
    const scan = await imported(
      asset,
      sarifLog([
        { path: 'a.ts', text: `${'x'.repeat(3998)}${'😀'.repeat(20)}` },
        { path: 'b\ud800.ts', rule: 'r\udc00', text: 'half \ud83d' },
      ]),
    );
    expect(scan).toMatchObject({ status: 'completed', new_count: 2 });
  });

  it('answers the same scan for the same Idempotency-Key', async () => {
    const asset = await freshAsset();
    const report = sarifLog([{ path: 'a.ts' }]);
    const [one, two] = [
      await send(asset, report, {}, `key ${asset}`),
      await send(asset, report, {}, `key ${asset}`),
    ];
    expect(two.id).toBe(one.id);
    await expect(send(asset, sarifLog([{ path: 'z.ts' }]), {}, `key ${asset}`)).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  it('wait their turn: many at once leave what the last of them says, each finding once', async () => {
    const asset = await freshAsset();
    const logs = Array.from({ length: 6 }, (_, n) =>
      sarifLog(Array.from({ length: 30 }, (__, index) => ({ path: `f${index}.ts`, line: n + 1 }))),
    );
    const sent = await Promise.all(logs.map((log) => send(asset, log)));
    const ended = await Promise.all(sent.map(({ id }) => awaitScan(org, id)));
    expect(ended.map(({ status }) => status)).toEqual(ended.map(() => 'completed'));
    expect(ended.reduce((sum, { new_count }) => sum + new_count, 0)).toBe(30);
    expect(await list(asset)).toHaveLength(30);
  });

  it('takes its own export back', async () => {
    const asset = await freshAsset();
    await imported(asset, sample('trivy'));
    const shown = await list(asset);
    const scan = await imported(await freshAsset(), toSarif(shown as never));
    expect(scan).toMatchObject({ status: 'completed', new_count: shown.length });
  });
});

describe('an import by upload', () => {
  const upload = (asset: string, report: unknown, more: object = {}) =>
    uploadReport(org, asset, report, more);

  it('takes more than a request can: several runs of thousands of results', async () => {
    const asset = await freshAsset();
    const scan = await upload(asset, largeSarif(6000, 'u', 3));
    expect(scan).toMatchObject({ status: 'completed', scanners: ['semgrep'], new_count: 6000 });
    const again = await upload(asset, largeSarif(6000, 'u', 3));
    expect(again).toMatchObject({ status: 'completed', new_count: 0, resolved_count: 0 });
    const summary = await org.client.call(getFindingSummary, { query: { asset_id: asset } });
    expect(summary.total).toBe(6000);
  });

  it('takes the scanner and the branch that it is told, and keeps nothing of the upload', async () => {
    const asset = await freshAsset({ default_branch: 'main' });
    const log = sarifLog([{ path: 'a.ts' }], 'CodeQL');
    const plain = new Uint8Array(Buffer.from(JSON.stringify(log)));
    const scan = await upload(asset, plain, {
      content_type: 'application/json',
      scanner: 'trivy',
      branch: 'main',
    });
    expect(scan).toMatchObject({ status: 'completed', scanners: ['trivy'], branch: 'main' });
    expect(await list(asset)).toMatchObject([{ scanner: 'trivy', tool: 'CodeQL' }]);
    const left = await listObjects(`raw/${org.orgId}/`);
    expect(left).not.toContain('/upload<');
  });

  it('ends with the reason where it was no report', async () => {
    const scan = await upload(await freshAsset(), { hello: 'world' });
    expect(scan).toMatchObject({ status: 'failed', error: { code: 'report_invalid' } });
    expect(scan.error?.message).toContain('scanner is required');
  });

  it('is refused beyond 100 MB, and where the asset is not there', async () => {
    const asset = await freshAsset();
    const post = (id: string, bytes: number) =>
      request('POST', `/api/assets/${id}/findings/import-url`, { key: org.accessToken, body: { bytes } });
    expect((await post(asset, 100 * 1024 * 1024 + 1)).body.error?.code).toBe('validation_error');
    expect((await post(toOpaque('asset', crypto.randomUUID()), 10)).status).toBe(404);
  });
});

describe('a report that can not be taken', () => {
  const post = async (options: Parameters<typeof request>[2], query = '') => {
    const asset = await freshAsset();
    const answer = await request('POST', `/api/assets/${asset}/findings/import${query}`, {
      key: org.accessToken,
      ...options,
    });
    return [answer.status, answer.body.error?.code];
  };
  const log = sarifLog([{}]);

  it.each([
    ['no body', { text: '' }, 400, 'invalid_json'],
    ['rubbish', { text: '{"runs": [' }, 400, 'invalid_json'],
    ['another JSON', { body: { hello: 'world' } }, 400, 'invalid_parameter'],
    ['an empty list', { body: [] }, 400, 'invalid_parameter'],
    ['SARIF of another version', { body: { ...log, version: '1.0.0' } }, 400, 'validation_error'],
    ['SARIF without runs', { body: { ...log, runs: [] } }, 400, 'validation_error'],
    ['SARIF without a driver', { body: { ...log, runs: [{ results: [] }] } }, 400, 'validation_error'],
  ])('is refused: %s', async (_, options, status, code) => {
    expect(await post(options)).toEqual([status, code]);
  });

  it('is refused: another scanner than it is said to be of', async () => {
    expect(await post({ body: sample('grype') }, '?scanner=trivy')).toEqual([400, 'validation_error']);
    expect(await post({ body: log }, '?scanner=codeql')).toEqual([400, 'invalid_parameter']);
    expect(await post({ body: log }, '?branch=-x')).toEqual([400, 'invalid_parameter']);
  });

  it('is refused: more than 4 MB, more than 25,000 results, gzip under the wrong type', async () => {
    expect(await post({ text: ' '.repeat(4 * 1024 * 1024 + 1) })).toEqual([413, 'payload_too_large']);
    const asset = await freshAsset();
    const many = { ...log, runs: [{ ...log.runs[0], results: Array.from({ length: 25_001 }, () => ({})) }] };
    await expect(send(asset, many)).rejects.toMatchObject({ code: 'validation_error' });
    const zipped = gzipSync(JSON.stringify(log));
    expect(
      await post({ text: zipped.toString('latin1'), headers: { 'content-type': 'application/json' } }),
    ).toEqual([400, 'invalid_json']);
  });
});
