import type * as z from 'zod';
import type { Finding } from '#contract/schemas/records.ts';
import { timestamp } from '#domain/clock.ts';
import { toOpaque } from '#domain/ids.ts';
import { isLive, lastSeen } from '#domain/lifecycle.ts';
import { placementOf } from '#domain/placement.ts';
import type { VulnerabilityScore } from '#domain/vulnerability-scores.ts';
import type { FindingRecord } from '#store/finding-record.ts';
import { type FindingPage, headName } from '#store/findings.ts';

const DAY = 24 * 3600 * 1000;

interface Shown {
  readonly project_id: string | null;
  readonly sub_project_id: string | null;
  readonly last_seen_scan_id: string;
  /** Days from first detection to the due date. */
  readonly slaDays: number | null;
  /** What the daily feeds say of its CVE; until they do, what the scanner said counts. */
  readonly score: VulnerabilityScore | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Findings as Family B shows them, with what their assets and manifests know. */
export function presentFindings({ records, context }: FindingPage, now: number): z.input<typeof Finding>[] {
  return records.map((record) => {
    const asset = context.assets.get(record.asset_id);
    const place = record.routed_to === null ? asset : placementOf(record.routed_to);
    const seen = context.heads.get(headName(record));
    return present(record, {
      project_id: textOrNull(place?.project_id),
      sub_project_id: textOrNull(place?.sub_project_id),
      last_seen_scan_id: lastSeen(record, seen),
      slaDays: context.slaDays[record.severity],
      score: record.cve_id === null ? null : (context.scores.get(record.cve_id) ?? null),
      now,
    });
  });
}

/** When it is due: so many days after its first detection; of what nobody has to look at any more, never. */
function dueAt(record: FindingRecord, days: number | null): string | null {
  if (days === null || !isLive(record.status)) return null;
  return timestamp(Date.parse(record.created_at) + days * DAY);
}

function present(record: FindingRecord, shown: Shown): z.input<typeof Finding> {
  return {
    id: toOpaque('finding', record.id),
    title: record.title,
    description: record.description,
    severity: record.severity,
    status: record.status,
    scanner: record.scanner,
    tool: record.tool,
    rule_id: record.rule_id,
    category: record.category,
    cve_id: record.cve_id,
    cwe: record.cwe,
    cvss_score: record.cvss_score,
    epss_score: shown.score?.epss ?? record.epss_score,
    epss_percentile: shown.score?.epss == null ? record.epss_percentile : shown.score.percentile,
    kev: record.kev || shown.score?.kev === true,
    package: record.package,
    location: record.location,
    fix: record.fix,
    project_id: shown.project_id && toOpaque('project', shown.project_id),
    sub_project_id: shown.sub_project_id && toOpaque('project', shown.sub_project_id),
    asset_id: toOpaque('asset', record.asset_id),
    first_seen_scan_id: toOpaque('scan', record.first_seen_scan_id),
    last_seen_scan_id: toOpaque('scan', shown.last_seen_scan_id),
    created_at: record.created_at,
    updated_at: record.updated_at,
    age_days: Math.max(0, Math.floor((shown.now - Date.parse(record.created_at)) / DAY)),
    resolved_at: record.resolved_at,
    sla_due_at: dueAt(record, shown.slaDays),
    assignee: record.assignee && toOpaque('user', record.assignee),
    notes: record.notes,
    suppression: record.suppression,
    suppressed_in_repository: record.suppressed_in_repository,
    priority: record.priority,
    owner: record.owner,
    policy_results: record.policy_results.map((result) => ({
      ...result,
      policy_id: toOpaque('policy', result.policy_id),
    })),
    fingerprint: record.fingerprint,
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
