import * as z from 'zod';
import { JUDGED_ORGANIZATIONS, judgedOrganizationKey } from './keys.ts';
import type { Table } from './table.ts';

const JudgedOrganization = z.object({ sk: z.string(), since: z.string() });

/** An organization that had an active policy when it was written down. */
export interface JudgedOrganization {
  readonly orgId: string;
  readonly since: string;
}

export type JudgedOrganizationStore = ReturnType<typeof createJudgedOrganizationStore>;

/** Organizations whose findings policies judge, for what concerns all of them. */
export function createJudgedOrganizationStore(table: Table) {
  return {
    async list(): Promise<JudgedOrganization[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': JUDGED_ORGANIZATIONS },
        ConsistentRead: true,
      });
      return items.map((item) => {
        const { sk, since } = JudgedOrganization.parse(item);
        return { orgId: sk, since };
      });
    },

    async has(orgId: string): Promise<boolean> {
      return (await table.get(judgedOrganizationKey(orgId))) !== null;
    },

    /** Forgets one that has no active policy any more, unless one was activated since it was read. */
    async forget({ orgId, since }: JudgedOrganization): Promise<void> {
      await table.transact([
        {
          Delete: {
            Key: judgedOrganizationKey(orgId),
            ConditionExpression: 'since = :since',
            ExpressionAttributeValues: { ':since': since },
          },
        },
      ]);
    },
  };
}
