import * as z from 'zod';
import { SUPPRESSION_CURSOR_KEY, suppressionEndKey, suppressionEndsPartition } from './keys.ts';
import type { Table } from './table.ts';

const Ended = z.object({ sk: z.string(), org_id: z.string(), finding_id: z.string() });

/** A suppression whose time is up. */
export interface EndedSuppression {
  readonly orgId: string;
  readonly findingId: string;
  /** ISO 8601. */
  readonly endedAt: string;
}

export type SuppressionEndStore = ReturnType<typeof createSuppressionEndStore>;

/** Ends of suppressions over all organizations, by hour: written with the suppression, gone with it. */
export function createSuppressionEndStore(table: Table) {
  return {
    /** The first hour (whole ones since the epoch) that may hold something; null before the first look ever. */
    async readCursor(): Promise<number | null> {
      const held = z.object({ hour: z.number() }).safeParse(await table.get(SUPPRESSION_CURSOR_KEY));
      return held.success ? held.data.hour : null;
    },

    async moveCursor(hour: number): Promise<void> {
      await table.update({
        Key: SUPPRESSION_CURSOR_KEY,
        UpdateExpression: 'SET #hour = :hour',
        ExpressionAttributeNames: { '#hour': 'hour' },
        ExpressionAttributeValues: { ':hour': hour },
      });
    },

    /** What of an hour has ended by now, the earliest first. */
    async listEnded(hour: number, now: number, limit: number): Promise<EndedSuppression[]> {
      const { items } = await table.queryPage({
        KeyConditionExpression: 'pk = :pk AND sk <= :now',
        ExpressionAttributeValues: {
          ':pk': suppressionEndsPartition(hour),
          ':now': `${new Date(now).toISOString()}~`,
        },
        ConsistentRead: true,
        Limit: limit,
      });
      return items.map((item) => {
        const { sk, org_id, finding_id } = Ended.parse(item);
        return { orgId: org_id, findingId: finding_id, endedAt: sk.slice(0, sk.indexOf('#')) };
      });
    },

    /** Forgets an end whose finding is gone, or suppressed no more. */
    async drop({ orgId, findingId, endedAt }: EndedSuppression): Promise<void> {
      await table.deleteAll([suppressionEndKey(Date.parse(endedAt), orgId, findingId)]);
    },
  };
}
