import { randomUUID } from 'node:crypto';
import { TransactionConflictException } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import { withStatus } from '#domain/lifecycle.ts';
import { countedPlace, createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import type { FindingRecord } from '#store/finding-record.ts';
import { createTriageStore } from '#store/finding-triage.ts';
import { createFindingWriteStore } from '#store/finding-writes.ts';
import { createFindingStore } from '#store/findings.ts';
import { createRecordDeletions } from '#store/record-deletions.ts';
import { countedTable } from '#test/harness/counted-table.ts';
import { faultyTable, type StoreRequest, transactionConflict } from '#test/harness/faulty-table.ts';
import { sampleAsset, sampleFinding, testAttribution } from '#test/harness/samples.ts';

const { table } = countedTable();
const LANES = 8;
const counters = createCounterStore(table, LANES);
const findings = createFindingStore(table, counters);

async function fresh() {
  const orgId = randomUUID();
  const asset = sampleAsset();
  await createAssetStore(table, counters).create(orgId, asset, testAttribution());
  return { orgId, asset, scope: { orgId, place: countedPlace(asset), guards: [] } };
}
const samples = (orgId: string, assetId: string, count: number): FindingRecord[] =>
  Array.from({ length: count }, () => sampleFinding(orgId, assetId));
const total = async (orgId: string) => (await findings.listIds(orgId, {}, '-severity', 0, 100)).total;

/** Transactions meet a conflict as long as the pattern says so of the attempt; each is told by its first item. */
function conflicts(pattern: (attempt: number) => boolean) {
  const attempts = new Map<string, number>();
  const lanes: string[] = [];
  const fault = ({ command, input }: StoreRequest) => {
    if (command !== 'TransactWriteItemsCommand') return undefined;
    const items = input.TransactItems as { Update?: { Key: { sk: unknown } } }[];
    const lane = items.find(({ Update }) => JSON.stringify(Update?.Key ?? '').includes('LANE#'));
    if (lane) lanes.push(JSON.stringify(lane.Update?.Key.sk));
    const name = JSON.stringify(items[0]).slice(0, 200);
    const attempt = (attempts.get(name) ?? 0) + 1;
    attempts.set(name, attempt);
    return pattern(attempt) ? transactionConflict(items.length) : undefined;
  };
  return { fault, lanes };
}

const conflict = () =>
  new TransactionConflictException({ message: 'Transaction is ongoing for the item', $metadata: {} });

describe('contention of the real store', () => {
  it('is met by trying again, and counts nothing twice', async () => {
    const { orgId, asset, scope } = await fresh();
    const { fault } = conflicts((attempt) => attempt <= 2);
    const faulty = faultyTable(fault);
    const store = createFindingWriteStore(faulty, createCounterStore(faulty, LANES));
    const records = samples(orgId, asset.id, 300);
    await store.createAll(scope, records);
    expect(await total(orgId)).toBe(300);
    const now = await store.changeAll(
      scope,
      records,
      async (held) => held.map((one) => withStatus(one, 'resolved', 'scanner', Date.now())),
      new Set(),
    );
    expect(now.every(({ status }) => status === 'resolved')).toBe(true);
    const counts = await counters.readOrganization(orgId);
    expect([...counts.values()].filter((count) => count !== 0)).toEqual([300]);
  });

  it('takes another lane of the counters when it tries again', async () => {
    const { orgId, asset, scope } = await fresh();
    const { fault, lanes } = conflicts((attempt) => attempt <= 5);
    const faulty = faultyTable(fault);
    const store = createFindingWriteStore(faulty, createCounterStore(faulty, 32));
    await store.createAll(scope, samples(orgId, asset.id, 1));
    expect(lanes).toHaveLength(6);
    expect(new Set(lanes).size).toBeGreaterThan(1);
  });

  it('that does not end is a 503 with nothing written', async () => {
    const { orgId, asset, scope } = await fresh();
    const [record] = samples(orgId, asset.id, 1);
    if (!record) throw new Error('nothing was made');
    await createFindingWriteStore(table, counters).createAll(scope, [record]);
    const faulty = faultyTable(conflicts(() => true).fault);
    const triage = createTriageStore(faulty, createCounterStore(faulty, LANES));
    const resolving = triage.changeTogether(
      orgId,
      [{ record, asset }],
      (held) => withStatus(held, 'resolved', 'person', Date.now()),
      'finding.update',
      testAttribution(),
    );
    await expect(resolving).rejects.toMatchObject({ code: 'service_unavailable', retryAfter: 30 });
    expect(await findings.get(orgId, record.id)).toEqual(record);
  });

  it('of a single write and a transaction is met by trying again', async () => {
    const key = { pk: `CONTENTION#${randomUUID()}`, sk: 'x' };
    let refused = 0;
    const faulty = faultyTable(({ command }) => {
      if (command !== 'UpdateItemCommand' && command !== 'BatchWriteItemCommand') return undefined;
      refused += 1;
      return refused % 3 === 0 ? undefined : conflict();
    });
    await faulty.update({
      Key: key,
      UpdateExpression: 'ADD writes :one',
      ExpressionAttributeValues: { ':one': 1 },
    });
    expect(await table.get(key)).toMatchObject({ writes: 1 });
    await faulty.deleteAll([key]);
    expect(await table.get(key)).toBeNull();
    expect(refused).toBe(6);
  });

  it('of a single write that does not end is a 503', async () => {
    const faulty = faultyTable(conflict);
    const key = { pk: `CONTENTION#${randomUUID()}`, sk: 'x' };
    await expect(faulty.update({ Key: key, UpdateExpression: 'REMOVE writes' })).rejects.toMatchObject({
      code: 'service_unavailable',
      retryAfter: 30,
    });
  });

  it('of many at one item loses no write', async () => {
    const key = { pk: `CONTENTION#${randomUUID()}`, sk: 'x' };
    const add = {
      Key: key,
      UpdateExpression: 'ADD writes :one',
      ExpressionAttributeValues: { ':one': 1 },
    };
    // Six attempts each: so many at once that some meet, so few that none gives up.
    const writes = Array.from({ length: 6 }, () => [table.update(add), table.transact([{ Update: add }])]);
    await Promise.all(writes.flat());
    expect(await table.get(key)).toMatchObject({ writes: 12 });
  });

  it('of single reads is a 503 as well, once the client has given up', async () => {
    const { orgId } = await fresh();
    const throttled = Object.assign(new Error('slow down'), { name: 'ThrottlingException' });
    const faulty = faultyTable(() => throttled);
    await expect(createFindingStore(faulty, counters).get(orgId, randomUUID())).rejects.toMatchObject({
      code: 'service_unavailable',
      retryAfter: 30,
    });
  });

  it('is met in batch reads too: what was throttled is asked for again', async () => {
    const { orgId, asset, scope } = await fresh();
    const records = samples(orgId, asset.id, 60);
    await createFindingWriteStore(table, counters).createAll(scope, records);
    let asked = 0;
    const faulty = faultyTable(({ command, input }) => {
      if (command !== 'BatchGetItemCommand') return undefined;
      asked += 1;
      return asked <= 2 ? { Responses: {}, UnprocessedKeys: input.RequestItems } : undefined;
    });
    const read = await createFindingStore(faulty, counters).getMany(
      orgId,
      records.map(({ id }) => id),
    );
    expect(read).toHaveLength(60);
    expect(asked).toBe(3);
  });
});

describe('indexes that lag behind the table', () => {
  it('may show what has changed: the page holds what is, the total what is counted', async () => {
    const { orgId, asset, scope } = await fresh();
    const records = samples(orgId, asset.id, 5);
    await createFindingWriteStore(table, counters).createAll(scope, records);
    // The index as it was: it still names a finding that is gone by now.
    const gone = sampleFinding(orgId, asset.id, { created_at: new Date(Date.now() + 1000).toISOString() });
    const lagging = faultyTable(() => undefined);
    const query = lagging.queryFirst;
    const stale = {
      ...lagging,
      queryFirst: async (...args: Parameters<typeof query>) => {
        const items = await query(...args);
        const [one] = items;
        return one
          ? [{ ...one, gsi1sk: String(one.gsi1sk).replace(/#[0-9a-f-]{36}#/, `#${gone.id}#`) }, ...items]
          : items;
      },
    };
    const page = await createFindingStore(stale, counters).listPage(orgId, {}, '-severity', {
      skip: 0,
      take: 20,
      after: null,
    });
    expect(page.total).toBe(5);
    expect(page.records.map(({ id }) => id).sort()).toEqual(records.map(({ id }) => id).sort());
  });

  it('do not end a deletion too early: a second look takes what the first one could not see', async () => {
    const { orgId, asset, scope } = await fresh();
    const records = samples(orgId, asset.id, 150);
    await createFindingWriteStore(table, counters).createAll(scope, records);
    let blind = true;
    const faulty = faultyTable(({ command, input }) =>
      blind && command === 'QueryCommand' && input.IndexName === 'gsi2' ? { Items: [], Count: 0 } : undefined,
    );
    const own = createCounterStore(faulty, LANES);
    const deletions = createRecordDeletions(faulty, createAssetStore(faulty, own), own);
    await deletions.beginAsset(orgId, asset.id, testAttribution());
    const go = (now: number) =>
      deletions.continueAsset(
        orgId,
        asset.id,
        now,
        () => true,
        async () => true,
      );
    const now = Date.now();
    expect(await go(now)).toBe('later');
    blind = false;
    expect(await go(now + 60_000)).toBe('done');
    expect(
      await findings.getMany(
        orgId,
        records.map(({ id }) => id),
      ),
    ).toEqual([]);
  });
});
