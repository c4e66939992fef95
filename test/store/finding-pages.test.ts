import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { SCANNERS, SEVERITIES } from '#domain/vocabulary.ts';
import { countedPlace, createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import type { FindingFilter, FindingSort } from '#store/finding-order.ts';
import { createFindingWriteStore } from '#store/finding-writes.ts';
import { createFindingStore } from '#store/findings.ts';
import { countedTable } from '#test/harness/counted-table.ts';
import { sampleAsset, sampleFinding, testAttribution } from '#test/harness/samples.ts';

const { table } = countedTable();
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

describe('pages of findings', () => {
  const filters: [string, FindingFilter, (record: (typeof all)[number]) => boolean][] = [
    ['all', {}, () => true],
    ['of an asset', { assetIds: [asset.id] }, () => true],
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
      const expected = all.filter(fits);
      expect(total).toBe(expected.length);
      expect(seen.map(({ id }) => id).sort()).toEqual(expected.map(({ id }) => id).sort());
      const ranks = seen.map((record) => rank(sort, record));
      // `-severity` is critical first: ranks ascend.
      const ascending = sort === '-severity' || sort === 'created_at';
      expect(ranks).toEqual(ascending ? ranks.toSorted() : ranks.toSorted().reverse());
    }
  });
});
