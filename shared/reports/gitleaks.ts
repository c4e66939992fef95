import * as z from 'zod';
import type { Severity } from '#domain/vocabulary.ts';
import { descriptionOf, reportedPath, ruleId, titleOfRule, told } from './normalise.ts';
import type { ReportedFinding } from './reported-finding.ts';
import type { ParsedReport } from './result.ts';
import {
  compareText,
  fingerprintOf,
  numberOccurrences,
  parseTop,
  ResultReader,
  settle,
  unreadable,
  whichSecret,
} from './result.ts';

export const gitleaksTop = z.array(z.unknown());
export const GITLEAKS_SHAPE = 'it is not a list of leaks.';

const leak = z.object({
  RuleID: ruleId,
  Description: told.text,
  File: reportedPath,
  StartLine: told.line,
  EndLine: told.line,
  Commit: told.text,
  Date: told.text,
  /** Added by the runner in place of the secret: see `sanitise.ts`. */
  secret_hmac: told.text,
  match_hmac: told.text,
});
type Leak = z.output<typeof leak>;

/**
 * Gitleaks names no severity. A key that opens an account at a cloud or a code host, or that signs,
 * gives whoever finds it everything at once; the rest is `high`.
 */
const CRITICAL_RULES: readonly RegExp[] = [
  /private-key/,
  /^pkcs12-file$/,
  /^age-secret-key$/,
  /^(?:aws|alibaba|azure|gcp|yandex-aws)-/,
  /^(?:digitalocean|heroku|hashicorp-tf|vault|cloudflare|flyio|kubernetes)-/,
  /^(?:github|gitlab|bitbucket|sourcegraph)-/,
  /^(?:npm|pypi|rubygems|nuget|clojars)-/,
];

/**
 * Gitleaks' JSON. The same secret in the same file is one finding, however many commits hold it: the
 * commit is no part of the identity, because a rewritten history would make every finding a new one.
 * Of several commits the earliest is the one that is shown.
 */
export function parseGitleaks(report: unknown): ParsedReport {
  const top = parseTop('gitleaks', gitleaksTop, report, GITLEAKS_SHAPE);
  const reader = new ResultReader('gitleaks');
  const leaks = reader.read(leak, top);
  const numbered = numberOccurrences(
    leaks,
    (item) => JSON.stringify([item.RuleID, item.File, item.match_hmac ?? null]),
    byAge,
  );
  const first = new Map<string, ReportedFinding>();
  for (const { item, occurrence } of numbered) {
    const finding = findingOf(item, occurrence);
    if (!first.has(finding.fingerprint)) first.set(finding.fingerprint, finding);
  }
  return {
    findings: settle([...first.values()]),
    warnings: reader.warnings(),
    incomplete: unreadable(reader),
    unread: [],
  };
}

function findingOf(item: Leak, occurrence: number): ReportedFinding {
  return {
    scanner: 'gitleaks',
    rule_id: item.RuleID,
    title: titleOfRule(item.RuleID),
    description: descriptionOf(item.Description, whereFound(item)),
    severity: severityOf(item.RuleID),
    category: 'secret',
    cve_id: null,
    cwe: ['CWE-798'],
    cvss_score: null,
    epss_score: null,
    epss_percentile: null,
    kev: false,
    package: null,
    location: { path: item.File, start_line: item.StartLine ?? null, end_line: item.EndLine ?? null },
    fix: 'Revoke the secret, then remove it from the history',
    fingerprint: fingerprintOf('gitleaks', item.RuleID, item.File, ...whichSecret(item, occurrence)),
  };
}

function severityOf(rule: string): Severity {
  return CRITICAL_RULES.some((pattern) => pattern.test(rule)) ? 'critical' : 'high';
}

/** A secret that is gone from the files is still in a commit, which the reader needs to find it. */
function whereFound({ Commit, Date: date }: Leak): string | null {
  if (typeof Commit !== 'string' || !/^[0-9a-f]{7,64}$/.test(Commit)) return null;
  const day = /^\d{4}-\d\d-\d\d/.exec(date ?? '')?.[0];
  return `First found in commit ${Commit.slice(0, 12)}${day === undefined ? '' : ` of ${day}`}.`;
}

function byAge(a: Leak, b: Leak): number {
  return (
    compareText(a.Date ?? '', b.Date ?? '') ||
    compareText(a.Commit ?? '', b.Commit ?? '') ||
    (a.StartLine ?? 0) - (b.StartLine ?? 0) ||
    compareText(JSON.stringify(a), JSON.stringify(b))
  );
}
