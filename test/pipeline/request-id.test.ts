import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { organizations } from '#contract/operations/organizations.ts';
import { fromOpaque } from '#domain/ids.ts';
import { DispatchRequested } from '#events/pipeline.ts';
import { currentRequestId } from '#shared/request-scope.ts';
import { handleBatch } from '#shared/sqs-batch.ts';
import { createRunStore } from '#store/runs.ts';
import { createScanStore } from '#store/scans.ts';
import { request } from '#test/harness/http.ts';
import { freshAsset } from '#test/harness/importing.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import { addRepository, awaitScan } from '#test/harness/scanning.ts';
import {
  createVulnerableRepository,
  type VulnerableRepository,
} from '#test/harness/vulnerable-repository.ts';

let org: TestOrganization;
let repository: VulnerableRepository;
beforeAll(async () => {
  org = await createTestOrganization();
  repository = await createVulnerableRepository();
});
afterAll(() => repository?.remove());

type Line = Record<string, unknown>;

/** Every line of the service's log that carries an id, wherever in it. */
async function linesWith(id: string): Promise<Line[]> {
  const text = await readFile(inject('service').log, 'utf8');
  return text
    .split('\n')
    .filter((line) => line.includes(id))
    .map((line) => JSON.parse(line));
}
/** Lines are written beside what they tell of: the last one may come a moment after the scan's end. */
async function linesOnce(id: string, has: (lines: readonly Line[]) => boolean): Promise<Line[]> {
  for (;;) {
    const lines = await linesWith(id);
    if (has(lines)) return lines;
    await sleep(50);
  }
}
const stepsOf = (lines: readonly Line[]) => [
  ...new Set(lines.map((line) => `${line.function}: ${line.message ?? 'access log'}`)),
];
const finished = (lines: readonly Line[]) => lines.some(({ message }) => message === 'run finished');

async function auditOf(id: string): Promise<string[]> {
  const { data } = await org.client.call(organizations.operations.listAuditLog, { query: { per_page: 100 } });
  return data.filter((entry) => entry.request_id === id).map(({ action }) => action);
}

describe('the id of a request', () => {
  it('is in every line of the scan that it asked for, from the gateway to the end, and in the audit log', async () => {
    const assetId = await addRepository(org, pathToFileURL(repository.path).href);
    const answer = await request('POST', '/api/scans', {
      key: org.accessToken,
      body: { scope: 'asset', target_id: assetId, scanners: ['gitleaks'] },
    });
    expect(answer.status).toBe(202);
    const id = answer.headers.get('x-request-id') ?? '';
    expect(id).toMatch(/^req_[0-9a-f]{32}$/);
    const scan = await awaitScan(org, String(answer.body.id));
    expect(scan.status).toBe('completed');

    const lines = await linesOnce(id, finished);
    expect(stepsOf(lines).sort()).toEqual(
      [
        'gateway: access log',
        'scans: scan accepted',
        'scan-planner: scan planned',
        'run-dispatcher: run started',
        'runner-gate: run claimed',
        'scanner-runner: run began',
        'scanner-runner: repository cloned',
        'scanner-runner: report handed over',
        'scanner-runner: run ended',
        'ingest-report: report ingested',
        'finish-run: run finished',
      ].sort(),
    );
    // By its own name in each line; the access log has the gateway's own id beside it.
    for (const line of lines) expect(line.request_id).toBe(id);
    const scanId = fromOpaque('scan', String(answer.body.id));
    for (const line of lines.filter(({ function: by }) => by !== 'gateway'))
      expect(line).toMatchObject({ org_id: org.orgId, scan_id: scanId });
    const [access] = lines.filter((line) => line.function === 'gateway');
    expect(access).toMatchObject({
      route: 'POST /api/scans',
      status: '202',
      gateway_request_id: answer.headers.get('apigw-requestid'),
    });
    // The runner's own requests are joined to it by the line of its claim.
    const [claimed] = lines.filter(({ message }) => message === 'run claimed');
    const claim = await linesWith(String(claimed?.runner_request_id));
    expect(claim.map(({ route }) => route)).toContain('POST /api/runner/claim');
    expect(await auditOf(id)).toEqual(expect.arrayContaining(['scan.create']));

    // Names and ids alone: nothing with which somebody could do something.
    for (const secret of ['X-Amz-Signature', org.accessToken, '"claim"', '"token"', 'fingerprint_key'])
      expect(JSON.stringify(lines)).not.toContain(secret);
  });

  it('is in every line of an import, and in the audit entry of its end', async () => {
    const asset = await freshAsset(org);
    const sarif = {
      version: '2.1.0',
      runs: [
        {
          tool: { driver: { name: 'linter' } },
          results: [
            {
              ruleId: 'r',
              message: { text: 'found' },
              locations: [
                { physicalLocation: { artifactLocation: { uri: 'a.ts' }, region: { startLine: 1 } } },
              ],
            },
          ],
        },
      ],
    };
    const answer = await request('POST', `/api/assets/${asset}/findings/import?scanner=semgrep`, {
      key: org.accessToken,
      body: sarif,
    });
    expect(answer.status).toBe(202);
    const id = answer.headers.get('x-request-id') ?? '';
    await awaitScan(org, String(answer.body.id));
    const lines = await linesOnce(id, finished);
    expect(stepsOf(lines).sort()).toEqual([
      'gateway: access log',
      'imports: import accepted',
      'ingest-import: report ingested',
      'ingest-import: run finished',
    ]);
    expect((await auditOf(id)).length).toBeGreaterThan(0);
  });

  it('outlives an upload: the bucket tells of an object alone', async () => {
    const asset = await freshAsset(org);
    const report = gzipSync(
      JSON.stringify({ results: [], errors: [], paths: { scanned: [] }, version: '1.182.0' }),
    );
    const answer = await request('POST', `/api/assets/${asset}/findings/import-url`, {
      key: org.accessToken,
      body: { bytes: report.length, scanner: 'semgrep' },
    });
    const id = answer.headers.get('x-request-id') ?? '';
    const { upload, scan } = answer.body as unknown as {
      upload: { url: string; method: string; headers: Record<string, string> };
      scan: { id: string };
    };
    await fetch(upload.url, { method: upload.method, headers: upload.headers, body: new Uint8Array(report) });
    expect((await awaitScan(org, scan.id)).status).toBe('completed');
    const lines = await linesOnce(id, finished);
    expect(stepsOf(lines).sort()).toEqual([
      'gateway: access log',
      'ingest-import: report ingested',
      'ingest-import: run finished',
      'take-upload: upload taken in',
    ]);
  });

  it('is in the line of an upload that is no report, which says nothing of what it holds', async () => {
    const asset = await freshAsset(org);
    const rubbish = gzipSync('a secret that is no report');
    const answer = await request('POST', `/api/assets/${asset}/findings/import-url`, {
      key: org.accessToken,
      body: { bytes: rubbish.length, scanner: 'semgrep' },
    });
    const id = answer.headers.get('x-request-id') ?? '';
    const { upload, scan } = answer.body as unknown as {
      upload: { url: string; method: string; headers: Record<string, string> };
      scan: { id: string };
    };
    await fetch(upload.url, {
      method: upload.method,
      headers: upload.headers,
      body: new Uint8Array(rubbish),
    });
    expect((await awaitScan(org, scan.id)).status).toBe('failed');
    const lines = await linesOnce(id, (all) => all.some(({ message }) => message === 'upload refused'));
    const [refused] = lines.filter(({ message }) => message === 'upload refused');
    expect(refused).toMatchObject({
      function: 'take-upload',
      request_id: id,
      org_id: org.orgId,
      scan_id: fromOpaque('scan', scan.id),
      code: expect.stringMatching(/^[a-z_]+$/),
    });
    expect(JSON.stringify(lines)).not.toContain('a secret');
  });

  it('goes along with a message where no record has it: of an export, of a deletion', async () => {
    const exported = await request('POST', '/api/findings/export', {
      key: org.accessToken,
      body: { format: 'csv', filter: {} },
    });
    const written = exported.headers.get('x-request-id') ?? '';
    const asset = await freshAsset(org);
    const deleted = await request('DELETE', `/api/assets/${asset}`, { key: org.accessToken });
    const gone = deleted.headers.get('x-request-id') ?? '';
    const said = (message: string) => (lines: readonly Line[]) =>
      lines.some((line) => line.message === message);
    expect(stepsOf(await linesOnce(written, said('export written'))).sort()).toEqual([
      'export-findings: export written',
      'gateway: access log',
    ]);
    expect(stepsOf(await linesOnce(gone, said('deletion went on')))).toContain('deleter: deletion went on');
  });

  it('is ours: what a caller sends under its name names nothing', async () => {
    const theirs = `req_${'a'.repeat(32)}`;
    const answer = await request('GET', '/api/projects', {
      key: org.accessToken,
      headers: { 'x-request-id': theirs },
    });
    const id = answer.headers.get('x-request-id') ?? '';
    expect(id).toMatch(/^req_[0-9a-f]{32}$/);
    expect(id).not.toBe(theirs);
    expect(await linesWith(theirs)).toEqual([]);
    expect((await linesOnce(id, (lines) => lines.length > 0))[0]).toMatchObject({
      route: 'GET /api/projects',
    });
  });

  it('is in the line of a request that nobody may make, and of a path that there is none of', async () => {
    for (const [path, status] of [
      ['/api/projects', 401],
      ['/api/nowhere/', 404],
    ] as const) {
      const answer = await request('GET', path, { headers: { authorization: 'Bearer nonsense' } });
      expect(answer.status).toBe(status);
      const id = answer.headers.get('x-request-id') ?? '';
      const [line] = await linesOnce(id, (lines) => lines.length > 0);
      expect(line).toMatchObject({ function: 'gateway', request_id: id, status: String(status) });
    }
  });
});

describe('what has no id, because it is older', () => {
  it('is taken all the same: a message, a scan, its run', async () => {
    const seen: (string | null)[] = [];
    const record = (messageId: string, body: unknown) => ({ messageId, body: JSON.stringify(body) });
    const known = `req_${'0'.repeat(32)}`;
    const message = { org_id: '0199c0de-5eed-7000-a000-0000000000aa' };
    const event = {
      Records: [
        record('old', message),
        record('new', { ...message, request_id: known }),
        record('odd', { ...message, request_id: 'req_x\n{"forged":true}' }),
      ],
    };
    // biome-ignore lint/suspicious/noExplicitAny: of SQS's record only what is read
    const answer = await handleBatch(event as any, DispatchRequested, async (received) => {
      expect(received).toEqual(message);
      seen.push(currentRequestId());
    });
    expect(answer).toEqual({ batchItemFailures: [] });
    expect(seen).toEqual([null, known, null]);

    const assetId = await addRepository(org, `${pathToFileURL(repository.path).href}/.git`, 'older');
    const made = await request('POST', '/api/scans', {
      key: org.accessToken,
      body: { scope: 'asset', target_id: assetId, scanners: ['gitleaks'] },
    });
    const scanId = fromOpaque('scan', String(made.body.id)) ?? '';
    await awaitScan(org, String(made.body.id));
    const [scan, run] = [
      await createScanStore(testTable()).get(org.orgId, scanId),
      (await createRunStore(testTable()).listAll(org.orgId, scanId))[0],
    ];
    // The records have it, so that steps that no message names it to find it there.
    expect([scan?.request_id, run?.request_id]).toEqual(
      Array.from({ length: 2 }, () => made.headers.get('x-request-id')),
    );
  });
});
