import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findings } from '#contract/operations/findings.ts';
import { toOpaque } from '#domain/ids.ts';
import { updateScores } from '#shared/feeds/update-scores.ts';
import { createScoreStore } from '#store/vulnerability-scores.ts';
import { countedTable } from '#test/harness/counted-table.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';

/** What the two feeds serve now; a status other than 200 is served without a body. */
const served = { epss: Buffer.alloc(0), kev: Buffer.alloc(0), epssStatus: 200, kevStatus: 200 };
let server: Server;
let base: string;
let org: TestOrganization;
const { table, requestsOf } = countedTable();
const clock = { now: () => Date.now() };

beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === '/moved') {
      response.writeHead(302, { location: '/epss.csv.gz' }).end();
      return;
    }
    const isEpss = request.url === '/epss.csv.gz';
    response.writeHead(isEpss ? served.epssStatus : served.kevStatus);
    response.end(isEpss ? served.epss : served.kev);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  org = await createTestOrganization();
});
afterAll(() => server.close());
beforeEach(() => Object.assign(served, { epssStatus: 200, kevStatus: 200 }));

/** Ids of no other test: scores are everybody's. */
const cve = (nth: number) => `CVE-1999-${88_000_000 + nth}`;
const epssOf = (rows: readonly (readonly [string, number, number])[]) =>
  gzipSync(
    ['#model_version:v2026.01.01,score_date:2026-11-20T00:00:00+0000', 'cve,epss,percentile']
      .concat(rows.map((row) => row.join(',')))
      .join('\n'),
  );
const kevOf = (ids: readonly string[]) =>
  Buffer.from(
    JSON.stringify({ title: 'Known', count: ids.length, vulnerabilities: ids.map((cveID) => ({ cveID })) }),
  );
const many = Array.from({ length: 1000 }, (_, nth) => [cve(nth), (nth % 100) / 100, 0.5] as const);
const run = (epss = '/epss.csv.gz') =>
  updateScores({
    scores: createScoreStore(table),
    epssUrl: `${base}${epss}`,
    kevUrl: `${base}/kev.json`,
    clock,
  });

async function shown(id: string) {
  const { records } = await seedFindings(org, [
    { cve_id: id, scanner: 'grype', epss_score: 0.001, epss_percentile: 0.01, kev: false },
  ]);
  const params = { finding_id: toOpaque('finding', records[0]?.id ?? '') };
  const one = await org.client.call(findings.operations.getFinding, { params });
  const list = await org.client.call(findings.operations.listFindings, {
    query: { cve_id: id, sort: '-created_at' },
  });
  expect(list.data[0]).toEqual(one);
  return { epss: one.epss_score, percentile: one.epss_percentile, kev: one.kev };
}

describe('the vulnerability feeds', () => {
  it('are what findings show, in place of what their scanner said', async () => {
    served.epss = epssOf(many);
    served.kev = kevOf([cve(7), cve(2000)]);
    expect(await run()).toMatchObject({ epss: 1000, kev: 2 });
    expect(await shown(cve(42))).toEqual({ epss: 0.42, percentile: 0.5, kev: false });
    expect(await shown(cve(7))).toEqual({ epss: 0.07, percentile: 0.5, kev: true });
    // Known to be exploited, and without a score: the scanner's stays.
    expect(await shown(cve(2000))).toEqual({ epss: 0.001, percentile: 0.01, kev: true });
    expect(await shown(cve(9999))).toEqual({ epss: 0.001, percentile: 0.01, kev: false });
  });

  it('write nothing where nothing changed, and one item for one change', async () => {
    served.epss = epssOf(many);
    served.kev = kevOf([cve(7), cve(2000)]);
    await run();
    expect(await run()).toMatchObject({ shards: 0 });
    served.epss = epssOf(many.map((row, nth) => (nth === 3 ? [row[0], 0.99, 0.9] : row)));
    expect(await run()).toMatchObject({ shards: 1 });
    expect(await shown(cve(3))).toMatchObject({ epss: 0.99 });
    // 82 reads of a hundred items, the sizes read and written, and one write.
    expect(await requestsOf(run)).toBe(84);
  });

  it.each([
    ['that answers an error', () => (served.epssStatus = 503)],
    ['that is empty', () => (served.epss = epssOf([]))],
    ['that lost more than half', () => (served.epss = epssOf(many.slice(0, 400)))],
    ['that is torn', () => (served.epss = epssOf(many).subarray(0, 900))],
    ['that is a page of something else', () => (served.epss = Buffer.from('<html>sorry</html>'))],
  ])('keep what they had of a feed %s, and take the other', async (_, spoil) => {
    served.epss = epssOf(many);
    served.kev = kevOf([cve(7), cve(8)]);
    await run();
    spoil();
    served.kev = kevOf([cve(7), cve(8), cve(50)]);
    await expect(run()).rejects.toMatchObject({ name: 'FeedError' });
    expect(await shown(cve(50))).toEqual({ epss: 0.5, percentile: 0.5, kev: true });
    served.epss = epssOf(many);
    served.kev = Buffer.from('{"vulnerabilities": 5}');
    await expect(run()).rejects.toMatchObject({ name: 'FeedError' });
    expect(await shown(cve(50))).toMatchObject({ kev: true });
  });

  it('follow a redirect, pass over lines that are no scores, and forget what is named no more', async () => {
    served.epss = epssOf([
      ...many.slice(1),
      ['CVE-bad', 0.5, 0.5],
      [cve(3000), 7, 0.5],
      [cve(3001), Number.NaN, 1],
    ]);
    served.kev = kevOf([cve(8), cve(50)]);
    expect(await run('/moved')).toMatchObject({ epss: 999, kev: 2 });
    expect(await shown(cve(0))).toEqual({ epss: 0.001, percentile: 0.01, kev: false });
    expect(await shown(cve(7))).toMatchObject({ kev: false });
  });
});
