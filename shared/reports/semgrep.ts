import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Severity } from '#domain/vocabulary.ts';
import {
  cweIds,
  descriptionOf,
  normaliseCode,
  reportedPath,
  ruleId,
  titleOf,
  titleOfRule,
  told,
} from './normalise.ts';
import type { ReportedFinding } from './reported-finding.ts';
import type { ParsedReport } from './result.ts';
import { compareText, fingerprintOf, numberOccurrences, parseTop, ResultReader, settle } from './result.ts';

export const semgrepTop = z.object({ results: z.array(z.unknown()), errors: told.list });
export const SEMGREP_SHAPE = 'it has no "results" list.';

const position = z.object({ line: z.number().int().min(1), col: z.number().int().catch(0) });

const semgrepResult = z.object({
  check_id: ruleId,
  path: reportedPath,
  start: position,
  end: position,
  extra: z.object({
    message: z.string().catch(''),
    severity: z.string(),
    // A rule's author writes these as he likes.
    metadata: z.record(z.string(), z.unknown()).catch({}),
    lines: told.text,
    is_ignored: z.boolean().nullish().catch(null),
    /** Added by the runner: see `sanitise.ts`. */
    code_hash: told.text,
  }),
});
type SemgrepResult = z.output<typeof semgrepResult>;

/** Both scales of Semgrep: the three levels of its rules, and the four of its newer ones. */
const SEVERITY: Readonly<Record<string, Severity>> = {
  INFO: 'info',
  INVENTORY: 'info',
  EXPERIMENT: 'info',
  WARNING: 'medium',
  ERROR: 'high',
  LOW: 'low',
  MEDIUM: 'medium',
  HIGH: 'high',
  CRITICAL: 'critical',
};

/** Semgrep's JSON. Its own fingerprint needs a login and is not used. */
export function parseSemgrep(report: unknown): ParsedReport {
  const top = parseTop('semgrep', semgrepTop, report, SEMGREP_SHAPE);
  const reader = new ResultReader('semgrep');
  const results = reader
    .read(semgrepResult, top.results)
    .filter((result) => result.extra.is_ignored !== true);
  const numbered = numberOccurrences(results, identityOf, byPosition);
  return {
    findings: settle(numbered.map(({ item, occurrence }) => findingOf(item, occurrence))),
    warnings: [...reader.warnings(), ...analysisErrors(top.errors)],
  };
}

function findingOf(result: SemgrepResult, occurrence: number): ReportedFinding {
  const { check_id, path, start, end, extra } = result;
  const { title, fix, cwe } = extra.metadata;
  return {
    scanner: 'semgrep',
    rule_id: check_id,
    title: typeof title === 'string' && title.trim() !== '' ? titleOf(title) : titleOfRule(check_id),
    description: descriptionOf(extra.message),
    severity: SEVERITY[extra.severity.toUpperCase()] ?? 'medium',
    category: 'code',
    cve_id: null,
    cwe: cweIds(cwe),
    cvss_score: null,
    epss_score: null,
    epss_percentile: null,
    kev: false,
    package: null,
    location: { path, start_line: start.line, end_line: Math.max(start.line, end.line) },
    fix: typeof fix === 'string' && fix.trim() !== '' ? descriptionOf(fix) : null,
    fingerprint: fingerprintOf('semgrep', check_id, path, codeOf(result), occurrence),
  };
}

function identityOf(result: SemgrepResult): string {
  return JSON.stringify([result.check_id, result.path, codeOf(result)]);
}

/** The runner's hash of the code; in a foreign report the code that it quotes; else all there is, the message. */
function codeOf({ extra }: SemgrepResult): string {
  if (typeof extra.code_hash === 'string') return extra.code_hash;
  const quoted = extra.lines ?? 'requires login';
  const code = quoted.trim() === 'requires login' ? extra.message : quoted;
  return createHash('sha256').update(normaliseCode(code)).digest('hex');
}

function byPosition(a: SemgrepResult, b: SemgrepResult): number {
  return (
    a.start.line - b.start.line ||
    a.start.col - b.start.col ||
    a.end.line - b.end.line ||
    a.end.col - b.end.col ||
    compareText(a.extra.message, b.extra.message)
  );
}

/** Files that Semgrep could not analyse, by kind: it exits 0 even so. */
function analysisErrors(errors: readonly unknown[] | null | undefined): string[] {
  const count = errors?.length ?? 0;
  return count === 0 ? [] : [`semgrep could not analyse everything: ${count} errors in its report.`];
}
