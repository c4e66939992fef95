import type * as z from 'zod';
import type { exports_ } from '#contract/operations/exports.ts';
import { type Clock, timestamp } from '#domain/clock.ts';
import { notFound } from '#domain/errors.ts';
import { type Ids, toOpaque } from '#domain/ids.ts';
import type { ExportRequested } from '#events/exports.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { logError } from '#shared/log.ts';
import type { Queue } from '#shared/queue.ts';
import { type ReportBucket, UPLOAD_SECONDS } from '#shared/report-bucket.ts';
import type { ExportRecord, ExportStore } from '#store/exports.ts';

export interface ExportDependencies {
  readonly exports: ExportStore;
  readonly bucket: Pick<ReportBucket, 'presignDownload'>;
  readonly exportRequests: Queue<ExportRequested>;
  readonly clock: Clock;
  readonly ids: Ids;
}

type Shown = z.input<typeof exports_.operations.getFindingExport.response.schema>;

export const exportOperations: Implementations<typeof exports_.operations, ExportDependencies> = {
  async exportFindings(input, { exports, exportRequests, clock, ids }) {
    const { caller, body } = input;
    const selection = Object.fromEntries(
      Object.entries(body.filter).filter(([, value]) => value !== undefined),
    );
    const record = await exports.create(
      caller.orgId,
      { id: ids.next(), format: body.format, selection },
      attributionOf(input, clock),
    );
    try {
      await exportRequests.send({ org_id: caller.orgId, export_id: record.id });
    } catch (error) {
      logError('export request not sent; the sweep will', error, {
        org_id: caller.orgId,
        export_id: record.id,
      });
    }
    return present(record, null);
  },

  async getFindingExport({ caller, params }, { exports, bucket, clock }) {
    const now = clock.now();
    const record = await exports.get(caller.orgId, params.export_id, now);
    if (!record) throw notFound('export');
    if (record.status !== 'completed') return present(record, null);
    const place = { orgId: caller.orgId, exportId: record.id };
    const url = await bucket.presignDownload(
      place,
      `findings-${record.created_at.slice(0, 10)}.${record.format}.gz`,
    );
    return present(record, { url, expires_at: timestamp(now + UPLOAD_SECONDS * 1000) });
  },
};

function present(record: ExportRecord, file: { url: string; expires_at: string } | null): Shown {
  const { id, selection: _, ...shown } = record;
  return {
    ...shown,
    id: toOpaque('export', id),
    url: file?.url ?? null,
    expires_at: file?.expires_at ?? null,
  };
}
