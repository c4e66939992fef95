import type * as z from 'zod';
import type { Finding } from '#contract/schemas/records.ts';

type FindingShown = z.input<typeof Finding>;
type Cell = string | number | boolean | null | undefined;

/** Columns in order: the fields of a finding, those of its parts joined by an underscore. */
const COLUMNS: Readonly<Record<string, (finding: FindingShown) => Cell>> = {
  id: (one) => one.id,
  severity: (one) => one.severity,
  status: (one) => one.status,
  title: (one) => one.title,
  scanner: (one) => one.scanner,
  tool: (one) => one.tool,
  rule_id: (one) => one.rule_id,
  category: (one) => one.category,
  cve_id: (one) => one.cve_id,
  cwe: (one) => one.cwe.join(' '),
  cvss_score: (one) => one.cvss_score,
  epss_score: (one) => one.epss_score,
  epss_percentile: (one) => one.epss_percentile,
  kev: (one) => one.kev,
  package_name: (one) => one.package?.name,
  package_version: (one) => one.package?.version,
  package_fixed_version: (one) => one.package?.fixed_version,
  package_purl: (one) => one.package?.purl,
  location_path: (one) => one.location.path,
  location_start_line: (one) => one.location.start_line,
  location_end_line: (one) => one.location.end_line,
  fix: (one) => one.fix,
  project_id: (one) => one.project_id,
  sub_project_id: (one) => one.sub_project_id,
  asset_id: (one) => one.asset_id,
  first_seen_scan_id: (one) => one.first_seen_scan_id,
  last_seen_scan_id: (one) => one.last_seen_scan_id,
  created_at: (one) => one.created_at,
  updated_at: (one) => one.updated_at,
  age_days: (one) => one.age_days,
  resolved_at: (one) => one.resolved_at,
  sla_due_at: (one) => one.sla_due_at,
  assignee: (one) => one.assignee,
  notes: (one) => one.notes,
  suppression_reason: (one) => one.suppression?.reason,
  suppression_comment: (one) => one.suppression?.comment,
  suppression_expires_at: (one) => one.suppression?.expires_at,
  priority: (one) => one.priority,
  owner: (one) => one.owner,
  fingerprint: (one) => one.fingerprint,
  description: (one) => one.description,
};

/** RFC 4180: lines end in CRLF. */
export function csvHeader(): string {
  return `${Object.keys(COLUMNS).join(',')}\r\n`;
}

export function csvLine(finding: FindingShown): string {
  return `${Object.values(COLUMNS)
    .map((read) => cell(read(finding)))
    .join(',')}\r\n`;
}

/** A text that a spreadsheet would take for a formula gets an apostrophe before it. */
function cell(value: Cell): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  const plain = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
