import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { exports_ } from '#contract/operations/exports.ts';
import { findings } from '#contract/operations/findings.ts';
import type { Clock } from '#domain/clock.ts';
import { toOpaque } from '#domain/ids.ts';
import { SCANNERS, SEVERITIES } from '#domain/vocabulary.ts';
import { exportFindings } from '#functions/export-findings/export-findings.ts';
import { parseSarif } from '#shared/reports/sarif.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createExportStore } from '#store/exports.ts';
import { createFindingStore } from '#store/findings.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import { testAttribution } from '#test/harness/samples.ts';

type Format = 'sarif' | 'csv' | 'jsonl';
let org: TestOrganization;
let asset: string;
beforeAll(async () => {
  org = await createTestOrganization();
  const seeded = await seedFindings(
    org,
    Array.from({ length: 1100 }, (_, nth) => ({
      severity: SEVERITIES[nth % 5] ?? 'low',
      scanner: SCANNERS[nth % 3] ?? 'trivy',
      rule_id: `rule ${nth % 7}`,
      created_at: new Date(Date.now() - (nth % 50) * 3_600_000).toISOString(),
    })),
  );
  asset = toOpaque('asset', seeded.asset.id);
});

/** The export's function, with a bucket of the test's own. */
function exporter(id: string, clock: Clock) {
  const table = testTable();
  const counters = createCounterStore(table, 1);
  const stores = {
    exports: createExportStore(table),
    findings: createFindingStore(table, counters),
    assets: createAssetStore(table, counters),
  };
  return (write: () => Promise<void>) =>
    exportFindings({ org_id: org.orgId, export_id: id }, { ...stores, bucket: { write }, clock });
}

async function exported(format: Format, filter: object = {}) {
  const made = await org.client.call(exports_.operations.exportFindings, { body: { format, filter } });
  expect(made).toMatchObject({ status: 'queued', format, url: null, count: null });
  const read = () =>
    org.client.call(exports_.operations.getFindingExport, { params: { export_id: made.id } });
  await expect.poll(async () => (await read()).status, { timeout: 20_000 }).toBe('completed');
  const done = await read();
  const answer = await fetch(done.url ?? '');
  expect(answer.status).toBe(200);
  // S3 answers with this header; the emulator does not look at it.
  expect(new URL(done.url ?? '').searchParams.get('response-content-disposition')).toMatch(
    new RegExp(`^attachment; filename="findings-\\d{4}-\\d\\d-\\d\\d\\.${format}\\.gz"$`),
  );
  return { done, text: gunzipSync(Buffer.from(await answer.arrayBuffer())).toString('utf8') };
}

interface ExportedResult {
  readonly ruleId: string;
  readonly baselineState?: string;
  readonly suppressions?: readonly unknown[];
  readonly locations: readonly [
    {
      readonly physicalLocation: {
        readonly artifactLocation: { readonly uri: string; readonly uriBaseId: string };
        readonly region?: unknown;
      };
    },
  ];
}

/** Findings of an asset of their own as a SARIF export shows them. */
async function resultsOf(changes: Parameters<typeof seedFindings>[1]): Promise<ExportedResult[]> {
  const { asset: own } = await seedFindings(org, changes);
  const { text } = await exported('sarif', { asset_id: toOpaque('asset', own.id) });
  const log = JSON.parse(text) as { runs: { results: ExportedResult[] }[] };
  return log.runs.flatMap(({ results }) => results);
}

async function listAll(query: Record<string, string>) {
  const all: unknown[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const list = await org.client.call(findings.operations.listFindings, {
      query: { per_page: 100, ...query, ...(cursor && { cursor }) },
    });
    all.push(...list.data);
    cursor = list.pagination.next_cursor;
  }
  return all as { id: string; scanner: string; rule_id: string; fingerprint: string }[];
}

describe('an export', () => {
  it('as JSON Lines holds what the list shows, in its order', async () => {
    const { done, text } = await exported('jsonl', { asset_id: asset });
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const expected = await listAll({ asset_id: asset });
    expect(done.count).toBe(1100);
    expect(lines).toEqual(expected);
  });

  it('takes any filter of the list', async () => {
    const filter = { asset_id: asset, severity: ['critical', 'low'], scanner: ['grype'], age_max: 0 };
    const { text } = await exported('jsonl', filter);
    const expected = await listAll({
      asset_id: asset,
      severity: 'critical,low',
      scanner: 'grype',
      age_max: '0',
    });
    expect(expected.length).toBeGreaterThan(20);
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual(expected.map(({ id }) => id));
  });

  it('as SARIF holds a run for each scanner, each result with its rule', async () => {
    const { done, text } = await exported('sarif', { asset_id: asset });
    const log = JSON.parse(text) as {
      version: string;
      runs: {
        tool: { driver: { name: string; rules: { id: string }[] } };
        results: { ruleId: string; ruleIndex: number; properties: { finding_id: string } }[];
      }[];
    };
    expect([log.version, done.count]).toEqual(['2.1.0', 1100]);
    expect(log.runs.map(({ tool }) => tool.driver.name)).toEqual(['semgrep', 'grype', 'trivy']);
    const results = log.runs.flatMap((run) => run.results.map((result) => ({ run, result })));
    for (const { run, result } of results)
      expect(run.tool.driver.rules[result.ruleIndex]?.id).toBe(result.ruleId);
    const expected = await listAll({ asset_id: asset });
    expect(new Set(results.map(({ result }) => result.properties.finding_id))).toEqual(
      new Set(expected.map(({ id }) => id)),
    );
    expect(results).toHaveLength(1100);
  });

  it('as SARIF tells what is suppressed, and what is gone or new', async () => {
    const [first, later] = [crypto.randomUUID(), crypto.randomUUID()];
    const seen = { first_seen_scan_id: first, last_seen_scan_id: later };
    const suppression = { reason: 'false_positive', comment: 'a test key', expires_at: null } as const;
    const results = await resultsOf([
      { ...seen, rule_id: 'open' },
      { ...seen, rule_id: 'reopened', status: 'reopened' },
      { rule_id: 'new', first_seen_scan_id: later, last_seen_scan_id: later },
      { ...seen, rule_id: 'resolved', status: 'resolved', resolved_at: new Date().toISOString() },
      { ...seen, rule_id: 'suppressed', status: 'suppressed', suppression },
      {
        ...seen,
        rule_id: 'suppressed without a reason',
        status: 'suppressed',
        suppression: { reason: null, comment: null, expires_at: null },
      },
    ]);
    const told = results.map(({ ruleId, baselineState, suppressions }) => [
      ruleId,
      [baselineState, suppressions],
    ]);
    const accepted = { kind: 'external', status: 'accepted' };
    expect(Object.fromEntries(told)).toEqual({
      open: ['unchanged', undefined],
      reopened: ['unchanged', undefined],
      new: ['new', undefined],
      resolved: ['absent', undefined],
      suppressed: ['unchanged', [{ ...accepted, justification: 'false_positive: a test key' }]],
      'suppressed without a reason': ['unchanged', [accepted]],
    });
  });

  it('as SARIF writes paths as RFC 3986 wants them, and an import reads them back', async () => {
    const paths = [
      'src/with space/a.ts',
      '100%/50%25.ts',
      'a#b/c?d=e&f.ts',
      'größe/日本/😀.ts',
      'c:/users/[id]/a b.ts',
      "it's(a)+b,c;d@e!.ts",
      'back`tick|"quoted"<x>{y}^.ts',
    ];
    const results = await resultsOf(
      paths.map((path) => ({ rule_id: path, location: { path, start_line: 3, end_line: 4 } })),
    );
    expect(results).toHaveLength(paths.length);
    for (const { ruleId, locations } of results) {
      const [{ physicalLocation }] = locations;
      const { uri, uriBaseId } = physicalLocation.artifactLocation;
      expect(uriBaseId).toBe('%SRCROOT%');
      // A relative path: `segment-nz-nc`, then segments of `pchar`.
      expect(uri).toMatch(
        /^(?:[\w.~!$&'()*+,;=@-]|%[0-9A-F]{2})+(?:\/(?:[\w.~!$&'()*+,;=:@-]|%[0-9A-F]{2})*)*$/,
      );
      expect(uri.split('/').map(decodeURIComponent).join('/')).toBe(ruleId);
      expect(physicalLocation.region).toEqual({ startLine: 3, endLine: 4 });
    }
    const log = { version: '2.1.0', runs: [{ tool: { driver: { name: 'semgrep' } }, results }] };
    const [read] = parseSarif(log, 'key', null);
    expect(read?.findings.map(({ location }) => location.path).sort()).toEqual([...paths].sort());
  });

  it('as CSV quotes what has to be, and lets no spreadsheet run anything', async () => {
    const { asset: own } = await seedFindings(org, [
      {
        title: '=HYPERLINK("http://x","y")',
        description: 'two\nlines, "quoted"',
        rule_id: '@rule',
        notes: '-1+2',
      },
    ]);
    const { text } = await exported('csv', { asset_id: toOpaque('asset', own.id) });
    const [head = '', ...rest] = text.split('\r\n');
    expect(head.split(',').slice(0, 4)).toEqual(['id', 'severity', 'status', 'title']);
    expect(rest.join('\r\n')).toContain(`"'=HYPERLINK(""http://x"",""y"")"`);
    expect(text).toContain(`,'@rule,`);
    expect(text).toContain(`,'-1+2,`);
    expect(text).toContain('"two\nlines, ""quoted"""');
  });

  it('of nothing is an empty file of its format', async () => {
    const filter = { asset_id: asset, cve_id: 'CVE-1999-0001' };
    expect((await exported('jsonl', filter)).text).toBe('');
    expect((await exported('csv', filter)).text.split('\r\n')).toHaveLength(2);
    expect(JSON.parse((await exported('sarif', filter)).text).runs).toEqual([]);
  });

  it('is its organization’s alone, and refuses what it does not know', async () => {
    const { done } = await exported('jsonl', { asset_id: asset, severity: ['info'] });
    const other = await createTestOrganization();
    const foreign = await request('GET', `/api/findings/exports/${done.id}`, { key: other.accessToken });
    expect([foreign.status, foreign.body.error?.code]).toEqual([404, 'not_found']);
    for (const body of [{ format: 'xml' }, {}, { format: 'csv', filter: { severity: ['worst'] } }]) {
      const answer = await request('POST', '/api/findings/export', { key: org.accessToken, body });
      expect(answer.status).toBe(400);
    }
  });

  it('that can not be written says so, and a repeated message changes nothing that ended', async () => {
    const exports = createExportStore(testTable());
    const clock = { now: () => Date.now() };
    const id = crypto.randomUUID();
    await exports.create(org.orgId, { id, format: 'csv', selection: {} }, testAttribution());
    const run = exporter(id, clock);
    await run(async () => {
      throw new Error('the bucket is gone');
    });
    expect(await exports.get(org.orgId, id, Date.now())).toMatchObject({
      status: 'failed',
      error: { code: 'internal_error' },
    });
    await run(async () => {});
    expect(await exports.get(org.orgId, id, Date.now())).toMatchObject({ status: 'failed' });
  });

  it('is written by one at a time, and by the next where that one was lost', async () => {
    const exports = createExportStore(testTable());
    const id = crypto.randomUUID();
    const clock = { at: Date.now(), now: () => clock.at };
    const attribution = testAttribution(clock.at);
    await exports.create(org.orgId, { id, format: 'jsonl', selection: {} }, attribution);
    let written = 0;
    const run = exporter(id, clock);
    const ordinary = async () => {
      written += 1;
    };
    await run(async () => {
      expect(await exports.get(org.orgId, id, clock.at)).toMatchObject({ status: 'running' });
      await run(ordinary);
      expect(written).toBe(0);
      // It hangs: its lease runs out, and a second one is through before it.
      clock.at += 61_000;
      await run(ordinary);
      expect(written).toBe(1);
      throw new Error('the bucket is gone');
    });
    expect(written).toBe(1);
    expect(await exports.get(org.orgId, id, clock.at)).toMatchObject({ status: 'completed', error: null });
    expect((await exports.listPending()).filter(({ exportId }) => exportId === id)).toEqual([]);
  });
});
