import * as z from 'zod';
import { POLICY_RUN_TRIGGERS } from '#contract/schemas/policies.ts';
import { policyRunKey, policyRunPrefix, policyRunsPartition } from './keys.ts';
import type { Table } from './table.ts';

const KEPT_SECONDS = 30 * 24 * 3600;

const PolicyRunRecord = z.object({
  id: z.string(),
  policy_id: z.string(),
  version: z.int(),
  trigger: z.enum(POLICY_RUN_TRIGGERS),
  started_at: z.string(),
  duration_ms: z.number(),
  evaluated: z.int(),
  decisions: z.record(z.string(), z.int()),
  errors: z.int(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  tests: z.object({ passed: z.int(), failed: z.int() }).nullable(),
});
export type PolicyRunRecord = z.infer<typeof PolicyRunRecord>;

export type PolicyRunStore = ReturnType<typeof createPolicyRunStore>;

/** What policies were asked, and how they decided; kept for 30 days. */
export function createPolicyRunStore(table: Table) {
  return {
    async record(orgId: string, run: PolicyRunRecord): Promise<void> {
      const expires_at = Math.floor(Date.parse(run.started_at) / 1000) + KEPT_SECONDS;
      await table.transact([
        { Put: { Item: { ...policyRunKey(orgId, run.policy_id, run.id), ...run, expires_at } } },
      ]);
    },

    /** The newest first. @param now milliseconds since the epoch @param limit undefined: all of them */
    async list(orgId: string, policyId: string, now: number, limit?: number): Promise<PolicyRunRecord[]> {
      const query = {
        KeyConditionExpression: 'pk = :partition AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: {
          ':partition': policyRunsPartition(orgId),
          ':prefix': policyRunPrefix(policyId),
        },
        ConsistentRead: true,
        ScanIndexForward: false,
      };
      const items = await (limit === undefined ? table.queryAll(query) : table.queryFirst(query, limit));
      // TTL deletes late.
      return items
        .filter((item) => Number(item.expires_at) * 1000 > now)
        .map((item) => PolicyRunRecord.parse(item));
    },
  };
}
