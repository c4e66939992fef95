import * as z from 'zod';
import type { Attribution } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { notFound } from '#domain/errors.ts';
import type { Origin } from '#domain/origin.ts';
import { SCANNERS } from '#domain/vocabulary.ts';
import { suppressionEndsOf } from './finding-purge.ts';
import {
  activeScanKey,
  assetEntriesPartition,
  branchFindingsPartition,
  chunksPartition,
  DELETIONS,
  deletionKey,
  findingsPartition,
  groupMembersPartition,
  invitationsPartition,
  invitationTokenKey,
  judgedOrganizationKey,
  keyHandleKey,
  memberGroupsPartition,
  orgKey,
  PENDING_EXPORTS,
  pendingExportKey,
  projectCountersPartition,
  projectNamesPartition,
  REEVALUATIONS,
  ratePartition,
  reevaluationKey,
  revisitPartition,
  runsPartition,
  scansPartition,
  singlePartitions,
  slugKey,
  userOrgKey,
} from './keys.ts';
import { listManifests } from './manifests.ts';
import { createPurging, type KeepGoing, keyOf } from './purging.ts';
import { releaseSessions } from './sessions.ts';
import type { Item, Table } from './table.ts';

export type OrganizationPurge = ReturnType<typeof createOrganizationPurge>;

/**
 * Deleting an organization: accepted at once, carried out in bounded batches. Each record's own
 * partitions go before the record that leads to them, so that whatever is left can still be found.
 */
export function createOrganizationPurge(table: Table) {
  const purging = createPurging(table);
  const { empty } = purging;

  /** The organization's own item is the last of its partition to go. */
  const eachPage = (
    from: { pk: string; prefix?: string },
    keepGoing: KeepGoing,
    remove: (items: Item[]) => Promise<void>,
  ) => purging.eachPage(from, keepGoing, remove, (item) => item.sk === 'ORG');

  /** Records with partitions of their own: these are emptied first. */
  async function eachWithParts(
    from: { pk: string; prefix?: string },
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

  /** A member's way in, and the sessions that were opened in the organization. */
  async function partsOfMember(orgId: string, item: Item): Promise<string[]> {
    const userId = suffix(item, 'MEMBER#');
    await releaseSessions(table, userId, orgId);
    await table.deleteAll([userOrgKey(userId, orgId)]);
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
        { Put: { Item: { ...deletionKey(orgId), kind: 'organization', org_id: orgId } } },
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
        () =>
          eachWithParts(
            { pk: invitationsPartition(orgId) },
            async (item) => {
              await table.deleteAll([invitationTokenKey(z.string().parse(item.token_hash))]);
              return [];
            },
            keepGoing,
          ),
        () => eachWithParts({ pk: own, prefix: 'MEMBER#' }, (item) => partsOfMember(orgId, item), keepGoing),
        () =>
          eachWithParts(
            { pk: scansPartition(orgId) },
            async (item) => {
              const scanId = z.string().parse(item.sk);
              await table.deleteAll([activeScanKey(orgId, scanId)]);
              return [runsPartition(orgId, scanId), branchFindingsPartition(orgId, scanId)];
            },
            keepGoing,
          ),
        () =>
          purging.eachIndexed('gsi1', findingsPartition(orgId), keepGoing, (keys) =>
            suppressionEndsOf(table, keys),
          ),
        () =>
          eachWithParts(
            { pk: assetEntriesPartition(orgId) },
            (item) => originPartitions(table, orgId, z.string().parse(item.sk)),
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
        () => empty(PENDING_EXPORTS, keepGoing, pendingExportKey(orgId).sk),
        () => empty(REEVALUATIONS, keepGoing, reevaluationKey(orgId, null).sk),
        // An asset whose own deletion has not ended has no entry any more that leads to its parts.
        () =>
          eachWithParts(
            { pk: DELETIONS, prefix: deletionKey(orgId, 'asset#').sk },
            (item) => originPartitions(table, orgId, suffix(item, deletionKey(orgId, 'asset#').sk)),
            keepGoing,
          ),
        () => empty(DELETIONS, keepGoing, `${deletionKey(orgId).sk}scan#`),
        () => eachPage({ pk: own }, keepGoing, async (items) => table.deleteAll(items.map(keyOf))),
      ];
      for (const step of steps) if (!(await step())) return false;
      await table.deleteAll([judgedOrganizationKey(orgId), orgKey(orgId), deletionKey(orgId)]);
      return true;
    },
  };
}

/** What an asset has by origin: chunks of manifests, and marks. Heads tell of the tools that there are. */
export async function originPartitions(table: Table, orgId: string, assetId: string): Promise<string[]> {
  const found = (await listManifests(table, orgId, assetId)).map(({ origin }) => origin);
  return [...new Set<Origin>([...SCANNERS, ...found])].flatMap((origin) => [
    chunksPartition(orgId, assetId, origin),
    revisitPartition(orgId, assetId, origin),
  ]);
}

function suffix(item: Item, prefix: string): string {
  return z.string().parse(item.sk).slice(prefix.length);
}
