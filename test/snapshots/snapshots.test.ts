import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auth } from '#contract/operations/auth.ts';
import { findings } from '#contract/operations/findings.ts';
import { imports } from '#contract/operations/imports.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { scans } from '#contract/operations/scans.ts';
import type { EmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { type Client, createClient } from '#shared/client/client.ts';
import * as keys from '#store/keys.ts';
import { createTable, type Key, type Table } from '#store/table.ts';
import { allItems } from '#test/harness/stored-items.ts';
import { startTestCloud } from '#test/harness/test-cloud.ts';
import { readSnapshots, type Snapshot } from './snapshot.ts';
import { walkReads } from './walk.ts';

/** Kinds of items that no snapshot needs to have, and why. */
const PASSING_KINDS: Readonly<Record<string, string>> = {
  rateKey: 'counts of requests, for an hour',
  sessionKey: 'a session ends by itself; the next version signs in anew',
  scanLockKey: 'while a scan runs',
  queuedScanKey: 'while a scan waits',
  waitingRunKey: 'while a run waits',
  activeScanKey: 'while a scan runs',
  runnerPlaceKey: 'while a run runs',
  runnerTurnKey: 'while runs wait for places',
  importingKey: 'while an import waits',
  pendingExportKey: 'while an export is written',
  deletionKey: 'while something is being deleted',
  deletedRunsKey: 'while a scan is being deleted',
  deletingAssetsKey: 'while an asset is being deleted',
  scoresKey: 'written anew every day from public feeds',
  SCORE_SIZES_KEY: 'written anew every day from public feeds',
};

describe.each(readSnapshots())('data that version %s wrote', (_, snapshot) => {
  let folder: string;
  let cloud: EmbeddedCloud;
  let table: Table;
  let client: Client;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'aspm-upgrade-'));
    const dataDir = join(folder, 'data');
    await mkdir(dataDir, { mode: 0o700 });
    await writeFile(join(dataDir, 'secrets.json'), JSON.stringify(snapshot.secrets), { mode: 0o600 });
    cloud = await startTestCloud({
      port: 0,
      inMemory: false,
      dataDir,
      env: {
        ASPM_ADMIN_EMAIL: 'operator@example.com',
        ASPM_ALLOW_PRIVATE_ADDRESSES: '1',
        ASPM_RATE_LIMIT_FACTOR: '1000',
      },
    });
    table = createTable(process.env.TABLE_NAME ?? '', new DynamoDBClient({}));
    await table.putAll(snapshot.items);
    const { admin, ids } = snapshot;
    const pair = await createClient({ url: cloud.url }).call(auth.operations.login, {
      body: { ...admin, org_id: ids.org_id ?? '' },
    });
    client = createClient({ url: cloud.url, credential: pair.access_token, strict: true });
  });
  afterAll(async () => {
    await cloud?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const list = () => client.call(findings.operations.listFindings, { query: { per_page: 100 } });
  const reads = () => walkReads(cloud.url, snapshot.key, snapshot.ids);

  it('is read as it was then', async () => {
    const now = await reads();
    for (const [operation, then] of Object.entries(snapshot.reads)) {
      expect(then.status, operation).toBe(200);
      // Whatever is new beside it; the sign-in of this test is in the audit log, too.
      if (operation === 'listAuditLog')
        expect(JSON.stringify(now[operation]?.body)).toContain('finding.suppress');
      else expect(now[operation], operation).toMatchObject(then);
    }
  });

  it('is reported again without a change', async () => {
    const before = await list();
    expect(before.data.length).toBeGreaterThan(4);
    const upload = new TextEncoder().encode(JSON.stringify(snapshot.report));
    const { id } = await client.call(imports.operations.importFindings, {
      params: { asset_id: snapshot.ids.asset_id ?? '' },
      upload,
      headers: { 'content-type': 'application/json' },
    });
    const read = () => client.call(scans.operations.getScan, { params: { scan_id: id } });
    await expect.poll(async () => (await read()).finished_at, { timeout: 60_000 }).not.toBeNull();
    expect(await read()).toMatchObject({ status: 'completed' });
    expect((await list()).data.map(seen)).toEqual(before.data.map(seen));
    expect(await summary()).toEqual(snapshot.reads.getFindingSummary?.body);
  });

  it('is triaged', async () => {
    const params = { finding_id: snapshot.ids.finding_id ?? '' };
    await client.call(findings.operations.updateFinding, { params, body: { status: 'confirmed' } });
    expect(await client.call(findings.operations.getFinding, { params })).toMatchObject({
      status: 'confirmed',
    });
  });

  it('is deleted, with nothing left behind', async () => {
    const { org_id = '' } = snapshot.ids;
    const left = async () =>
      (await allItems(table))
        .filter((item) => JSON.stringify(item).includes(org_id))
        .map(({ pk, sk }) => `${pk} / ${sk}`);
    expect((await left()).length).toBeGreaterThan(100);
    await client.call(organizations.operations.deleteOrganization, { params: { org_id } });
    await expect.poll(left, { timeout: 60_000, interval: 250 }).toEqual([]);
  });

  const summary = () => client.call(findings.operations.getFindingSummary);
});

/** A finding but for when it was last seen, and by which scan. */
function seen({ last_seen_at: _, last_seen_scan_id: __, ...finding }: Record<string, unknown>) {
  return finding;
}

describe('the latest snapshot', () => {
  it('has every kind of item', () => {
    const latest = readSnapshots().at(-1)?.[1];
    const missing = Object.entries(keys).flatMap(([name, value]) => {
      const key = exampleOf(value);
      return key && !has(latest, key) && !(name in PASSING_KINDS) ? [name] : [];
    });
    expect(missing).toEqual([]);
  });
});

/** A key as the function makes it of digits alone (a lane is in a partition of counters); null for what makes none. */
function exampleOf(value: unknown): Key | null {
  const first = value === keys.laneKey ? keys.orgCountersPartition('1111') : '1111';
  const made = typeof value === 'function' ? value(first, '2222', '3333', '4444') : value;
  return typeof made === 'object' && made !== null && 'pk' in made && 'sk' in made ? (made as Key) : null;
}

function has(snapshot: Snapshot | undefined, { pk, sk }: Key): boolean {
  const [partition, sort] = [patternOf(pk), patternOf(sk)];
  return (
    snapshot?.items.some((item) => partition.test(String(item.pk)) && sort.test(String(item.sk))) ?? false
  );
}

/** Parts with digits stand for what a caller put in; the others are the kind's own. */
function patternOf(text: string): RegExp {
  const parts = text.split('#').map((part) => (part === '' || /\d/.test(part) ? '[^#]*' : part));
  return new RegExp(`^${parts.join('#')}$`);
}
