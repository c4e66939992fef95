import type { scans } from '#contract/operations/scans.ts';
import { summarize } from '#domain/cells.ts';
import type { Clock } from '#domain/clock.ts';
import { ServiceError } from '#domain/errors.ts';
import { toOpaque } from '#domain/ids.ts';
import type { DeletionRequested } from '#events/deletions.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { pageOf } from '#http/paging.ts';
import { presentFindings } from '#shared/presenters/finding.ts';
import { presentRun, presentScan } from '#shared/presenters/scan.ts';
import type { Queue } from '#shared/queue.ts';
import { requestDeletion } from '#shared/request-deletion.ts';
import { type SubmitDependencies, submitScan } from '#shared/scans/submit-scan.ts';
import type { FindingStore } from '#store/findings.ts';
import type { ManifestStore } from '#store/manifests.ts';
import type { RecordDeletions } from '#store/record-deletions.ts';
import type { RunStore } from '#store/runs.ts';
import { countReported, listReported } from './scan-findings.ts';

export interface ScanDependencies extends SubmitDependencies {
  readonly runs: RunStore;
  readonly manifests: ManifestStore;
  readonly findings: FindingStore;
  readonly records: RecordDeletions;
  readonly deletions: Queue<DeletionRequested>;
  readonly clock: Clock;
}

export const scanOperations: Implementations<typeof scans.operations, ScanDependencies> = {
  async createScan(input, dependencies) {
    const { caller, body, idempotencyKey } = input;
    const scan = await submitScan(
      caller.orgId,
      {
        scope: body.scope,
        targetId: body.target_id ?? null,
        scanners: body.scanners,
        branch: body.branch ?? null,
        trigger: 'api',
        idempotencyKey,
      },
      attributionOf(input, dependencies.clock),
      dependencies,
    );
    return presentScan(scan);
  },

  async listScans({ caller, query }, { scans }) {
    const order = query.sort === 'created_at' ? 'oldest' : 'newest';
    const skip = (query.page - 1) * query.per_page;
    if (query.status || query.scope) {
      const all = await scans.list(caller.orgId, order);
      const matching = all.filter(
        (scan) =>
          (!query.status || query.status.includes(scan.status)) &&
          (!query.scope || scan.scope === query.scope),
      );
      const { slice, pagination } = pageOf(matching, query.page, query.per_page);
      return { data: slice.map(presentScan), pagination };
    }
    const [total, read] = await Promise.all([
      scans.count(caller.orgId),
      scans.list(caller.orgId, order, skip + query.per_page),
    ]);
    return {
      data: read.slice(skip).map(presentScan),
      pagination: { page: query.page, per_page: query.per_page, total },
    };
  },

  async getScan({ caller, params }, { scans }) {
    return presentScan(await scans.require(caller.orgId, params.scan_id));
  },

  async getScanSummary({ caller, params }, dependencies) {
    return summarize(await countReported(caller.orgId, params.scan_id, dependencies));
  },

  async listScanFindings({ caller, params, query }, dependencies) {
    const skip = (query.page - 1) * query.per_page;
    const wanted = { skip, take: query.per_page };
    const { total, ...page } = await listReported(
      caller.orgId,
      params.scan_id,
      query,
      query.sort,
      wanted,
      dependencies,
    );
    return {
      data: presentFindings(page, dependencies.clock.now()),
      pagination: { page: query.page, per_page: query.per_page, total },
    };
  },

  async listScanRuns({ caller, params, query }, { scans, runs }) {
    const all = await runs.listAll(caller.orgId, params.scan_id);
    // A scan that has runs exists; one without may be waiting, or not be there.
    if (all.length === 0) await scans.require(caller.orgId, params.scan_id);
    const { slice, pagination } = pageOf(all, query.page, query.per_page);
    return { data: slice.map(presentRun), pagination };
  },

  async deleteScan(input, { scans, records, deletions, clock }) {
    const { caller, params } = input;
    const held = await scans.require(caller.orgId, params.scan_id);
    await records.beginScan(caller.orgId, held, attributionOf(input, clock));
    await requestDeletion(deletions, { kind: 'scan', org_id: caller.orgId, scan_id: held.id });
    return { id: toOpaque('scan', held.id), deleted: true };
  },

  /** Ends the scan at once: what still runs is told to stop, and what it reports is no longer taken. */
  async cancelScan(input, { scans, clock }) {
    const { caller, params } = input;
    const held = await scans.require(caller.orgId, params.scan_id);
    if (held.trigger === 'import' && held.status === 'running')
      throw new ServiceError(
        'conflict',
        'The report of this import is being taken in, whole, and ends by itself',
      );
    const running = held.status === 'queued' || held.status === 'running';
    if (!running || !(await scans.finish(caller.orgId, held, 'cancelled', attributionOf(input, clock))))
      throw new ServiceError('conflict', 'The scan has ended already');
    return presentScan(await scans.require(caller.orgId, params.scan_id));
  },
};
