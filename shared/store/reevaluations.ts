import * as z from 'zod';
import { timestamp } from '#domain/clock.ts';
import { REEVALUATIONS, reevaluationKey } from './keys.ts';
import { applied, NotApplied, type Table, type Write } from './table.ts';

/** Findings that policies are to judge anew: of one asset, or (null) of the whole organization. */
export interface ReevaluationRef {
  readonly orgId: string;
  readonly assetId: string | null;
}

/** The last finding that was looked at; they are gone through by asset, scanner (as an `Origin`) and id. */
const Cursor = z.object({ asset_id: z.string(), scanner: z.string(), finding_id: z.string() });
export type ReevaluationCursor = z.infer<typeof Cursor>;

const Reevaluation = z.object({
  org_id: z.string(),
  asset_id: z.string().nullable(),
  /** Counts the requests. */
  wanted: z.int(),
  /** The request that is being worked on: where it is not the last one, everything is gone through again. */
  generation: z.int(),
  cursor: Cursor.nullable().default(null),
});
export type Reevaluation = z.infer<typeof Reevaluation>;

/** Whoever works on one renews this at least every few seconds. */
const LEASE_MILLISECONDS = 60_000;

/** Asks for a re-evaluation, in the transaction of what makes it necessary: so none is ever forgotten. */
export function reevaluationWrite({ orgId, assetId }: ReevaluationRef, at: number): Write {
  return {
    Update: {
      Key: reevaluationKey(orgId, assetId),
      UpdateExpression:
        'SET org_id = :org, asset_id = :asset, requested_at = if_not_exists(requested_at, :now) ADD wanted :one',
      ExpressionAttributeValues: { ':org': orgId, ':asset': assetId, ':now': timestamp(at), ':one': 1 },
    },
  };
}

export type ReevaluationStore = ReturnType<typeof createReevaluationStore>;

/** Re-evaluations that were asked for and have not ended, over all organizations. */
export function createReevaluationStore(table: Table) {
  const held = (holder: string) => ({
    ConditionExpression: 'holder = :holder',
    ExpressionAttributeValues: { ':holder': holder },
  });

  return {
    async request(ref: ReevaluationRef, at: number): Promise<void> {
      await table.transact([reevaluationWrite(ref, at)]);
    },

    /** For the sweep: those that nobody is at work on. */
    async listIdle(now: number): Promise<ReevaluationRef[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': REEVALUATIONS },
        ConsistentRead: true,
      });
      return items
        .filter(({ lease_until }) => !(Number(lease_until ?? 0) > now))
        .map((item) => ({
          orgId: z.string().parse(item.org_id),
          assetId: z.string().nullable().parse(item.asset_id),
        }));
    },

    /** Takes it on; null where another one has, or it has ended. */
    async take(
      { orgId, assetId }: ReevaluationRef,
      holder: string,
      now: number,
    ): Promise<Reevaluation | null> {
      const item = await table.update({
        Key: reevaluationKey(orgId, assetId),
        UpdateExpression:
          'SET holder = :holder, lease_until = :until, generation = if_not_exists(generation, wanted)',
        ConditionExpression:
          'attribute_exists(pk) AND (attribute_not_exists(lease_until) OR lease_until < :now)',
        ExpressionAttributeValues: { ':holder': holder, ':until': now + LEASE_MILLISECONDS, ':now': now },
        ReturnValues: 'ALL_NEW',
      });
      return item && Reevaluation.parse(item);
    },

    /**
     * Remembers how far it has come.
     * @param release lets the next one take it on
     * @returns false where another one has taken over
     */
    async save(
      { orgId, assetId }: ReevaluationRef,
      holder: string,
      cursor: ReevaluationCursor | null,
      now: number,
      release = false,
    ): Promise<boolean> {
      const { ExpressionAttributeValues, ...condition } = held(holder);
      const item = await table.update({
        Key: reevaluationKey(orgId, assetId),
        UpdateExpression: 'SET #cursor = :cursor, lease_until = :until',
        ...condition,
        ExpressionAttributeNames: { '#cursor': 'cursor' },
        ExpressionAttributeValues: {
          ...ExpressionAttributeValues,
          ':cursor': cursor,
          ':until': release ? 0 : now + LEASE_MILLISECONDS,
        },
      });
      return item !== null;
    },

    /**
     * Every finding has been looked at.
     * @returns false where it was asked for again meanwhile: it then begins anew, with the next one who takes it on
     */
    async finish({ orgId, assetId }: ReevaluationRef, holder: string, generation: number): Promise<boolean> {
      const Key = reevaluationKey(orgId, assetId);
      const done = await applied(
        table.transact([
          {
            Delete: {
              Key,
              ConditionExpression: 'holder = :holder AND wanted = :generation',
              ExpressionAttributeValues: { ':holder': holder, ':generation': generation },
            },
            otherwise: () => new NotApplied(),
          },
        ]),
      );
      if (done) return true;
      await table.update({
        Key,
        UpdateExpression: 'SET lease_until = :none REMOVE #cursor, generation',
        ...held(holder),
        ExpressionAttributeNames: { '#cursor': 'cursor' },
        ExpressionAttributeValues: { ':holder': holder, ':none': 0 },
      });
      return false;
    },
  };
}
