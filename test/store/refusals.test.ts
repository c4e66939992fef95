import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { countedTable } from '#test/harness/counted-table.ts';

/**
 * What DynamoDB refuses: whichever store a run is on refuses it too, or what passes here would fail there. What
 * the embedded store takes, our own table refuses before it.
 */
const { table } = countedTable();
const pk = `REFUSALS#${randomUUID()}`;
const key = { pk, sk: 'x' };
const values = (given: object) => ({ ExpressionAttributeValues: { ':pk': pk, ...given } });
const put = (item: object) => () => table.putAll([{ ...key, ...item }]);

const REFUSED: Record<string, () => Promise<unknown>> = {
  'an empty prefix': () =>
    table.queryPage({
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
      ...values({ ':prefix': '' }),
    }),
  'an empty partition': () =>
    table.queryPage({ KeyConditionExpression: 'pk = :pk', ...values({ ':pk': '' }) }),
  'an empty bound': () =>
    table.count({
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
      ...values({ ':from': '', ':to': 'z' }),
    }),
  'a range that ends before it begins': () =>
    table.queryPage({
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
      ...values({ ':from': 'z', ':to': 'a' }),
    }),
  'a value that nothing uses': () =>
    table.queryPage({ KeyConditionExpression: 'pk = :pk', ...values({ ':other': 1 }) }),
  'a name that nothing uses': () =>
    table.queryPage({
      KeyConditionExpression: 'pk = :pk',
      ...values({}),
      ExpressionAttributeNames: { '#a': 'a' },
    }),
  'a reserved word': () => table.update({ Key: key, UpdateExpression: 'SET status = :pk', ...values({}) }),
  'a filter of a key': () =>
    table.queryPage({ KeyConditionExpression: 'pk = :pk', FilterExpression: 'sk = :pk', ...values({}) }),
  'a consistent read of an index': () =>
    table.queryPage({
      IndexName: 'gsi1',
      KeyConditionExpression: 'gsi1pk = :pk',
      ConsistentRead: true,
      ...values({}),
    }),
  'a count with a projection': () =>
    table.queryPage({
      KeyConditionExpression: 'pk = :pk',
      Select: 'COUNT',
      ProjectionExpression: 'sk',
      ...values({}),
    }),
  'attributes that an index does not hold': () =>
    table.queryPage({
      IndexName: 'gsi1',
      KeyConditionExpression: 'gsi1pk = :pk',
      Select: 'ALL_ATTRIBUTES',
      ...values({}),
    }),
  'an empty sort key': put({ sk: '' }),
  'an empty key of an index': put({ gsi1pk: '', gsi1sk: 'x' }),
  'a number as the key of an index': put({ gsi1pk: 1, gsi1sk: 'x' }),
  'null as the key of an index': put({ gsi1pk: null, gsi1sk: 'x' }),
  'a sort key of more than 1,024 bytes': put({ sk: 'x'.repeat(1025) }),
  'a partition key of more than 2,048 bytes': put({ pk: 'x'.repeat(2049) }),
  'an empty set': put({ set: new Set() }),
  'a number of 39 digits': put({ number: 10n ** 39n - 1n }),
  'an item of more than 400 KB': put({ text: 'x'.repeat(400 * 1024) }),
  'a transaction that names an item twice': () =>
    table.transact([{ Put: { Item: key } }, { Delete: { Key: key } }]),
  'a transaction of more than 100 items': () =>
    table.transact(Array.from({ length: 101 }, (_, at) => ({ Put: { Item: { pk, sk: `${at}` } } }))),
  'a change inside of a map that is not there': () =>
    table.update({ Key: key, UpdateExpression: 'SET map.name = :pk', ...values({}) }),
};

describe('the store refuses', () => {
  it.each(Object.entries(REFUSED))('%s', async (_, request) => {
    await expect(request()).rejects.toThrow();
  });

  it('nothing of this where it is as it should be', async () => {
    await put({ gsi1pk: pk, gsi1sk: 'x'.repeat(1024), text: 'x'.repeat(390 * 1024) })();
    await table.update({
      Key: key,
      UpdateExpression: 'SET #status = :one',
      ExpressionAttributeNames: { '#status': 'status' },
      ExpressionAttributeValues: { ':one': 1 },
    });
    const query = {
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
      ...values({ ':prefix': 'x' }),
    };
    expect(await table.count(query)).toBe(1);
    await table.deleteAll([key]);
  });
});
