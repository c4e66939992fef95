import { gzipSync } from 'node:zlib';
import { beforeAll, expect, inject } from 'vitest';
import { imports } from '#contract/operations/imports.ts';
import { createReportBucket } from '#shared/report-bucket.ts';
import { createRunStore } from '#store/runs.ts';
import { attack } from '#test/harness/attack.ts';
import { gzipOf, SARIF_END, SARIF_START } from '#test/harness/bombs.ts';
import {
  freshAsset,
  importReport,
  listFindingsOf,
  sendReport,
  uploadReport,
} from '#test/harness/importing.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import { sarifLog } from '#test/harness/sarif.ts';
import { awaitScan } from '#test/harness/scanning.ts';
import { uploadPlace } from '#test/harness/upload-place.ts';

let org: TestOrganization;
let other: TestOrganization;
let asset: string;
beforeAll(async () => {
  [org, other] = await Promise.all([createTestOrganization(), createTestOrganization()]);
  asset = await freshAsset(org);
});

/** How a direct import of these bytes is answered. */
async function sent(bytes: Uint8Array | string, type = 'application/gzip') {
  const answer = await fetch(
    `${inject('service').url}${imports.operations.importFindings.path.replace('{asset_id}', asset)}`,
    {
      method: 'POST',
      headers: { 'content-type': type, authorization: `Bearer ${org.accessToken}` },
      body: typeof bytes === 'string' ? bytes : new Uint8Array(bytes),
    },
  );
  const { error } = (await answer.json()) as { error?: { code: string; message: string } };
  return { status: answer.status, code: error?.code, message: error?.message };
}

/** The service reads other organizations' reports as if nothing had happened. */
async function unharmed() {
  const report = sarifLog([{ path: 'unharmed.ts' }]);
  expect(await importReport(other, await freshAsset(other), report)).toMatchObject({
    status: 'completed',
    new_count: 1,
  });
}

const zip = (text: string | Buffer) => new Uint8Array(gzipSync(text));
const bomb = gzipOf('[', '{},', 69_000_000, '{}]');

attack('hostile reports', 'got through', '69 million empty objects in 200 KB of gzip', async () => {
  expect(bomb.length).toBeLessThan(300_000);
  expect(await sent(bomb)).toMatchObject({ status: 400, code: 'validation_error' });
  const elsewhere = gzipOf('{"version":"2.1.0","x":[', '{},', 69_000_000, '{}],"runs":[]}');
  expect(await sent(elsewhere)).toMatchObject({ status: 413, code: 'payload_too_large' });
  await unharmed();
});

attack('hostile reports', 'got through', 'the same by a presigned upload', async () => {
  const ended = await uploadReport(org, asset, bomb);
  expect(ended).toMatchObject({ status: 'failed' });
  expect(ended.error?.details).toMatchObject([
    { code: 'report_invalid', message: expect.stringMatching(/^The report /) },
  ]);
  // It goes after the scan has ended.
  const bucket = createReportBucket(inject('service').bucketUrl);
  await expect.poll(() => bucket.read(uploadPlace(org, asset, ended.id))).toBeNull();
  await unharmed();
});

attack('hostile reports', 'got through', 'an upload that ended its reader each time', async () => {
  const { upload, scan } = await org.client.call(imports.operations.createImportUrl, {
    params: { asset_id: asset },
    body: { bytes: bomb.length },
  });
  const runs = createRunStore(testTable());
  for (const nth of [1, 2, 3]) expect(await runs.uploadTaken(uploadPlace(org, asset, scan.id))).toBe(nth);
  await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: bomb });
  expect((await awaitScan(org, scan.id)).error?.details).toMatchObject([
    { code: 'report_invalid', message: 'The report could not be read in 3 attempts' },
  ]);
});

attack(
  'hostile reports',
  'got through',
  'a report that takes seconds keeps others waiting',
  async () => {
    // Each of its messages is searched for hundreds of literals that begin as it does.
    const snippet = Array.from({ length: 600 }, (_, nth) => `"aaaaaa${'a'.repeat(nth % 40)}${nth}"`).join(
      ' ',
    );
    const texts = Array.from({ length: 60 }, (_, nth) => ({
      path: `src/${nth}.ts`,
      text: `Result ${nth}: ${'a'.repeat(8000)}`,
      snippet,
    }));
    const mark = { read: false };
    const reading = sendReport(org, await freshAsset(org), sarifLog(texts)).finally(() => {
      mark.read = true;
    });
    let answered = 0;
    while (!mark.read) {
      expect((await fetch(`${inject('service').url}/api/health`)).status).toBe(200);
      answered += 1;
    }
    const scan = await awaitScan(org, (await reading).id);
    // Where reading held up the process, only those before and after it were answered.
    expect(answered).toBeGreaterThan(50);
    expect(scan).toMatchObject({ status: 'completed', new_count: 60 });
  },
  600_000,
);

const LOG = JSON.stringify(sarifLog([{ path: 'a.ts' }]));
const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');

attack('hostile reports', 'held', 'gzip of four gigabytes of zeros', async () => {
  const zeros = gzipSync(Buffer.alloc(16 * 1024 * 1024));
  const bytes = Buffer.concat(Array.from({ length: 240 }, () => zeros));
  expect(await sent(bytes)).toMatchObject({ status: expect.any(Number), code: expect.any(String) });
  await unharmed();
});

attack(
  'hostile reports',
  'held',
  'gzip within gzip, cut off, damaged, with other bytes behind it',
  async () => {
    expect(await sent(zip(Buffer.from(zip(LOG))))).toMatchObject({ status: 400, code: 'invalid_json' });
    expect(await sent(zip(LOG).subarray(0, -20))).toMatchObject({ status: 400, code: 'invalid_json' });
    const damaged = zip(LOG);
    damaged.fill(0x55, 40, 60);
    expect(await sent(damaged)).toMatchObject({ status: 400, code: 'invalid_json' });
    const followed = Buffer.concat([zip(LOG), Buffer.from('rubbish')]);
    expect(await sent(followed)).toMatchObject({ status: 400, code: 'invalid_json' });
    expect((await sent(Buffer.concat([zip(LOG), zip(' \n')]))).status).toBe(202);
  },
);

attack('hostile reports', 'held', 'CSV, HTML, UTF-16, and nothing, in place of JSON', async () => {
  for (const text of ['rule,path\nr,a.ts\n', '<!doctype html><html></html>', '', ' \n', 'null null'])
    expect(await sent(zip(text))).toMatchObject({ status: 400, code: 'invalid_json' });
  expect(await sent(zip(utf16(LOG)))).toMatchObject({
    status: 400,
    code: 'invalid_json',
    message: expect.stringMatching(/UTF-16/),
  });
  expect((await sent(zip(`\ufeff${LOG}`))).status).toBe(202);
});

attack('hostile reports', 'held', 'gzip under application/json', async () => {
  expect(await sent(Buffer.from(zip(LOG)).toString('latin1'), 'application/json')).toMatchObject({
    status: 400,
    code: 'invalid_json',
  });
});

attack('hostile reports', 'held', 'names of the language itself, and half characters', async () => {
  const nasty = LOG.replace(
    '"ruleId":"r"',
    '"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"ruleId":"r\\ud83d"',
  );
  const place = await freshAsset(org);
  const report = await importReport(org, place, nasty);
  expect(report).toMatchObject({ status: 'completed', new_count: 1 });
  const [finding] = await listFindingsOf(org, place);
  expect(finding?.rule_id.isWellFormed()).toBe(true);
  expect('polluted' in (finding ?? {})).toBe(false);
});

attack('hostile reports', 'got through', 'two lists of results in one run', async () => {
  const twice = LOG.replace('"results":[', '"results":[],"results":[');
  expect(await sent(zip(twice))).toMatchObject({
    status: 400,
    code: 'invalid_json',
    message: expect.stringMatching(/twice/),
  });
});

attack(
  'hostile reports',
  'got through',
  'a million rules, artifacts, places, or troubles of its tool',
  async () => {
    const many = (list: string) => `${list}":[{}${',{}'.repeat(1_000_000)}]`;
    for (const list of ['artifacts', 'logicalLocations'])
      expect(await sent(zip(LOG.replace('"results":', `"${many(list)},"results":`)))).toMatchObject({
        status: 400,
      });
    expect(await sent(zip(LOG.replace('"rules":[', `"${many('rules')},"x":[`)))).toMatchObject({
      status: 400,
    });
    const troubles = `"invocations":[{"${many('toolExecutionNotifications')}}],"results":`;
    expect(await sent(zip(LOG.replace('"results":', troubles)))).toMatchObject({
      status: 400,
      code: 'validation_error',
      message: expect.stringMatching(/1000001 elements in a list; at most 100000/),
    });
    await unharmed();
  },
);

attack('hostile reports', 'got through', 'more than a thousand runs, or results, of one tool', async () => {
  const [run] = sarifLog([{ path: 'a.ts' }]).runs;
  const runs = (count: number) =>
    JSON.stringify({ version: '2.1.0', runs: Array.from({ length: count }, () => run) });
  expect((await sent(zip(runs(150)))).status).toBe(202);
  expect(await sent(zip(runs(1001)))).toMatchObject({
    status: 400,
    message: expect.stringMatching(/1001 runs; at most 1000/),
  });
  const results = `${SARIF_START}{}${',{}'.repeat(25_000)}${SARIF_END}`;
  expect(await sent(zip(results))).toMatchObject({
    status: 400,
    message: expect.stringMatching(/25001 results; at most 25000/),
  });
});

attack(
  'hostile reports',
  'held',
  'a result with a hundred thousand places, and one of five million characters',
  async () => {
    const place = '{"physicalLocation":{"artifactLocation":{"uri":"first.ts"}}}';
    const places = `{"ruleId":"r","message":{"text":"x"},"locations":[${place}${`,${place}`.repeat(100_000)}]}`;
    const long = `{"ruleId":"r","message":{"text":"long ${'a'.repeat(5_000_000)}"}}`;
    const target = await freshAsset(org);
    await importReport(org, target, `${SARIF_START}${places},${long}${SARIF_END}`);
    const found = await listFindingsOf(org, target);
    expect(new Set(found.map(({ location }) => location.path))).toEqual(new Set(['.', 'first.ts']));
    for (const { description } of found) expect(description.length).toBeLessThanOrEqual(4000);
  },
);

attack('hostile reports', 'held', 'placeholders that multiply a message', async () => {
  const laughs = Array.from({ length: 1000 }, (_, nth) => `{${(nth + 1) % 1000}}`.repeat(10));
  const message = { text: '{0}'.repeat(5000), arguments: laughs.map((laugh) => laugh.repeat(100)) };
  const [run] = sarifLog([{ path: 'a.ts' }]).runs;
  const report = { version: '2.1.0', runs: [{ ...run, results: [{ ruleId: 'r', message }] }] };
  const target = await freshAsset(org);
  await importReport(org, target, report);
  expect((await listFindingsOf(org, target))[0]?.description.length).toBeLessThanOrEqual(4000);
});

attack('hostile reports', 'held', 'numbers beyond all bounds', async () => {
  const target = await freshAsset(org);
  const line = (text: string) => LOG.replace('"startLine":1', `"startLine":${text}`);
  expect(await importReport(org, target, line('1e999999'))).toMatchObject({
    status: 'completed',
    new_count: 1,
  });
  expect((await listFindingsOf(org, target))[0]?.location.start_line).toBeNull();
  expect((await sent(zip(line('9'.repeat(10_000_000))))).status).toBeLessThan(500);
  await unharmed();
});
