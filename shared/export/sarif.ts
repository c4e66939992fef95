import type * as z from 'zod';
import type { Finding } from '#contract/schemas/records.ts';
import type { Scanner, Severity } from '#domain/vocabulary.ts';

type FindingShown = z.input<typeof Finding>;

/** SARIF has three levels; the rest of the severity goes into `security-severity`, as code hosts read it. */
const LEVELS: Record<Severity, { level: 'error' | 'warning' | 'note'; score: string }> = {
  critical: { level: 'error', score: '9.5' },
  high: { level: 'error', score: '8.0' },
  medium: { level: 'warning', score: '5.5' },
  low: { level: 'note', score: '3.0' },
  info: { level: 'note', score: '0.0' },
};

export const SARIF_HEAD = {
  $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
  version: '2.1.0',
} as const;

/** Findings as a SARIF 2.1.0 log: a run for each scanner that has any. */
export function toSarif(findings: readonly FindingShown[]): unknown {
  const byScanner = Map.groupBy(findings, (finding) => finding.scanner);
  return {
    ...SARIF_HEAD,
    runs: [...byScanner].map(([scanner, own]) => toRun(scanner, own)),
  };
}

function toRun(scanner: Scanner, findings: readonly FindingShown[]) {
  const rules = [...new Map(findings.map((finding) => [finding.rule_id, finding])).values()];
  const indexOf = new Map(rules.map((rule, index) => [rule.rule_id, index]));
  return {
    tool: { driver: { name: scanner, rules: rules.map(toRule) } },
    results: findings.map((finding) => toResult(finding, indexOf.get(finding.rule_id) ?? 0)),
  };
}

/** The rule of a finding, as its run lists it once. */
export function toRule(finding: FindingShown) {
  return {
    id: finding.rule_id,
    shortDescription: { text: finding.title },
    ...(finding.fix && { help: { text: finding.fix } }),
    properties: {
      'security-severity': String(finding.cvss_score ?? LEVELS[finding.severity].score),
      tags: ['security', ...finding.cwe.map((cwe) => `external/cwe/${cwe.toLowerCase()}`)],
    },
  };
}

/** @param ruleIndex place of its rule in that list */
export function toResult(finding: FindingShown, ruleIndex: number) {
  const { location } = finding;
  return {
    ruleId: finding.rule_id,
    ruleIndex,
    level: LEVELS[finding.severity].level,
    message: { text: finding.description || finding.title },
    fingerprints: { 'aspm/v1': finding.fingerprint },
    locations: [
      {
        physicalLocation: {
          artifactLocation: {
            uri: uriOf(location.path),
            uriBaseId: '%SRCROOT%',
          },
          ...(location.start_line !== null && {
            region: {
              startLine: location.start_line,
              ...(location.end_line !== null && { endLine: location.end_line }),
            },
          }),
        },
      },
    ],
    // A code host would show these as open alerts otherwise.
    ...(finding.status === 'suppressed' && {
      suppressions: [
        {
          kind: 'external' as const,
          status: 'accepted' as const,
          ...(justificationOf(finding) !== null && { justification: justificationOf(finding) }),
        },
      ],
    }),
    baselineState: baselineOf(finding),
    properties: { severity: finding.severity, status: finding.status, finding_id: finding.id },
  };
}

/** Relative, as RFC 3986 writes it: a colon in the first part would be taken for the end of a scheme. */
function uriOf(path: string): string {
  return path.toWellFormed().split('/').map(encodeURIComponent).join('/');
}

/** Against the scan before the one that saw it last. Told of every result: readers take those without one for new. */
function baselineOf(finding: FindingShown): 'absent' | 'new' | 'unchanged' {
  if (finding.status === 'resolved') return 'absent';
  return finding.first_seen_scan_id === finding.last_seen_scan_id ? 'new' : 'unchanged';
}

function justificationOf({ suppression }: FindingShown): string | null {
  const said = [suppression?.reason, suppression?.comment].filter((one) => one != null);
  return said.length === 0 ? null : said.join(': ');
}
