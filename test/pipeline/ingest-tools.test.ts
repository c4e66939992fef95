import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { createIds } from '#domain/ids.ts';
import { originOf } from '#domain/origin.ts';
import { submitImport } from '#functions/imports/submit-import.ts';
import { goOn } from '#functions/reevaluate-findings/stretch.ts';
import { ingestDependenciesOf } from '#shared/ingest/dependencies.ts';
import { ingestReport } from '#shared/ingest/ingest.ts';
import { zipLines } from '#shared/ingest/report-lines.ts';
import { sourceOf } from '#shared/ingest/report-source.ts';
import { readReportedSets } from '#shared/ingest/reported-set.ts';
import { parseSarif } from '#shared/reports/sarif.ts';
import type { AssetRecord } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { ofAsset } from '#store/finding-order.ts';
import { createTriageStore } from '#store/finding-triage.ts';
import { createImportStore } from '#store/imports.ts';
import { createOrganizationPurge } from '#store/organization-purge.ts';
import { createRecordDeletions } from '#store/record-deletions.ts';
import type { ReevaluationCursor } from '#store/reevaluations.ts';
import type { RunRef } from '#store/runs.ts';
import { countedTable } from '#test/harness/counted-table.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { sampleAsset, testAttribution } from '#test/harness/samples.ts';
import { sarifLog } from '#test/harness/sarif.ts';
import { storedItems } from '#test/harness/stored-items.ts';

const { table, requestsOf } = countedTable();
const counters = createCounterStore(table, 1);
const clock = { at: Date.now(), now: () => clock.at };
const stores = {
  ...ingestDependenciesOf(table, counters, {
    REPORT_BUCKET_URL: inject('service').bucketUrl,
    POLICY_ASSETS_DIR: '',
  }),
  imports: createImportStore(table),
  clock,
};
const deletions = createRecordDeletions(table, stores.assets, counters);
const codeql = originOf('semgrep', 'CodeQL');

let org: TestOrganization;
let asset: AssetRecord;
beforeAll(async () => {
  org = await createTestOrganization();
});

async function freshAsset(): Promise<void> {
  asset = sampleAsset();
  await stores.assets.create(org.orgId, asset, testAttribution(clock.at));
}

/** What two tools report in the place of Semgrep: so many findings each. */
function reported(count: number) {
  const paths = Array.from({ length: count }, (_, index) => ({ path: `${index}.ts` }));
  const runs = ['CodeQL', 'ESLint'].flatMap((tool) => sarifLog(paths, tool).runs);
  const [report] = parseSarif({ version: '2.1.0', runs }, 'a key', 'semgrep');
  if (!report) throw new Error('nothing was reported');
  return report;
}

/** An import of it, up to the point where it waits in the bucket. */
async function accepted(count: number): Promise<RunRef> {
  const ref = { orgId: org.orgId, scanId: randomUUID(), assetId: asset.id, runId: randomUUID() };
  const reports = [{ scanner: 'semgrep' as const, count: 2 * count }];
  await stores.imports.create(
    { ref, branch: null, isDefault: true, becomesDefault: false, reports, idempotency: null },
    testAttribution(clock.at),
  );
  await stores.bucket.write(
    { ...ref, scanner: 'semgrep', format: 'findings' },
    await zipLines(reported(count)),
  );
  return ref;
}

/** As the reader hands it over. */
async function readOf(report: ReturnType<typeof reported>) {
  const sets = await readReportedSets(
    { ref: { orgId: org.orgId, assetId: asset.id }, scanner: 'semgrep' },
    sourceOf(report),
  );
  const { scanner, incomplete } = report;
  const read = sets.map(({ origin, counts, digest, entries }) => ({
    origin,
    counts,
    digest,
    count: entries.size,
  }));
  return {
    reports: [{ scanner, incomplete, unread: [], hides: false, sets: read }],
    lines: zipLines(report).then((lines) => [lines]),
  };
}

const ingest = (ref: RunRef) =>
  ingestReport(
    {
      org_id: ref.orgId,
      scan_id: ref.scanId,
      asset_id: ref.assetId,
      run_id: ref.runId,
      scanner: 'semgrep',
      format: 'findings',
    },
    stores,
  );
const stateOf = async (ref: RunRef) =>
  (await stores.runs.get(ref.orgId, ref.scanId, ref.assetId))?.states.semgrep;

/** What the asset has by origin: heads, chunks and marks. */
const byOrigin = async () =>
  (await storedItems())
    .map(({ pk, sk }) => `${pk} / ${sk}`)
    .filter((key) => /MANIFEST#|#CHUNKS#|#REVISIT#/.test(key) && key.includes(asset.id));

/** A person resolves a finding of CodeQL's that is still reported: it gets a mark. */
async function resolveOne(): Promise<void> {
  const { ids } = await stores.findings.listIds(
    org.orgId,
    { places: [ofAsset(asset.id)] },
    'created_at',
    0,
    100,
  );
  const record = (await stores.findings.getMany(org.orgId, ids)).find(({ tool }) => tool === 'CodeQL');
  if (!record) throw new Error('CodeQL found nothing');
  await createTriageStore(table, counters).changeTogether(
    org.orgId,
    [{ record, asset }],
    (held) => ({ ...held, status: 'resolved', status_set_by: 'person' }),
    'finding.update',
    testAttribution(clock.at),
  );
}

describe('a report of several tools', () => {
  it('waits for the one that is being ingested, and counts what was done before once', async () => {
    await freshAsset();
    const ref = await accepted(3);
    const eslint = originOf('semgrep', 'ESLint');
    await stores.manifests.lease(org.orgId, asset.id, eslint, 'somebody', clock.at);
    await expect(ingest(ref)).rejects.toMatchObject({ name: 'ManifestBusy' });
    expect(await stateOf(ref)).toMatchObject({ status: 'reported', result: { new_count: 3 } });
    await stores.manifests.release(org.orgId, asset.id, eslint, 'somebody');
    await ingest(ref);
    expect(await stateOf(ref)).toMatchObject({
      status: 'completed',
      result: {
        new_count: 6,
        manifests: [
          { origin: codeql, count: 3 },
          { origin: eslint, count: 3 },
        ],
      },
    });
  });

  it('that is unchanged costs two requests a tool, and what it cost before', async () => {
    await freshAsset();
    const ref = await accepted(3);
    await ingest(ref);
    const scan = await stores.scans.get(org.orgId, ref.scanId);
    if (scan) await stores.scans.finish(org.orgId, scan, 'completed', testAttribution(clock.at));
    const both = reported(3);
    const one = {
      ...both,
      tools: ['CodeQL'],
      findings: both.findings.filter(({ tool }) => tool === 'CodeQL'),
    };
    const submitted = async (report: typeof both) =>
      submitImport(
        org.orgId,
        asset,
        { read: await readOf(report), branch: null, idempotencyKey: null },
        testAttribution(clock.at),
        {
          ...stores,
          reader: { readUpload: () => Promise.reject(new Error('it was read before')) },
          ids: createIds(clock),
          importRequests: { send: () => Promise.reject(new Error('not unchanged')) },
          readFingerprintSecret: async () => 'unused',
        },
      );
    expect(await requestsOf(() => submitted(one))).toBe(4);
    expect(await requestsOf(() => submitted(both))).toBe(6);
  });

  it('is gone through by a re-evaluation, and goes on where that was cut off', async () => {
    await freshAsset();
    await ingest(await accepted(3));
    const looked: string[] = [];
    const cursors: ReevaluationCursor[] = [];
    const readExisting = async (orgId: string, ids: readonly string[]) => {
      const held = await stores.writes.readExisting(orgId, ids);
      looked.push(...held.map(({ tool, location }) => `${tool} ${location.path}`));
      return held;
    };
    const goFrom = (cursor: ReevaluationCursor | null, turns: number) =>
      goOn(
        {
          ref: { orgId: org.orgId, assetId: asset.id },
          cursor,
          keepGoing: () => cursors.length < turns,
          save: async (reached) => void cursors.push(reached),
        },
        { ...stores, judged: { has: async () => true }, writes: { ...stores.writes, readExisting } },
      );
    const first = await goFrom(null, 1);
    expect(looked).toHaveLength(3);
    if (first.kind === 'done') throw new Error('it was not cut off');
    await goFrom(first.cursor, 9);
    const expected = ['CodeQL', 'ESLint'].flatMap((tool) => [0, 1, 2].map((n) => `${tool} ${n}.ts`));
    expect(looked.toSorted()).toEqual(expected);
  });

  it('leaves nothing behind when the asset is deleted', async () => {
    await freshAsset();
    await ingest(await accepted(3));
    await resolveOne();
    expect((await byOrigin()).filter((key) => key.includes(codeql))).toHaveLength(3);
    await deletions.beginAsset(org.orgId, asset.id, testAttribution(clock.at));
    const turn = () =>
      deletions.continueAsset(
        org.orgId,
        asset.id,
        clock.at,
        () => true,
        async () => true,
      );
    await turn();
    await turn();
    expect(await byOrigin()).toEqual([]);
  });

  it('leaves nothing behind when the organization is deleted', async () => {
    org = await createTestOrganization();
    await freshAsset();
    await ingest(await accepted(3));
    await resolveOne();
    expect((await byOrigin()).length).toBeGreaterThan(3);
    const purge = createOrganizationPurge(table);
    await purge.begin(org.orgId, `gone-${org.orgId}`, testAttribution(clock.at));
    expect(await purge.continue(org.orgId, () => true)).toBe(true);
    expect(await byOrigin()).toEqual([]);
  });
});
