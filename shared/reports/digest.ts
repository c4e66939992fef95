import { hash } from 'node:crypto';
import type { ReportedFinding } from './reported-finding.ts';

/** All that a scanner says of a finding, but what the daily feeds know better and who it is. */
const SAID = [
  'rule_id',
  'title',
  'description',
  'severity',
  'category',
  'cve_id',
  'cwe',
  'cvss_score',
  'package',
  'location',
  'fix',
] as const satisfies readonly (keyof ReportedFinding)[];

/**
 * 12 hex digits of what a scanner says of a finding. EPSS and KEV are left out: they change daily, and are
 * joined when a finding is read.
 */
export function digestFinding(finding: Pick<ReportedFinding, (typeof SAID)[number]>): string {
  return hash('sha256', JSON.stringify(SAID.map((name) => finding[name])), 'hex').slice(0, 12);
}

/** A record with what the scanner says of it now; who it is, and what people made of it, stay. */
export function withReported<T extends ReportedFinding>(held: T, reported: ReportedFinding): T {
  const { fingerprint: _, scanner: __, ...said } = reported;
  return { ...held, ...said };
}
