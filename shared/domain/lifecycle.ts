import { timestamp } from './clock.ts';
import type { FindingStatus, SuppressionReason } from './vocabulary.ts';

/** What a finding's life consists of, as far as its status goes. */
export interface Life {
  readonly status: FindingStatus;
  /** Whether the last complete run of its scanner reported it. */
  readonly reported: boolean;
  readonly status_set_by: 'scanner' | 'person' | 'policy';
  /** What it would be, had no policy set it; null where none has. */
  readonly status_without_policy: 'open' | 'reopened' | null;
  readonly resolved_at: string | null;
  readonly resolved_by_scan_id: string | null;
  readonly suppression: Suppression | null;
  readonly updated_at: string;
}

export interface Suppression {
  readonly reason: SuppressionReason | null;
  readonly comment: string | null;
  /** ISO 8601; null: until somebody reopens it. */
  readonly expires_at: string | null;
}

const NO_REASON: Suppression = { reason: null, comment: null, expires_at: null };

/** Somebody has to do something about it: neither resolved nor suppressed. */
export function isLive(status: FindingStatus): boolean {
  return status !== 'resolved' && status !== 'suppressed';
}

/** A status as somebody sets it: what else of the finding goes with it (design 5). */
export function withStatus<T extends Life>(
  held: T,
  status: FindingStatus,
  by: Life['status_set_by'],
  at: number,
  suppression: Suppression = NO_REASON,
): T {
  return {
    ...held,
    status,
    status_set_by: by,
    status_without_policy: by === 'policy' ? statusWithoutPolicy(held) : null,
    resolved_at: status === 'resolved' ? timestamp(at) : null,
    resolved_by_scan_id: null,
    suppression: status === 'suppressed' ? suppression : null,
    updated_at: timestamp(at),
  };
}

/** What a status that is the policies' to set would be without them: a scanner makes findings open, or reopened. */
export function statusWithoutPolicy({ status, status_without_policy }: Life): 'open' | 'reopened' {
  return status_without_policy ?? (status === 'reopened' ? 'reopened' : 'open');
}

/** A run reports it: what was resolved is reopened, everything else stays as it was decided. */
export function whenReported<T extends Life>(held: T, at: number): T {
  const seen = { ...held, reported: true };
  return held.status === 'resolved' ? withStatus(seen, 'reopened', 'scanner', at) : seen;
}

/**
 * A complete run no longer reports it: resolved. A person's suppression outlives its finding, so that the
 * decision still holds when it comes back; policies are asked again then.
 */
export function whenAbsent<T extends Life>(held: T, scanId: string, at: number, autoResolve: boolean): T {
  const gone = { ...held, reported: false };
  if (!endsWithReport(held) || !autoResolve) return gone;
  return { ...withStatus(gone, 'resolved', 'scanner', at), resolved_by_scan_id: scanId };
}

/**
 * The scan that saw a finding last. The last complete run saw all that is reported (null: there was none), so
 * that an unchanged finding need not be written; an incomplete one saw what it wrote. Scans' ids sort by time.
 */
export function lastSeen(
  { reported, last_seen_scan_id }: { readonly reported: boolean; readonly last_seen_scan_id: string },
  lastRun: string | null | undefined,
): string {
  return reported && lastRun && lastRun > last_seen_scan_id ? lastRun : last_seen_scan_id;
}

/**
 * Whether the scanner says otherwise than what was decided: resolved though reported, or live though not.
 * Its next run has to look at it, even where the report has not changed.
 */
export function needsRevisit(held: Pick<Life, 'status' | 'reported' | 'status_set_by'>): boolean {
  return held.reported ? held.status === 'resolved' : endsWithReport(held);
}

/** Whether it is anything to policies: what is closed, and not reported any more, is nobody's to judge. */
export function isJudged(held: Pick<Life, 'status' | 'reported' | 'status_set_by'>): boolean {
  return held.reported ? held.status !== 'resolved' : endsWithReport(held);
}

/** What nobody reports any more is resolved, unless it is already, or a person suppressed it. */
function endsWithReport({ status, status_set_by }: Pick<Life, 'status' | 'status_set_by'>): boolean {
  return isLive(status) || (status === 'suppressed' && status_set_by === 'policy');
}
