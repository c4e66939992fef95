import fc from 'fast-check';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { assets } from '#contract/operations/assets.ts';
import { findings as contract } from '#contract/operations/findings.ts';
import { imports } from '#contract/operations/imports.ts';
import { scans } from '#contract/operations/scans.ts';
import { toOpaque } from '#domain/ids.ts';
import { FINDING_STATUSES, type FindingStatus, SEVERITIES, type Severity } from '#domain/vocabulary.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createRecounting } from '#store/recount.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import { sampleAsset, testAttribution } from '#test/harness/samples.ts';
import { sarifLog } from '#test/harness/sarif.ts';
import { awaitScan } from '#test/harness/scanning.ts';

/** Histories of imports and triage over the API, against the rules of the design in words of the test's own. */
const PLACES = 8;
const SCORES: Record<Severity, string> = {
  critical: '9.5',
  high: '7.5',
  medium: '5.0',
  low: '2.0',
  info: '0.0',
};

interface Held {
  status: FindingStatus;
  severity: Severity;
  reported: boolean;
  notes: string | null;
}
type Model = Map<number, Held>;

type Step =
  | { readonly kind: 'import'; readonly report: ReadonlyMap<number, Severity> }
  | { readonly kind: 'patch'; readonly place: number; readonly status: FindingStatus }
  | { readonly kind: 'note'; readonly place: number; readonly notes: string | null }
  | { readonly kind: 'suppress'; readonly place: number }
  | { readonly kind: 'reopen'; readonly place: number }
  | { readonly kind: 'bulk'; readonly status: FindingStatus }
  | { readonly kind: 'deleteScan' }
  | { readonly kind: 'deleteAsset' };

/** Where a history happens: one asset after the other, as each is deleted. */
interface Scene {
  asset: string;
  /** Scans of the asset that have ended. */
  scans: string[];
}

const place = fc.nat({ max: PLACES - 1 });
const status = fc.constantFrom(...FINDING_STATUSES);
const report = fc
  .array(fc.tuple(place, fc.constantFrom(...SEVERITIES)), { maxLength: PLACES })
  .map((entries) => new Map(entries));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: report.map((of) => ({ kind: 'import' as const, report: of })) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('patch' as const), place, status }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('note' as const),
      place,
      notes: fc.option(fc.constantFrom('a', 'b')),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('suppress' as const), place }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const), place }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('bulk' as const), status }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'deleteScan' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'deleteAsset' as const }) },
);

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

async function freshAsset(): Promise<string> {
  const asset = sampleAsset();
  const store = createAssetStore(testTable(), createCounterStore(testTable(), 1));
  await store.create(org.orgId, asset, testAttribution());
  return toOpaque('asset', asset.id);
}

async function listAll(asset: string) {
  const query = { asset_id: asset, per_page: 100, sort: 'created_at' as const };
  return (await org.client.call(contract.operations.listFindings, { query })).data;
}
const placeOf = (finding: { location: { path: string } }) => Number(finding.location.path.slice(1));
const isLive = (of: FindingStatus) => of !== 'resolved' && of !== 'suppressed';

/** What the rules make of a step. */
function follow(model: Model, one: Step): void {
  if (one.kind === 'import') {
    for (const [at, severity] of one.report) {
      const held = model.get(at);
      const next = held?.status === 'resolved' ? 'reopened' : (held?.status ?? 'open');
      model.set(at, { status: next, severity, reported: true, notes: held?.notes ?? null });
    }
    for (const [at, held] of model) {
      if (one.report.has(at)) continue;
      held.reported = false;
      if (isLive(held.status)) held.status = 'resolved';
    }
    return;
  }
  if (one.kind === 'bulk') {
    for (const held of model.values()) held.status = one.status;
    return;
  }
  // What a scan found is the asset's, and stays.
  if (one.kind === 'deleteScan') return;
  if (one.kind === 'deleteAsset') {
    model.clear();
    return;
  }
  const held = model.get(one.place);
  if (!held) return;
  if (one.kind === 'patch') held.status = one.status;
  if (one.kind === 'note') held.notes = one.notes;
  if (one.kind === 'suppress') held.status = 'suppressed';
  if (one.kind === 'reopen' && held.status === 'suppressed') held.status = 'reopened';
}

async function importReport(asset: string, of: ReadonlyMap<number, Severity>) {
  const results = [...of].map(([at, severity]) => ({ path: `p${at}`, score: SCORES[severity] }));
  const { id } = await org.client.call(imports.operations.importFindings, {
    params: { asset_id: asset },
    query: { scanner: 'semgrep' },
    upload: JSON.stringify(sarifLog(results)),
    headers: { 'content-type': 'application/json' },
  });
  const scan = await awaitScan(org, id);
  expect(scan.status).toBe('completed');
  return scan;
}

/** Carries a step out; what can't be (nothing there, nothing to reopen) is told by the API, not by us. */
async function carryOut(scene: Scene, one: Step): Promise<void> {
  const { asset } = scene;
  try {
    await act(scene, one);
  } catch (error) {
    // Somebody deleted it meanwhile.
    if (scene.asset === asset) throw error;
  }
}

async function act(scene: Scene, one: Step): Promise<void> {
  const { asset } = scene;
  if (one.kind === 'import') {
    const { id } = await importReport(asset, one.report);
    if (scene.asset === asset) scene.scans.push(id);
    return;
  }
  if (one.kind === 'deleteScan') {
    const scan_id = scene.scans.shift();
    if (scan_id) await org.client.call(scans.operations.deleteScan, { params: { scan_id } });
    return;
  }
  if (one.kind === 'deleteAsset') {
    Object.assign(scene, { asset: await freshAsset(), scans: [] });
    await org.client.call(assets.operations.deleteAsset, { params: { asset_id: asset } }).catch(unlessBusy);
    return;
  }
  if (one.kind === 'bulk') {
    const body = { filter: { asset_id: asset }, update: { status: one.status } };
    await org.client.call(contract.operations.bulkUpdateFindings, { body });
    return;
  }
  const found = (await listAll(asset)).find((finding) => placeOf(finding) === one.place);
  if (!found) return;
  const params = { finding_id: found.id };
  if (one.kind === 'patch')
    await org.client.call(contract.operations.updateFinding, { params, body: { status: one.status } });
  if (one.kind === 'note')
    await org.client.call(contract.operations.updateFinding, { params, body: { notes: one.notes } });
  if (one.kind === 'suppress') await org.client.call(contract.operations.suppressFinding, { params });
  if (one.kind === 'reopen')
    await org.client.call(contract.operations.reopenFinding, { params }).catch((error: { code?: string }) => {
      if (error.code !== 'conflict') throw error;
    });
}

/** An asset whose findings are being written all the time answers that it is. */
function unlessBusy(error: { code?: string }): void {
  if (error.code !== 'conflict') throw error;
}

/** No duplicate, and every count what a recount gives: of the asset, and of the organization. */
async function expectExactCounts(ofAssets: readonly string[]): Promise<void> {
  const lists = await Promise.all(ofAssets.map(listAll));
  const table = testTable();
  const counters = createCounterStore(table, inject('service').lanes);
  const { differences } = await createRecounting(table, createAssetStore(table, counters), counters).recount(
    org.orgId,
  );
  expect(differences).toEqual([]);
  for (const [index, asset_id] of ofAssets.entries()) {
    const list = lists[index] ?? [];
    expect(new Set(list.map(placeOf)).size).toBe(list.length);
    const summary = await org.client.call(contract.operations.getFindingSummary, { query: { asset_id } });
    expect(summary.total).toBe(list.length);
    for (const of of FINDING_STATUSES)
      expect([of, summary.by_status[of]]).toEqual([of, list.filter((one) => one.status === of).length]);
    for (const of of SEVERITIES)
      expect([of, summary.by_severity[of]]).toEqual([of, list.filter((one) => one.severity === of).length]);
  }
}

describe('histories', () => {
  it('of one actor leave exactly what the rules say', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (history) => {
        const scene: Scene = { asset: await freshAsset(), scans: [] };
        const model: Model = new Map();
        for (const one of history) {
          await carryOut(scene, one);
          follow(model, one);
        }
        const { asset } = scene;
        const shown = (await listAll(asset)).map((finding) => [
          placeOf(finding),
          { status: finding.status, severity: finding.severity, notes: finding.notes },
        ]);
        const expected = [...model].map(([at, { reported: _, ...held }]) => [at, held]);
        const sorted = (entries: unknown[][]) => entries.toSorted((a, b) => Number(a[0]) - Number(b[0]));
        expect(sorted(shown)).toEqual(sorted(expected));
        await expectExactCounts([asset]);
      }),
      { numRuns: 25 },
    );
  });

  it('of many actors at once lose nothing, double nothing, and keep what people said', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 2, maxLength: 5 }), { minLength: 1, maxLength: 4 }),
        report,
        async (rounds, last) => {
          const scenes: Scene[] = [
            { asset: await freshAsset(), scans: [] },
            { asset: await freshAsset(), scans: [] },
          ];
          const seen = new Map<string, Set<number>>();
          for (const round of rounds) {
            await Promise.all(
              round.map(async (one, index) => {
                const scene = scenes[index % scenes.length] ?? { asset: '', scans: [] };
                const places = seen.get(scene.asset) ?? new Set();
                if (one.kind === 'import') for (const key of one.report.keys()) places.add(key);
                seen.set(scene.asset, places);
                await carryOut(scene, one);
              }),
            );
          }
          const left = scenes.map(({ asset }) => asset);
          await expectExactCounts(left);
          for (const asset of left) {
            const before = await listAll(asset);
            expect(new Set(before.map(placeOf))).toEqual(seen.get(asset) ?? new Set());
            // Whatever came before: the next complete run settles every status.
            await importReport(asset, last);
            const after = await listAll(asset);
            for (const finding of after) {
              const held = before.find(({ id }) => id === finding.id);
              const reported = last.has(placeOf(finding));
              expect(finding.notes).toBe(held?.notes ?? null);
              if (held?.status === 'suppressed') expect(finding.status).toBe('suppressed');
              else expect(finding.status === 'resolved').toBe(!reported);
            }
          }
          await expectExactCounts(left);
        },
      ),
      { numRuns: 12 },
    );
  });

  it('two overlapping runs store the same, whichever comes first', async () => {
    await fc.assert(
      fc.asyncProperty(report, report, async (one, two) => {
        const stored = async (...order: ReadonlyMap<number, Severity>[]) => {
          const asset = await freshAsset();
          await Promise.all(order.map((of) => importReport(asset, of)));
          // An identical rescan settles which one is the last, and changes nothing when repeated.
          await importReport(asset, two);
          const settled = await listAll(asset);
          const again = await importReport(asset, two);
          expect(again).toMatchObject({ new_count: 0, resolved_count: 0 });
          const repeated = await listAll(asset);
          expect(repeated).toEqual(
            settled.map((finding) => ({
              ...finding,
              last_seen_scan_id: two.has(placeOf(finding)) ? again.id : finding.last_seen_scan_id,
            })),
          );
          return settled
            .map((finding) => [placeOf(finding), finding.severity, finding.status === 'resolved'])
            .sort();
        };
        const first = await stored(one, two);
        const second = await stored(two, one);
        // Severities of what only the first run reported can differ by nothing: it was written once.
        expect(second).toEqual(first);
      }),
      { numRuns: 5 },
    );
  });
});
