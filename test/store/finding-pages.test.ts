import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { FINDING_STATUSES, SCANNERS, SEVERITIES } from '#domain/vocabulary.ts';
import { countedPlace, createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import {
  type FindingFilter,
  type FindingSort,
  fromWords,
  ofAsset,
  type Position,
  toWords,
} from '#store/finding-order.ts';
import { createFindingWriteStore } from '#store/finding-writes.ts';
import { createFindingStore } from '#store/findings.ts';
import { countedTable } from '#test/harness/counted-table.ts';
import { sampleAsset, sampleFinding, testAttribution } from '#test/harness/samples.ts';

const { table, requestsOf } = countedTable();
const counters = createCounterStore(table, 1);
const findings = createFindingStore(table, counters);
const writes = createFindingWriteStore(table, counters);

const orgId = randomUUID();
const asset = sampleAsset();
/** As ingests leave them: hundreds of findings share one time, over all severities and scanners. */
const TIMES = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z', '2026-01-03T00:00:00.000Z'];
const all = Array.from({ length: 450 }, (_, index) =>
  sampleFinding(orgId, asset.id, {
    severity: SEVERITIES[index % 5] ?? 'low',
    scanner: SCANNERS[index % 4] ?? 'trivy',
    created_at: TIMES[index % 3] ?? '',
    cve_id: index % 2 === 0 ? 'CVE-2026-1234' : null,
  }),
);

beforeAll(async () => {
  await createAssetStore(table, counters).create(orgId, asset, testAttribution());
  await writes.createAll({ orgId, place: countedPlace(asset), guards: [] }, all);
});

const rank = (sort: FindingSort, record: (typeof all)[number]) =>
  sort.endsWith('severity') ? String(SEVERITIES.indexOf(record.severity)) : record.created_at;

async function walk(filter: FindingFilter, sort: FindingSort, take: number) {
  const seen: (typeof all)[number][] = [];
  for (let skip = 0; ; skip += take) {
    const page = await findings.listPage(orgId, filter, sort, { skip, take, after: null });
    expect(page.total).toBeGreaterThanOrEqual(seen.length);
    seen.push(...page.records);
    if (page.records.length === 0) return { seen, total: page.total };
  }
}

/** A project of many assets, each with a few findings, among others. */
const many = Array.from({ length: 40 }, () => sampleAsset());
const ofMany = many.flatMap(({ id }, index) =>
  Array.from({ length: 1 + (index % 4) }, (_, nth) =>
    sampleFinding(orgId, id, {
      severity: SEVERITIES[(index + nth) % 3] ?? 'low',
      scanner: SCANNERS[nth % 4] ?? 'trivy',
      created_at: TIMES[(index + nth) % 3] ?? '',
    }),
  ),
);

describe('pages of the findings of many assets', () => {
  beforeAll(async () => {
    for (const one of many) {
      await createAssetStore(table, counters).create(orgId, one, testAttribution());
      const own = ofMany.filter(({ asset_id }) => asset_id === one.id);
      await writes.createAll({ orgId, place: countedPlace(one), guards: [] }, own);
    }
  });
  const filter = { places: many.map(({ id }) => ofAsset(id)) };

  it.each(['severity', '-severity', 'created_at', '-created_at'] as const)(
    'hold every finding once, in order, by number and by cursor: by %s',
    async (sort) => {
      const { seen, total } = await walk(filter, sort, 13);
      expect(total).toBe(ofMany.length);
      expect(seen.map(({ id }) => id).sort()).toEqual(ofMany.map(({ id }) => id).sort());
      const ranks = seen.map((record) => rank(sort, record));
      const ascending = sort === '-severity' || sort === 'created_at';
      expect(ranks).toEqual(ascending ? ranks.toSorted() : ranks.toSorted().reverse());
      expect(await walkByCursor(filter, sort, 13)).toEqual(seen.map(({ id }) => id));
    },
  );

  it('cost a few requests, not one for each asset', async () => {
    const requests = await requestsOf(() =>
      findings.listPage(orgId, filter, '-severity', { skip: 0, take: 20, after: null }),
    );
    expect(requests).toBeLessThanOrEqual(12);
  });
});

async function walkByCursor(filter: FindingFilter, sort: FindingSort, take: number): Promise<string[]> {
  const ids: string[] = [];
  for (let after: Position | null = null; ; ) {
    const { placed } = await findings.listPage(orgId, filter, sort, { skip: 0, take, after });
    ids.push(...placed.map(({ id }) => id));
    const last = placed.at(-1);
    if (!last || placed.length < take) return ids;
    after = fromWords(sort, toWords(sort, last));
  }
}

describe('a severity of more cells than are merged at once', () => {
  const own = randomUUID();
  const place = sampleAsset();
  const every = FINDING_STATUSES.flatMap((status) =>
    SCANNERS.map((scanner) => sampleFinding(own, place.id, { status, scanner, severity: 'high' })),
  );
  beforeAll(async () => {
    await createAssetStore(table, counters).create(own, place, testAttribution());
    await writes.createAll({ orgId: own, place: countedPlace(place), guards: [] }, every);
  });

  it.each([{}, { places: [ofAsset(place.id)] }, { severity: ['high' as const] }])(
    'is whole: %j',
    async (filter) => {
      for (const sort of ['severity', '-severity', 'created_at', '-created_at'] as const) {
        const window = { skip: 0, take: 100, after: null };
        const { records, total } = await findings.listPage(own, filter, sort, window);
        expect([records.length, total]).toEqual([28, 28]);
      }
    },
  );
});

describe('pages of findings', () => {
  it.each(['severity', '-severity', 'created_at', '-created_at'] as const)(
    'go on by cursor as they do by number: by %s',
    async (sort) => {
      for (const filter of [
        { places: [ofAsset(asset.id)] },
        { places: [ofAsset(asset.id)], cveId: 'CVE-2026-1234' },
      ])
        expect(await walkByCursor(filter, sort, 31)).toEqual(
          (await walk(filter, sort, 31)).seen.map(({ id }) => id),
        );
    },
  );

  const filters: [string, FindingFilter, (record: (typeof all)[number]) => boolean][] = [
    ['all', {}, () => true],
    ['of an asset', { places: [ofAsset(asset.id)] }, ({ asset_id }) => asset_id === asset.id],
    [
      'of two severities',
      { severity: ['critical', 'low'] },
      ({ severity }) => severity === 'critical' || severity === 'low',
    ],
    ['of a CVE', { cveId: 'CVE-2026-1234' }, ({ cve_id }) => cve_id !== null],
  ];
  const cases = filters.flatMap(([name, filter, fits]) =>
    (['severity', '-severity', 'created_at', '-created_at'] as const).map(
      (sort) => [name, sort, filter, fits] as const,
    ),
  );

  it.each(cases)('hold every finding once, in order: %s by %s', async (_, sort, filter, fits) => {
    for (const take of [7, 100]) {
      const { seen, total } = await walk(filter, sort, take);
      const expected = [...all, ...ofMany].filter(fits);
      expect(total).toBe(expected.length);
      expect(seen.map(({ id }) => id).sort()).toEqual(expected.map(({ id }) => id).sort());
      const ranks = seen.map((record) => rank(sort, record));
      // `-severity` is critical first: ranks ascend.
      const ascending = sort === '-severity' || sort === 'created_at';
      expect(ranks).toEqual(ascending ? ranks.toSorted() : ranks.toSorted().reverse());
    }
  });
});
