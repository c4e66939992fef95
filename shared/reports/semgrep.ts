import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Severity } from '#domain/vocabulary.ts';
import { hiddenBy } from './hidden.ts';
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
import {
  compareText,
  fingerprintOf,
  numberOccurrences,
  parseTop,
  pathsOf,
  ResultReader,
  reasonOf,
  settle,
  unreadable,
} from './result.ts';

const scannedPaths = z.object({ scanned: told.list }).nullish().catch(null);

export const semgrepTop = z.object({
  results: z.array(z.unknown()),
  errors: z.unknown().optional(),
  paths: scannedPaths,
});
export const SEMGREP_SHAPE = 'it has no "results" list.';

/** What Semgrep writes in place of what it tells to those who log in. */
const WITHHELD = 'requires login';

const matched = z.object({
  lines: told.text,
  fingerprint: told.text,
  metavars: z
    .record(z.string(), z.object({ abstract_content: told.text }).nullish().catch(null))
    .nullish()
    .catch(null),
});

const position = z.object({ line: z.number().int().min(1), col: z.number().int().catch(0) });

const semgrepResult = z.object({
  check_id: ruleId,
  path: reportedPath,
  start: position,
  end: position,
  extra: matched.extend({
    message: z.string().catch(''),
    severity: z.string(),
    // A rule's author writes these as he likes.
    metadata: z.record(z.string(), z.unknown()).catch({}),
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

/** An error without a level is none that Semgrep writes. */
const analysisError = z.object({
  level: z.string(),
  path: told.text,
  type: z.union([z.string(), z.array(z.unknown()).transform(([name]) => name)]).catch(''),
});

/** Semgrep's JSON. */
export function parseSemgrep(report: unknown): ParsedReport {
  const top = parseTop('semgrep', semgrepTop, report, SEMGREP_SHAPE);
  const reader = new ResultReader('semgrep');
  // Numbered together: what a comment hides stays the finding that it was without it.
  const numbered = numberOccurrences(reader.read(semgrepResult, top.results), identityOf, byPosition);
  const findings = (ignored: boolean) =>
    settle(
      numbered
        .filter(({ item }) => (item.extra.is_ignored === true) === ignored)
        .map(({ item, occurrence }) => findingOf(item, occurrence)),
    );
  const errors = errorsOf(top.errors);
  const { incomplete, unread } = shortOf(errors, top.paths?.scanned?.length ?? 0);
  return {
    findings: findings(false),
    hidden: findings(true).map((finding) => hiddenBy('nosemgrep', finding)),
    warnings: [...reader.warnings(), ...warningsOf(errors)],
    incomplete: reasonOf(unreadable(reader), incomplete),
    unread,
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

/** The runner's hash of the code, else that of whatever else tells the match; the message never does. */
function codeOf({ extra }: SemgrepResult): string {
  if (typeof extra.code_hash === 'string') return extra.code_hash;
  const code = matchOf(extra);
  return code === null ? '' : createHash('sha256').update(normaliseCode(code)).digest('hex');
}

/**
 * What a result says of the code that it matched, for who can't read the code itself: the lines; where
 * Semgrep withholds them, its own fingerprint; else what the metavariables stand for.
 */
export function matchOf(extra: unknown): string | null {
  const told = matched.safeParse(extra).data;
  for (const text of [told?.lines, told?.fingerprint])
    if (typeof text === 'string' && text.trim() !== '' && text.trim() !== WITHHELD) return text;
  const contents = metavariablesOf(extra);
  return contents.length === 0 ? null : JSON.stringify(contents);
}

/** Name and code of each metavariable, by name. */
export function metavariablesOf(extra: unknown): (readonly [string, string])[] {
  return Object.entries(matched.safeParse(extra).data?.metavars ?? {})
    .flatMap(([name, value]) => (value?.abstract_content ? [[name, value.abstract_content] as const] : []))
    .sort(([a], [b]) => compareText(a, b));
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

/** Something else than a list in its place counts as one error that can't be read. */
export function errorsOf(errors: unknown): readonly unknown[] {
  if (errors === undefined || errors === null) return [];
  return Array.isArray(errors) ? errors : [null];
}

/** Files that Semgrep could not analyse, by kind: it exits 0 even so. */
function warningsOf(errors: readonly unknown[]): string[] {
  return errors.length === 0
    ? []
    : [`semgrep could not analyse everything: ${errors.length} errors in its report.`];
}

/** Limits of the machine's, by Semgrep's names for them: another run may get further. */
const OUT_OF_MEANS: ReadonlySet<unknown> = new Set([
  'Timeout',
  'Timeout during interfile analysis',
  'Out of memory',
  'OOM during interfile analysis',
  'Stack overflow',
]);
/** Source that no parser reads: so it was in the last run, and so it stays until somebody mends it. */
const UNPARSABLE: ReadonlySet<unknown> = new Set([
  'Syntax error',
  'Other syntax error',
  'Lexical error',
  'PartialParsing',
]);
/** Where more of the files than this were left for want of time or memory, the run as a whole fell short. */
const MOST_LEFT = 0.1;

/**
 * Why the results may be short of what is there. A file that could not be parsed is the same in every run, and
 * would keep a report from ever being whole, as would one that always takes too long: of these only what was
 * known there is kept (`unread`). What names no file, rules that did not run, and crashes are of the whole run;
 * so is an error that can't be read. What Semgrep was told to skip (`paths.skipped`) was skipped before.
 */
function shortOf(errors: readonly unknown[], scanned: number): Pick<ParsedReport, 'incomplete' | 'unread'> {
  const told = errors.map((error) => analysisError.safeParse(error).data);
  const known = told.filter((error) => error !== undefined);
  const shown = known.filter(({ level }) => level !== 'info');
  const limits = shown.filter(({ type }) => OUT_OF_MEANS.has(type));
  const failures = shown.filter(
    ({ level, type, path }) => !OUT_OF_MEANS.has(type) && (UNPARSABLE.has(type) ? !path : level !== 'warn'),
  );
  const left = pathsOf(limits.map(({ path }) => path)).length;
  const starved = limits.some(ofTheWhole) || left > scanned * MOST_LEFT;
  return {
    incomplete: reasonOf(
      errorsIn('semgrep could not run everything', failures),
      starved ? errorsIn('semgrep ran out of time or memory', limits) : null,
      errorsIn(
        'semgrep told what can not be read',
        told.filter((error) => error === undefined),
      ),
    ),
    unread: pathsOf(shown.map(({ path }) => path)),
  };
}

/** An analysis across files may have come from any of them to the one that it names. */
function ofTheWhole({ path, type }: z.output<typeof analysisError>): boolean {
  return !path || String(type).includes('interfile');
}

function errorsIn(what: string, { length }: readonly unknown[]): string | null {
  return length === 0 ? null : `${what}: ${length} ${length === 1 ? 'error' : 'errors'} in its report`;
}
