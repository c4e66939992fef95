import * as z from 'zod';
import type { Item, Key, Table } from './table.ts';

/** Items looked at before the time is looked at again. */
const PAGE = 200;

/** Says when to stop for now: a step that was cut off goes on where it was, because what it did is gone. */
export type KeepGoing = () => boolean;

/** Emptying partitions in bounded batches: for what was accepted for deletion. */
export function createPurging(table: Table) {
  /**
   * Takes page after page of what is there until nothing is; `remove` must delete what it is given. Without a
   * prefix it is the whole partition.
   * @returns false where the time was up before
   */
  async function eachPage(
    from: { readonly pk: string; readonly prefix?: string },
    keepGoing: KeepGoing,
    remove: (items: Item[]) => Promise<void>,
    spare: (item: Item) => boolean = () => false,
  ): Promise<boolean> {
    while (keepGoing()) {
      const { items } = await table.queryPage({
        // An empty prefix is refused in a key condition.
        KeyConditionExpression:
          from.prefix === undefined ? 'pk = :pk' : 'pk = :pk AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: { ':pk': from.pk, ':prefix': from.prefix },
        ConsistentRead: true,
        Limit: PAGE,
      });
      const rest = items.filter((item) => !spare(item));
      if (rest.length === 0) return true;
      await remove(rest);
    }
    return false;
  }

  return {
    eachPage,

    /** Deletes all of an index partition's items; `also` names what goes with them. */
    async eachIndexed(
      index: 'gsi1' | 'gsi2',
      partition: string,
      keepGoing: KeepGoing,
      also: (keys: readonly Key[]) => Promise<Key[]>,
    ): Promise<boolean> {
      while (keepGoing()) {
        const { items } = await table.queryPage({
          IndexName: index,
          KeyConditionExpression: `${index}pk = :partition`,
          ExpressionAttributeValues: { ':partition': partition },
          ProjectionExpression: 'pk, sk',
          Limit: PAGE,
        });
        if (items.length === 0) return true;
        const keys = items.map(keyOf);
        await table.deleteAll([...(await also(keys)), ...keys]);
      }
      return false;
    },

    /** Empties a partition, or what of it begins with `prefix`; false where the time was up before. */
    async empty(pk: string, keepGoing: KeepGoing, prefix?: string): Promise<boolean> {
      return eachPage({ pk, ...(prefix !== undefined && { prefix }) }, keepGoing, async (items) =>
        table.deleteAll(items.map(keyOf)),
      );
    },
  };
}

export function keyOf(item: Item): Key {
  return z.object({ pk: z.string(), sk: z.string() }).parse(item);
}
