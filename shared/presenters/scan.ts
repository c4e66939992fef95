import type * as z from 'zod';
import type { Scan, ScanRun } from '#contract/schemas/records.ts';
import { severityCounts } from '#domain/cells.ts';
import { toOpaque } from '#domain/ids.ts';
import type { RunRecord, ScannerState } from '#store/runs.ts';
import type { ScanRecord } from '#store/scans.ts';

/** A scan as Family B shows it. */
export function presentScan(record: ScanRecord): z.input<typeof Scan> {
  return {
    id: toOpaque('scan', record.id),
    scope: record.scope,
    target_id:
      record.target_id && toOpaque(record.scope === 'project' ? 'project' : 'asset', record.target_id),
    scanners: record.scanners,
    branch: record.branch,
    commit: record.commit,
    trigger: record.trigger,
    status: record.status,
    progress: { total: record.total, done: record.done, failed: record.failed },
    finding_counts: severityCounts(record.counts),
    new_count: record.new_count,
    resolved_count: record.resolved_count,
    suppressed_in_repository_count: record.hidden_count,
    error: presentError(record),
    created_by: record.created_by,
    created_at: record.created_at,
    started_at: record.started_at,
    finished_at: record.finished_at,
  };
}

function presentError(record: ScanRecord) {
  const [first] = record.failures;
  if (!first) return null;
  const others = record.failures.length - 1;
  return {
    code: first.code,
    message: others === 0 ? first.message : `${first.message} (and ${others} more)`,
    details: record.failures.map((failure) => ({
      ...failure,
      asset_id: toOpaque('asset', failure.asset_id),
    })),
  };
}

/** One asset's part of a scan. A report that waits for ingest is still work in progress. */
export function presentRun(record: RunRecord): z.input<typeof ScanRun> {
  return {
    id: toOpaque('run', record.id),
    asset_id: toOpaque('asset', record.asset_id),
    status: record.status,
    commit: record.commit,
    scanners: record.scanners.map((scanner) => ({ scanner, ...presentState(record.states[scanner]) })),
    started_at: record.started_at,
    finished_at: record.finished_at,
  };
}

function presentState(state: ScannerState | undefined) {
  if (!state)
    return {
      status: 'waiting' as const,
      started_at: null,
      finished_at: null,
      finding_count: null,
      suppressed_in_repository: [],
      error: null,
    };
  const { result, status, ...shown } = state;
  return {
    ...shown,
    suppressed_in_repository: result?.hidden ?? [],
    status: status === 'reported' ? ('running' as const) : status,
  };
}
