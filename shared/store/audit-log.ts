import * as z from 'zod';
import { auditPartition } from './keys.ts';
import type { Table } from './table.ts';

const AuditRecord = z.object({
  id: z.string(),
  at: z.string(),
  actor: z.object({
    type: z.enum(['user', 'api_key', 'system']),
    id: z.string().nullable(),
    name: z.string(),
  }),
  action: z.string(),
  target: z.object({ type: z.string(), id: z.string() }),
  changes: z.record(z.string(), z.unknown()),
  request_id: z.string().nullable(),
  ip: z.string().nullable(),
});
export type AuditRecord = z.infer<typeof AuditRecord>;

export interface AuditFilter {
  /** Who did it: either fits. */
  readonly actor?: { readonly id: string; readonly name: string } | undefined;
  readonly action?: string | undefined;
  readonly targetId?: string | undefined;
  /** Milliseconds; both inclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

export type AuditLogStore = ReturnType<typeof createAuditLogStore>;

/** Reads of the audit log: entries are UUIDv7, so that their key is their time. */
export function createAuditLogStore(table: Table) {
  return {
    /**
     * A page and the exact total. Without a filter a page costs its depth, and the total one count; with
     * one the entries of the time span are read through.
     */
    async list(orgId: string, filter: AuditFilter, newestFirst: boolean, skip: number, take: number) {
      // DynamoDB refuses a BETWEEN whose ends are the wrong way round.
      const { from = 0, to = Number.POSITIVE_INFINITY } = filter;
      if (from > to) return { entries: [], total: 0 };
      const query = queryOf(orgId, filter);
      const filtered = 'FilterExpression' in query;
      if (filtered) {
        const items = await table.queryAll({ ...query, ScanIndexForward: !newestFirst });
        return {
          entries: items.slice(skip, skip + take).map((item) => AuditRecord.parse(item)),
          total: items.length,
        };
      }
      const [total, items] = await Promise.all([
        table.count(query),
        table.queryFirst({ ...query, ScanIndexForward: !newestFirst }, skip + take),
      ]);
      return { entries: items.slice(skip).map((item) => AuditRecord.parse(item)), total };
    },
  };
}

function queryOf(orgId: string, { actor, action, targetId, from, to }: AuditFilter) {
  const conditions = [
    ...(actor === undefined ? [] : ['(actor.id = :actor OR actor.#name = :name)']),
    ...(action === undefined ? [] : ['#action = :action']),
    ...(targetId === undefined ? [] : ['#target.id = :target']),
  ];
  return {
    KeyConditionExpression: 'pk = :partition AND sk BETWEEN :from AND :to',
    ExpressionAttributeValues: {
      ':partition': auditPartition(orgId),
      ':from': from === undefined ? '0' : timePrefix(from),
      ':to': to === undefined ? 'g' : `${timePrefix(to)}g`,
      ...(actor !== undefined && { ':actor': actor.id, ':name': actor.name }),
      ...(action !== undefined && { ':action': action }),
      ...(targetId !== undefined && { ':target': targetId }),
    },
    ...(conditions.length > 0 && {
      FilterExpression: conditions.join(' AND '),
      ExpressionAttributeNames: {
        ...(actor !== undefined && { '#name': 'name' }),
        ...(action !== undefined && { '#action': 'action' }),
        ...(targetId !== undefined && { '#target': 'target' }),
      },
    }),
    ConsistentRead: true,
  };
}

/** The first 48 bits of a UUIDv7 as it is written: `01234567-89ab`. */
function timePrefix(milliseconds: number): string {
  const hex = Math.max(0, milliseconds).toString(16).padStart(12, '0').slice(0, 12);
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
