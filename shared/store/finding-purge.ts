import * as z from 'zod';
import { suppressionEndKey } from './keys.ts';
import type { Key, Table } from './table.ts';

const Suppressed = z.object({
  org_id: z.string(),
  id: z.string(),
  suppression: z.object({ expires_at: z.string() }),
});

/** The ends of suppressions that go with findings: they are kept apart, by time. */
export async function suppressionEndsOf(table: Table, keys: readonly Key[]): Promise<Key[]> {
  const items = await table.batchGet(keys, ['org_id', 'id', 'suppression']);
  return items.flatMap((item) => {
    const held = Suppressed.safeParse(item);
    if (!held.success) return [];
    const { org_id, id, suppression } = held.data;
    return [suppressionEndKey(Date.parse(suppression.expires_at), org_id, id)];
  });
}
