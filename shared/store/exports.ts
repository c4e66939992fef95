import * as z from 'zod';
import type { Attribution } from '#domain/actor.ts';
import { authorName } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { auditWrite } from './audit.ts';
import { exportKey, PENDING_EXPORTS, pendingExportKey } from './keys.ts';
import { applied, NotApplied, type Table, type Write } from './table.ts';

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

/** Whoever works on one renews this every few seconds: after a crash nobody waits for long. */
const LEASE_MILLISECONDS = 60_000;

/** For the sweep: an export that has not ended. */
const PendingExport = z
  .object({
    org_id: z.string(),
    export_id: z.string(),
    created_at: z.string(),
    lease_until: z.number().default(0),
  })
  .transform((item) => ({
    orgId: item.org_id,
    exportId: item.export_id,
    createdAt: Date.parse(item.created_at),
    leaseUntil: item.lease_until,
  }));
export type PendingExport = z.output<typeof PendingExport>;

export type ExportOutcome = Pick<ExportRecord, 'count' | 'error' | 'finished_at'> & {
  readonly status: 'completed' | 'failed';
};

/** Its record says what it is to become, as long as it has not ended. */
function statusWrite(
  orgId: string,
  id: string,
  changes: Partial<Pick<ExportRecord, 'status' | 'count' | 'error' | 'finished_at'>>,
): Write {
  const entries = Object.entries(changes);
  return {
    Update: {
      Key: exportKey(orgId, id),
      UpdateExpression: `SET ${entries.map(([name]) => `#${name} = :${name}`).join(', ')}`,
      ConditionExpression: '#status IN (:queued, :isRunning)',
      ExpressionAttributeNames: Object.fromEntries(entries.map(([name]) => [`#${name}`, name])),
      ExpressionAttributeValues: {
        ...Object.fromEntries(entries.map(([name, value]) => [`:${name}`, value])),
        ':queued': 'queued',
        ':isRunning': 'running',
      },
    },
    otherwise: () => new NotApplied(),
  };
}

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
        {
          Put: {
            Item: {
              ...pendingExportKey(orgId, made.id),
              org_id: orgId,
              export_id: made.id,
              created_at: record.created_at,
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

    /** For the sweep: over all organizations. */
    async listPending(): Promise<PendingExport[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': PENDING_EXPORTS },
        ConsistentRead: true,
      });
      return items.map((item) => PendingExport.parse(item));
    },

    /** Takes it on; false where another one has, or it has ended. */
    async take(orgId: string, id: string, holder: string, now: number): Promise<boolean> {
      return applied(
        table.transact([
          {
            Update: {
              Key: pendingExportKey(orgId, id),
              UpdateExpression: 'SET holder = :holder, lease_until = :until',
              ConditionExpression:
                'attribute_exists(pk) AND (attribute_not_exists(lease_until) OR lease_until < :now)',
              ExpressionAttributeValues: {
                ':holder': holder,
                ':until': now + LEASE_MILLISECONDS,
                ':now': now,
              },
            },
            otherwise: () => new NotApplied(),
          },
          statusWrite(orgId, id, { status: 'running' }),
        ]),
      );
    },

    /** Keeps the lease of a long export; false where another one has taken over, or it has ended. */
    async renew(orgId: string, id: string, holder: string, now: number): Promise<boolean> {
      const item = await table.update({
        Key: pendingExportKey(orgId, id),
        UpdateExpression: 'SET lease_until = :until',
        ConditionExpression: 'holder = :holder',
        ExpressionAttributeValues: { ':holder': holder, ':until': now + LEASE_MILLISECONDS },
      });
      return item !== null;
    },

    /**
     * What became of it.
     * @param holder null: whoever has taken it on
     * @returns false where it is gone, has ended already, or another one has taken over
     */
    async finish(orgId: string, id: string, outcome: ExportOutcome, holder: string | null): Promise<boolean> {
      return applied(
        table.transact([
          statusWrite(orgId, id, outcome),
          {
            Delete: {
              Key: pendingExportKey(orgId, id),
              ...(holder !== null && {
                ConditionExpression: 'holder = :holder',
                ExpressionAttributeValues: { ':holder': holder },
              }),
            },
            otherwise: () => new NotApplied(),
          },
        ]),
      );
    },

    /** There is nothing left to do: its record is gone. */
    async forget(orgId: string, id: string): Promise<void> {
      await table.transact([{ Delete: { Key: pendingExportKey(orgId, id) } }]);
    },
  };
}
