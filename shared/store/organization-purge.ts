import * as z from 'zod';
import type { Attribution } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { notFound } from '#domain/errors.ts';
import { SCANNERS } from '#domain/vocabulary.ts';
import {
  activeScanKey,
  assetEntriesPartition,
  branchFindingsPartition,
  chunksPartition,
  DELETED_ORGS,
  deletedOrgKey,
  findingsPartition,
  groupMembersPartition,
  keyHandleKey,
  memberGroupsPartition,
  orgKey,
  projectCountersPartition,
  projectNamesPartition,
  ratePartition,
  runsPartition,
  scansPartition,
  singlePartitions,
  slugKey,
  userKey,
  userOrgKey,
} from './keys.ts';
import type { Item, Key, Table } from './table.ts';

/** Items looked at before the time is looked at again. */
const PAGE = 200;

/** Says when to stop for now: a step that was cut off goes on where it was, because what it did is gone. */
export type KeepGoing = () => boolean;

export type OrganizationPurge = ReturnType<typeof createOrganizationPurge>;

/**
 * Deleting an organization: accepted at once, carried out in bounded batches. Each record's own
 * partitions go before the record that leads to them, so that whatever is left can still be found.
 */
export function createOrganizationPurge(table: Table) {
  /** Empties a partition; false where the time was up before. */
  async function empty(pk: string, keepGoing: KeepGoing): Promise<boolean> {
    return eachPage({ pk, prefix: '' }, keepGoing, async (items) => table.deleteAll(items.map(keyOf)));
  }

  /** Takes page after page of what is there until nothing is; `remove` must delete what it is given. */
  async function eachPage(
    from: { pk: string; prefix: string },
    keepGoing: KeepGoing,
    remove: (items: Item[]) => Promise<void>,
  ): Promise<boolean> {
    while (keepGoing()) {
      const { items } = await table.queryPage({
        KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: { ':pk': from.pk, ':prefix': from.prefix },
        ConsistentRead: true,
        Limit: PAGE,
      });
      // The organization's own item is the last of its partition to go.
      const rest = items.filter((item) => item.sk !== 'ORG');
      if (rest.length === 0) return true;
      await remove(rest);
    }
    return false;
  }

  /** Records with partitions of their own: these are emptied first. */
  async function eachWithParts(
    from: { pk: string; prefix: string },
    partsOf: (item: Item) => Promise<string[]> | string[],
    keepGoing: KeepGoing,
  ): Promise<boolean> {
    let complete = true;
    const done = await eachPage(
      from,
      () => complete && keepGoing(),
      async (items) => {
        for (const item of items) {
          for (const pk of await partsOf(item)) complete = complete && (await empty(pk, keepGoing));
          if (!complete) return;
          await table.deleteAll([keyOf(item)]);
        }
      },
    );
    return done && complete;
  }

  async function purgeFindings(orgId: string, keepGoing: KeepGoing): Promise<boolean> {
    while (keepGoing()) {
      const { items } = await table.queryPage({
        IndexName: 'gsi1',
        KeyConditionExpression: 'gsi1pk = :partition',
        ExpressionAttributeValues: { ':partition': findingsPartition(orgId) },
        ProjectionExpression: 'pk, sk',
        Limit: PAGE,
      });
      if (items.length === 0) return true;
      await table.deleteAll(items.map(keyOf));
    }
    return false;
  }

  /** A member's way in, and the sessions that work in the organization. */
  async function partsOfMember(orgId: string, item: Item): Promise<string[]> {
    const userId = suffix(item, 'MEMBER#');
    const sessions = await table.queryAll({
      KeyConditionExpression: 'pk = :user AND begins_with(sk, :prefix)',
      FilterExpression: 'org_id = :org',
      ExpressionAttributeValues: { ':user': userKey(userId).pk, ':prefix': 'SESSION#', ':org': orgId },
      ConsistentRead: true,
    });
    await table.deleteAll([...sessions.map(keyOf), userOrgKey(userId, orgId)]);
    return [memberGroupsPartition(orgId, userId)];
  }

  return {
    /** Hides the organization from now on, frees its slug, and lists it for the work to come. */
    async begin(orgId: string, slug: string, attribution: Attribution): Promise<void> {
      await table.transact([
        {
          Update: {
            Key: orgKey(orgId),
            UpdateExpression: 'SET deleted_at = :now, deleted_by = :actor',
            ConditionExpression: 'attribute_exists(pk) AND attribute_not_exists(deleted_at)',
            ExpressionAttributeValues: {
              ':now': timestamp(attribution.at),
              ':actor': attribution.actor.name,
            },
          },
          otherwise: () => notFound('organization'),
        },
        { Delete: { Key: slugKey(slug) } },
        { Put: { Item: { ...deletedOrgKey(orgId), org_id: orgId } } },
      ]);
      // From the next request on its tier is read anew, and is not found.
      await empty(ratePartition(orgId), () => true);
    },

    /** Goes on with the deletion; true once nothing is left. */
    async continue(orgId: string, keepGoing: KeepGoing): Promise<boolean> {
      const own = orgKey(orgId).pk;
      const steps: (() => Promise<boolean>)[] = [
        () =>
          eachWithParts(
            { pk: own, prefix: 'APIKEY#' },
            async (item) => {
              await table.deleteAll([keyHandleKey(z.string().parse(item.handle))]);
              return [];
            },
            keepGoing,
          ),
        () => eachWithParts({ pk: own, prefix: 'MEMBER#' }, (item) => partsOfMember(orgId, item), keepGoing),
        () =>
          eachWithParts(
            { pk: scansPartition(orgId), prefix: '' },
            async (item) => {
              const scanId = z.string().parse(item.sk);
              await table.deleteAll([activeScanKey(orgId, scanId)]);
              return [runsPartition(orgId, scanId), branchFindingsPartition(orgId, scanId)];
            },
            keepGoing,
          ),
        () => purgeFindings(orgId, keepGoing),
        () =>
          eachWithParts(
            { pk: assetEntriesPartition(orgId), prefix: '' },
            (item) => SCANNERS.map((scanner) => chunksPartition(orgId, z.string().parse(item.sk), scanner)),
            keepGoing,
          ),
        () =>
          eachWithParts(
            { pk: own, prefix: 'PROJECT#' },
            (item) => {
              const id = suffix(item, 'PROJECT#');
              return [
                projectNamesPartition(orgId, id),
                projectCountersPartition(orgId, id),
                groupMembersPartition(orgId, 'project', id),
              ];
            },
            keepGoing,
          ),
        () =>
          eachWithParts(
            { pk: own, prefix: 'TEAM#' },
            (item) => [groupMembersPartition(orgId, 'team', suffix(item, 'TEAM#'))],
            keepGoing,
          ),
        ...singlePartitions(orgId).map((pk) => () => empty(pk, keepGoing)),
        () => empty(own, keepGoing),
      ];
      for (const step of steps) if (!(await step())) return false;
      await table.deleteAll([orgKey(orgId), deletedOrgKey(orgId)]);
      return true;
    },

    /** For the sweep: deletions that have not ended. */
    async listPending(): Promise<string[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': DELETED_ORGS },
        ConsistentRead: true,
      });
      return items.map((item) => z.string().parse(item.sk));
    },
  };
}

function keyOf(item: Item): Key {
  return z.object({ pk: z.string(), sk: z.string() }).parse(item);
}

function suffix(item: Item, prefix: string): string {
  return z.string().parse(item.sk).slice(prefix.length);
}
