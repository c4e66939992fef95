import * as z from 'zod';
import type { Attribution } from '#domain/actor.ts';
import { authorName } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { auditWrite } from './audit.ts';
import { exportKey } from './keys.ts';
import type { Table } from './table.ts';

const ExportRecord = z.object({
  id: z.string(),
  format: z.enum(['sarif', 'csv', 'jsonl']),
  /** The filter as it was asked for, ids as UUIDs. */
  selection: z.record(z.string(), z.unknown()),
  status: z.enum(['queued', 'running', 'completed', 'failed']),
  count: z.number().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  created_by: z.string(),
  created_at: z.string(),
  finished_at: z.string().nullable(),
});
export type ExportRecord = z.infer<typeof ExportRecord>;

/** The record is kept this long; TTL deletes late, so that reads compare. */
const KEPT_SECONDS = 7 * 24 * 3600;

export type ExportStore = ReturnType<typeof createExportStore>;

/** Exports of findings: jobs that leave a file in the bucket. */
export function createExportStore(table: Table) {
  return {
    async create(
      orgId: string,
      made: Pick<ExportRecord, 'id' | 'format' | 'selection'>,
      attribution: Attribution,
    ): Promise<ExportRecord> {
      const record: ExportRecord = {
        ...made,
        status: 'queued',
        count: null,
        error: null,
        created_by: authorName(attribution.actor),
        created_at: timestamp(attribution.at),
        finished_at: null,
      };
      await table.transact([
        {
          Put: {
            Item: {
              ...exportKey(orgId, made.id),
              ...record,
              expires_at: Math.floor(attribution.at / 1000) + KEPT_SECONDS,
            },
          },
        },
        auditWrite(orgId, attribution, {
          action: 'finding.export',
          target: { type: 'export', id: made.id },
          changes: { format: { after: made.format }, filter: { after: made.selection } },
        }),
      ]);
      return record;
    },

    async get(orgId: string, id: string, now: number): Promise<ExportRecord | null> {
      const item = await table.get(exportKey(orgId, id));
      return item && Number(item.expires_at) * 1000 > now ? ExportRecord.parse(item) : null;
    },

    /** What became of it; nothing where it is gone, or ended already. */
    async settle(
      orgId: string,
      id: string,
      outcome: Pick<ExportRecord, 'status' | 'count' | 'error' | 'finished_at'>,
    ): Promise<void> {
      await table.update({
        Key: exportKey(orgId, id),
        UpdateExpression: 'SET #status = :status, #count = :count, #error = :error, finished_at = :at',
        ConditionExpression: '#status IN (:queued, :running)',
        ExpressionAttributeNames: { '#status': 'status', '#count': 'count', '#error': 'error' },
        ExpressionAttributeValues: {
          ':status': outcome.status,
          ':count': outcome.count,
          ':error': outcome.error,
          ':at': outcome.finished_at,
          ':queued': 'queued',
          ':running': 'running',
        },
      });
    },
  };
}
