import type * as z from 'zod';
import type { Finding } from '#contract/schemas/records.ts';
import { toOpaque } from '#domain/ids.ts';
import type { FindingRecord } from '#store/finding-record.ts';
import type { FindingPage } from '#store/findings.ts';

const DAY = 24 * 3600 * 1000;

interface Shown {
  readonly project_id: string | null;
  readonly sub_project_id: string | null;
  readonly last_seen_scan_id: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Findings as Family B shows them, with what their assets and manifests know. */
export function presentFindings({ records, context }: FindingPage, now: number): z.input<typeof Finding>[] {
  const placeOf = new Map(context.assets.map((asset) => [asset.id, asset]));
  return records.map((record) => {
    const asset = placeOf.get(record.asset_id);
    const seen = context.heads.get(`${record.asset_id}#${record.scanner}`);
    return present(record, {
      project_id: textOrNull(asset?.project_id),
      sub_project_id: textOrNull(asset?.sub_project_id),
      // A finding that is no longer reported keeps the scan that saw it last.
      last_seen_scan_id: record.resolved_by_scan_id === null && seen ? seen : record.last_seen_scan_id,
      now,
    });
  });
}

function present(record: FindingRecord, shown: Shown): z.input<typeof Finding> {
  return {
    id: toOpaque('finding', record.id),
    title: record.title,
    description: record.description,
    severity: record.severity,
    status: record.status,
    scanner: record.scanner,
    rule_id: record.rule_id,
    category: record.category,
    cve_id: record.cve_id,
    cwe: record.cwe,
    cvss_score: record.cvss_score,
    epss_score: record.epss_score,
    epss_percentile: record.epss_percentile,
    kev: record.kev,
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
    sla_due_at: null,
    assignee: record.assignee && toOpaque('user', record.assignee),
    notes: record.notes,
    suppression: record.suppression,
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
