import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { findings as contract } from '#contract/operations/findings.ts';
import { projects } from '#contract/operations/projects.ts';
import { toOpaque } from '#domain/ids.ts';
import { FINDING_STATUSES, SCANNERS, SEVERITIES } from '#domain/vocabulary.ts';
import type { FindingRecord } from '#store/finding-record.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';

/** Any mix of the parameters against a plain filter over all that is there. */
const DAY = 24 * 3600 * 1000;
const CVES = ['CVE-2026-1000', 'CVE-2026-2000'];
const SLA = { critical: 7, high: 30, medium: 90, low: 180, info: null };

type Known = FindingRecord & { readonly project: string | null; readonly sub: string | null };
let org: TestOrganization;
let all: Known[] = [];
const places: { asset: string; project: string | null; sub: string | null }[] = [];

beforeAll(async () => {
  org = await createTestOrganization();
  const project = async () =>
    (await org.client.call(projects.operations.createProject, { body: { name: randomUUID() } })).id;
  const [one, two] = [await project(), await project()];
  const sub = await org.client.call(projects.operations.createSubProject, {
    params: { project_id: one },
    body: { name: 'sub' },
  });
  const now = Date.now();
  for (const [index, place] of [
    { project: one, sub: null, into: one },
    { project: one, sub: sub.id, into: sub.id },
    { project: two, sub: null, into: two },
    { project: null, sub: null, into: null },
  ].entries()) {
    const { asset, records } = await seedFindings(
      org,
      Array.from({ length: 45 }, (_, nth) => {
        const at = nth * 7 + index * 3;
        return {
          severity: SEVERITIES[at % 5] ?? 'low',
          status: FINDING_STATUSES[(at * 3) % 7] ?? 'open',
          scanner: SCANNERS[(at * 5) % 4] ?? 'trivy',
          cve_id: at % 3 === 0 ? (CVES[at % 2] ?? null) : null,
          // Half an hour from every whole day, so that no boundary passes while the test runs.
          created_at: new Date(now - (at % 200) * DAY - DAY / 48).toISOString(),
        };
      }),
    );
    const id = toOpaque('asset', asset.id);
    if (place.into)
      await org.client.call(projects.operations.assignProjectAssets, {
        params: { project_id: place.into },
        body: { asset_ids: [id] },
      });
    places.push({ asset: id, project: place.project, sub: place.sub });
    all = [...all, ...records.map((record) => ({ ...record, project: place.project, sub: place.sub }))];
  }
});

const some = (values: readonly string[]) =>
  fc.option(fc.subarray([...values], { minLength: 1, maxLength: 3 }));
const query = fc.record({
  severity: some(SEVERITIES),
  status: some(FINDING_STATUSES),
  scanner: some(SCANNERS),
  cve_id: fc.option(fc.constantFrom(...CVES), { freq: 4 }),
  project: fc.option(fc.nat({ max: 2 }), { freq: 2 }),
  sub: fc.option(fc.constant(1), { freq: 5 }),
  asset: fc.option(fc.nat({ max: 3 }), { freq: 3 }),
  age_min: fc.option(fc.nat({ max: 200 }), { freq: 3 }),
  age_max: fc.option(fc.nat({ max: 200 }), { freq: 3 }),
  overdue: fc.option(fc.boolean(), { freq: 3 }),
  sort: fc.constantFrom('severity', '-severity', 'created_at', '-created_at'),
  per_page: fc.integer({ min: 1, max: 100 }),
  page: fc.integer({ min: 1, max: 4 }),
});
type Query = typeof query extends fc.Arbitrary<infer Q> ? Q : never;

function isOverdue(record: Known): boolean {
  const days = SLA[record.severity];
  const live = record.status !== 'resolved' && record.status !== 'suppressed';
  return live && days !== null && Date.parse(record.created_at) + days * DAY <= Date.now();
}

function matches(record: Known, asked: Query): boolean {
  const age = Math.floor((Date.now() - Date.parse(record.created_at)) / DAY);
  const asset = asked.asset === null ? null : places[asked.asset]?.asset;
  return (
    (!asked.severity || asked.severity.includes(record.severity)) &&
    (!asked.status || asked.status.includes(record.status)) &&
    (!asked.scanner || asked.scanner.includes(record.scanner)) &&
    (asked.cve_id === null || record.cve_id === asked.cve_id) &&
    (asked.project === null || record.project === places[asked.project]?.project) &&
    (asked.sub === null || record.sub === places[1]?.sub) &&
    (asset === null || toOpaque('asset', record.asset_id) === asset) &&
    (asked.age_min === null || age >= asked.age_min) &&
    (asked.age_max === null || age <= asked.age_max) &&
    (asked.overdue === null || isOverdue(record) === asked.overdue)
  );
}

function inOrder(a: Known, b: Known, sort: string): number {
  const text = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0);
  const rank = SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity);
  const newest = text(b.created_at, a.created_at) || text(b.id, a.id);
  if (sort === 'created_at') return -newest;
  if (sort === '-created_at') return newest;
  return (sort === '-severity' ? rank : -rank) || newest;
}

describe('GET /api/findings', () => {
  it('answers any mix of its parameters as a plain filter would', async () => {
    await fc.assert(
      fc.asyncProperty(query, async (asked) => {
        const expected = all
          .filter((record) => matches(record, asked))
          .sort((a, b) => inOrder(a, b, asked.sort));
        const optional = {
          severity: asked.severity?.join(','),
          status: asked.status?.join(','),
          scanner: asked.scanner?.join(','),
          cve_id: asked.cve_id ?? undefined,
          project_id: asked.project === null ? undefined : (places[asked.project]?.project ?? undefined),
          sub_project_id: asked.sub === null ? undefined : (places[1]?.sub ?? undefined),
          asset_id: asked.asset === null ? undefined : places[asked.asset]?.asset,
          age_min: asked.age_min ?? undefined,
          age_max: asked.age_max ?? undefined,
          overdue: asked.overdue === null ? undefined : (String(asked.overdue) as 'true' | 'false'),
        };
        const list = await org.client.call(contract.operations.listFindings, {
          query: { ...optional, sort: asked.sort as 'severity', page: asked.page, per_page: asked.per_page },
        });
        const from = (asked.page - 1) * asked.per_page;
        const wanted = expected.slice(from, from + asked.per_page).map(({ id }) => toOpaque('finding', id));
        expect(list.pagination.total).toBe(expected.length);
        expect(list.data.map(({ id }) => id)).toEqual(wanted);
        expect(list.pagination.next_cursor !== null).toBe(
          from + asked.per_page < expected.length && wanted.length > 0,
        );
      }),
      { numRuns: 150 },
    );
  });

  it('shows due dates, and whether they have passed', async () => {
    const list = await org.client.call(contract.operations.listFindings, {
      query: { per_page: 100, overdue: 'true' },
    });
    expect(list.data.length).toBeGreaterThan(10);
    for (const finding of list.data)
      expect(Date.parse(finding.sla_due_at ?? '')).toBeLessThanOrEqual(Date.now());
  });
});
