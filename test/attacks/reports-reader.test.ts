import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPruned } from '#shared/ingest/reader/read-pruned.ts';
import { REPORT_LIMITS } from '#shared/ingest/reader/report-limits.ts';
import { createReportReader, type ReportReader } from '#shared/ingest/reader/report-reader.ts';
import { JsonFilter } from '#shared/json/filter.ts';
import { ALL } from '#shared/json/shape.ts';
import { withoutLiterals } from '#shared/reports/redact.ts';
import { attack } from '#test/harness/attack.ts';
import { SARIF_END, SARIF_START } from '#test/harness/bombs.ts';
import { sarifLog } from '#test/harness/sarif.ts';

/** Bounds that a small input reaches. */
const SMALL = {
  ...REPORT_LIMITS,
  tokens: 1000,
  depth: 20,
  item: 4096,
  kept: 16_384,
  results: 50,
  unpacked: 65_536,
};
const PATIENCE = { waitMs: 60_000, readMs: 60_000 };
const LOG = JSON.stringify(sarifLog([{ path: 'a.ts' }]));

const pruned = (text: string | Uint8Array, limits = SMALL) =>
  readPruned(typeof text === 'string' ? Buffer.from(text) : text, limits);
const refused = (text: string | Uint8Array) => expect(pruned(text)).rejects;
const withMember = (member: string) => LOG.replace('{', `{${member},`);

attack(
  'hostile reports',
  'got through',
  'more names and values than anybody reads, wherever they are',
  async () => {
    const objects = `[${'{},'.repeat(2000)}{}]`;
    for (const text of [
      withMember(`"x":${objects}`),
      `{"x":{"y":${objects}}}`,
      withMember(`"properties":${objects}`),
    ])
      await refused(text).toThrow('names and values');
    const names = Array.from({ length: 2000 }, (_, nth) => `"n${nth}":0`).join();
    await refused(withMember(`"x":{${names}}`)).toThrow('names and values');
  },
);

attack(
  'hostile reports',
  'got through',
  'nesting that a walk over it could not bear',
  async () => {
    const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(await pruned(withMember(`"x":${deep(19)}`))).toEqual(JSON.parse(LOG));
    await refused(`{"results":[{"extra":{"metadata":{"title":${deep(17)}}}}]}`).toThrow('20 levels');
    await refused(withMember(`"x":${deep(20)}`)).toThrow('20 levels');
    await refused(`[${deep(400)}]`).toThrow('20 levels');
    await refused('['.repeat(60_000)).toThrow('20 levels');
  },
  60_000,
);

attack('hostile reports', 'got through', 'one result, or one run, that holds all of it', async () => {
  const text = `"${'a '.repeat(200)}"`;
  const prints = Array.from({ length: 100 }, (_, nth) => `"p${nth}":${text}`).join();
  const result = `{"ruleId":"r","message":{"text":"x"},"partialFingerprints":{${prints}}}`;
  await refused(`${SARIF_START}${result}${SARIF_END}`).toThrow('a part of more than');
  const rules = Array.from({ length: 100 }, (_, nth) => `{"id":"r${nth}","name":${text}}`).join();
  await refused(LOG.replace('"rules":[', `"rules":[${rules},`)).toThrow('a part of more than');
});

attack('hostile reports', 'got through', 'many results that are large together', async () => {
  const result = `{"ruleId":"r","message":{"text":"${'a '.repeat(500)}"}}`;
  await refused(`${SARIF_START}${Array(30).fill(result).join()}${SARIF_END}`).toThrow('would be kept');
  const runs = Array.from({ length: 6 }, () =>
    LOG.slice(LOG.indexOf('[') + 1, -2).replace('"results":[', `"results":[${Array(9).fill('{}').join()},`),
  );
  await refused(`{"version":"2.1.0","runs":[${runs.join()}]}`).toThrow('more than 50 results');
});

attack('hostile reports', 'got through', 'gzip that unpacks to far more than it is', async () => {
  const limits = { ...SMALL, unpacked: 10_000_000, unsuspicious: 100_000 };
  await expect(pruned(gzipSync(' '.repeat(5_000_000)), limits)).rejects.toThrow('300 times its size');
  await refused(gzipSync(' '.repeat(70_000))).toThrow('unpacks to more than');
  await refused(' '.repeat(70_000)).toThrow('unpacks to more than');
});

describe('a thread that reads reports', () => {
  let reader: ReportReader;
  beforeAll(() => {
    reader = createReportReader(REPORT_LIMITS, 48);
  });
  afterAll(() => reader.close());
  const read = (text: string | Uint8Array, readMs = PATIENCE.readMs, orgId = 'org') =>
    reader.readUpload(
      { bytes: gzipSync(text), named: null, key: 'k', orgId, assetId: 'asset' },
      { ...PATIENCE, readMs },
    );
  const reads = async () =>
    expect((await read(LOG, undefined, 'other')).reports).toMatchObject([{ sets: [{ count: 1 }] }]);

  attack('hostile reports', 'got through', 'a report that takes all of its memory', async () => {
    const results = Array.from(
      { length: 20_000 },
      (_, nth) => `{"ruleId":"r${nth}","message":{"text":"${nth}${'a '.repeat(900)}"}}`,
    );
    await expect(read(`${SARIF_START}${results.join()}${SARIF_END}`)).rejects.toMatchObject({
      code: 'payload_too_large',
      message: 'The report takes more memory to read than is allowed',
    });
    await reads();
  });

  attack(
    'hostile reports',
    'got through',
    'a thousand literals that begin alike, in a message that does too',
    async () => {
      const code = Array.from({ length: 600 }, (_, nth) => `"aaaaaa${'a'.repeat(nth % 40)}${nth}"`).join(' ');
      const results = Array.from({ length: 60 }, (_, nth) => ({
        path: `${nth}.ts`,
        text: 'a'.repeat(8000),
        snippet: code,
      }));
      // Each literal tried at each place takes half a second a message.
      const { reports } = await read(JSON.stringify(sarifLog(results)), 30_000);
      expect(reports).toMatchObject([{ sets: [{ count: 60 }] }]);
    },
  );

  attack('hostile reports', 'got through', 'a report that takes longer than there is time', async () => {
    await expect(read(JSON.stringify(sarifLog(Array(2000).fill({}))), 1)).rejects.toMatchObject({
      code: 'validation_error',
      message: 'The report could not be read within 0.001 seconds',
    });
    await reads();
  });

  attack(
    'hostile reports',
    'got through',
    'an organization’s reports, one after the other, before another’s',
    async () => {
      const many = Array.from({ length: 12 }, () =>
        read(JSON.stringify(sarifLog(Array.from({ length: 3000 }, (_, nth) => ({ path: `${nth}` }))))),
      );
      const ended: string[] = [];
      const all = many.map((one) => one.then(() => void ended.push('hostile')));
      await reads();
      expect(ended.length).toBeLessThan(6);
      await Promise.all(all);
    },
  );
});

attack('hostile reports', 'held', 'literals within literals are taken out as wholes', () => {
  const code = '"secret-1" + "secret-12" + "secret-1234" + "secret-2"';
  expect(withoutLiterals('has secret-12345 and secret-2', code)).toBe('has REDACTED5 and REDACTED');
});

describe('what is kept', () => {
  it('is what JSON.parse makes of it, in whatever pieces it comes', () => {
    fc.assert(
      fc.property(
        fc.json({ maxDepth: 6 }),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        (json, sizes) => {
          const filter = new JsonFilter(ALL, REPORT_LIMITS, () => {});
          const bytes = Buffer.from(json);
          for (let at = 0, nth = 0; at < bytes.length; nth += 1) {
            const size = sizes[nth % sizes.length] ?? 1;
            filter.write(bytes.subarray(at, at + size));
            at += size;
          }
          expect(JSON.parse(filter.end())).toEqual(JSON.parse(json));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is JSON or refused: whatever JSON.parse refuses', () => {
    for (const wrong of [
      '',
      '{',
      '[1,]',
      '{"a":1,}',
      '{"a" 1}',
      '[1 2]',
      '{1:2}',
      '[01]',
      'tru',
      '[nul]',
      '"a',
      '[}',
      '{]',
      '[]]',
      '{"a":}',
      ',',
      '[-]',
      '[1e]',
    ])
      expect(() => {
        const filter = new JsonFilter(ALL, REPORT_LIMITS, () => {});
        filter.write(Buffer.from(wrong));
        filter.end();
      }, wrong).toThrow('is not valid JSON');
  });

  it('is the beginning of a long text, whole characters, and what tells it from another one', async () => {
    const limits = { ...SMALL, text: 101 };
    const textOf = async (text: string) => {
      const report = (await pruned(
        LOG.replace('Something is wrong here', text + 'x'.repeat(3000)),
        limits,
      )) as ReturnType<typeof sarifLog>;
      return report.runs[0]?.results[0]?.message.text ?? '';
    };
    for (const unit of ['é', '😀', '\\u00e9', '\\\\', '\\"', 'ab']) {
      const text = await textOf(unit.repeat(200));
      expect(text).toMatch(/~[0-9a-f]{16}$/);
      expect(text.slice(0, -17)).toBe(
        (JSON.parse(`"${unit.repeat(200)}"`) as string).slice(0, text.length - 17),
      );
      expect(await textOf(`${unit.repeat(200)}y`)).not.toBe(text);
    }
  });

  it('is of a large result what of a small one, and nothing of what no parser reads', async () => {
    const report = LOG.replace('"ruleId":"r"', `"ruleId":"r","codeFlows":[${'{"x":[1,2]},'.repeat(300)}{}]`);
    const [run] = ((await pruned(report, REPORT_LIMITS)) as ReturnType<typeof sarifLog>).runs;
    expect(run?.results).toEqual((JSON.parse(LOG) as ReturnType<typeof sarifLog>).runs[0]?.results);
  });

  it('does not hang on a byte order mark', async () => {
    expect(await pruned(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(LOG)]))).toEqual(
      JSON.parse(LOG),
    );
  });
});
