import * as z from 'zod';
import { DELETIONS } from './keys.ts';
import type { Table } from './table.ts';

/** What was accepted for deletion and has not ended, as its message says it. */
const PendingDeletion = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('organization'), org_id: z.string() }),
  z.object({ kind: z.literal('asset'), org_id: z.string(), asset_id: z.string() }),
  z.object({ kind: z.literal('scan'), org_id: z.string(), scan_id: z.string() }),
]);
export type PendingDeletion = z.infer<typeof PendingDeletion>;

/** For the sweep: over all organizations. */
export async function listPendingDeletions(table: Table): Promise<PendingDeletion[]> {
  const items = await table.queryAll({
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': DELETIONS },
    ConsistentRead: true,
  });
  return items.map((item) => PendingDeletion.parse(item));
}
