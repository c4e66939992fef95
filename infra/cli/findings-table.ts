import type * as z from 'zod';
import type { Finding } from '#contract/schemas/records.ts';
import { SEVERITIES, type Severity } from '#domain/vocabulary.ts';
import { type Paint, plain, wrap } from './terminal.ts';

type FindingShown = z.output<typeof Finding>;

const COLOUR: Record<Severity, Parameters<Paint>[1]> = {
  critical: 'magenta',
  high: 'red',
  medium: 'yellow',
  low: 'blue',
  info: 'dim',
};

/** Findings by severity, each with its place, rule and fix; a line or two each. */
export function findingsTable(findings: readonly FindingShown[], paint: Paint, width: number): string {
  const bySeverity = Map.groupBy(findings, (finding) => finding.severity);
  return SEVERITIES.filter((severity) => bySeverity.has(severity))
    .map((severity) => {
      const own = bySeverity.get(severity) ?? [];
      const heading = paint(`${severity.toUpperCase()} (${own.length})`, COLOUR[severity]);
      return [heading, ...own.flatMap((finding) => describe(finding, paint, width))].join('\n');
    })
    .join('\n\n');
}

function describe(finding: FindingShown, paint: Paint, width: number): string[] {
  const room = Math.max(40, width - 6);
  const rule =
    finding.cve_id && finding.cve_id !== finding.rule_id
      ? `${finding.rule_id}, ${finding.cve_id}`
      : finding.rule_id;
  const lines = [
    `  ${paint(plain(finding.title), 'bold')}`,
    `      ${place(finding)}  ${paint(`${finding.scanner}: ${plain(rule)}`, 'dim')}`,
  ];
  if (finding.fix) {
    const [first = '', ...more] = wrap(plain(finding.fix), room - 5);
    lines.push(`      ${paint('fix:', 'green')} ${first}`, ...more.map((line) => `           ${line}`));
  }
  return lines;
}

function place({ location }: FindingShown): string {
  const line = location.start_line === null ? '' : `:${location.start_line}`;
  return `${plain(location.path)}${line}`;
}

/** `3 critical, 1 low`; `none` where there is nothing. */
export function countsLine(findings: readonly FindingShown[]): string {
  const parts = SEVERITIES.map((severity) => ({
    severity,
    count: findings.filter((finding) => finding.severity === severity).length,
  }))
    .filter(({ count }) => count > 0)
    .map(({ severity, count }) => `${count} ${severity}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}
