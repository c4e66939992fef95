import { findCve } from '#domain/cve.ts';
import { toolKey } from '#domain/origin.ts';
import {
  type FindingCategory,
  type HidingKind,
  SCANNERS,
  type Scanner,
  type Severity,
} from '#domain/vocabulary.ts';
import { type HiddenFinding, hiddenBy } from './hidden.ts';
import { cweIds, descriptionOf, ruleId, titleOf, titleOfRule } from './normalise.ts';
import { withoutLiterals } from './redact.ts';
import type { ReportedFinding } from './reported-finding.ts';
import {
  compareText,
  fingerprintOf,
  numberOccurrences,
  pathsOf,
  ResultReader,
  reasonOf,
  settle,
  unreadable,
} from './result.ts';
import { identityOf, saidOf } from './sarif-identity.ts';
import { type Result, type Rule, type Run, result, sarifLog } from './sarif-log.ts';
import { pathOf } from './sarif-paths.ts';
import { RuleBook } from './sarif-rules.ts';
import { brokenOff, troubledPaths } from './sarif-troubles.ts';
import { toolOf } from './tool.ts';

/** Results of one run of a report; GitHub's code scanning has the same bound. */
export const MAX_RESULTS = 25_000;

const LONGEST_NAME = 200;

/** What a SARIF report holds of one scanner. */
export interface SarifReport {
  readonly scanner: Scanner;
  readonly findings: ReportedFinding[];
  /** Of whose runs it is, those that found nothing included: null for the scanner itself (see `toolOf`). */
  readonly tools: readonly (string | null)[];
  /** As in `ParsedReport`. */
  readonly incomplete: string | null;
  readonly unread: readonly string[];
  readonly hidden: readonly HiddenFinding[];
}

/** The report can't be taken; the message can be shown to the caller. */
export class SarifError extends Error {
  override readonly name = 'SarifError';
  /** `scanner`: the caller has to name it; `report`: the report itself is wrong. */
  readonly about: 'scanner' | 'report';

  constructor(about: 'scanner' | 'report', message: string) {
    super(message);
    this.about = about;
  }
}

/** Whether it means to be SARIF, right or wrong. */
export function looksLikeSarif(report: unknown): boolean {
  return typeof report === 'object' && report !== null && 'runs' in report && 'version' in report;
}

/**
 * A SARIF 2.1.0 log as findings, by scanner: the one that the caller names, else the one that each run's
 * driver is. Snippets and whatever else quotes code stay behind: of a secret only an HMAC is left.
 * @param key the organization's fingerprint key
 * @throws SarifError
 */
export function parseSarif(report: unknown, key: string, named: Scanner | null): SarifReport[] {
  const parsed = sarifLog.safeParse(report);
  if (!parsed.success)
    throw new SarifError(
      'report',
      'This is no SARIF 2.1.0 log: it needs version 2.1.0 and runs with a tool.driver.name',
    );
  const { runs } = parsed.data;
  if (runs.length === 0) throw new SarifError('report', 'The SARIF log has no runs');
  // Cut, the names of two tools might become one, and each would resolve the other's findings.
  if (runs.some(({ tool }) => tool.driver.name.length > LONGEST_NAME))
    throw new SarifError('report', `A tool.driver.name is longer than ${LONGEST_NAME} characters`);
  const byScanner = Map.groupBy(runs, (one) => named ?? scannerOf(one.tool.driver.name));
  return [...byScanner].map(([scanner, own]) => reportOf(scanner, own, key));
}

function reportOf(scanner: Scanner, runs: readonly Run[], key: string): SarifReport {
  const reader = new ResultReader(scanner);
  // Several runs of one tool number their results together: equal ones of two runs stay two.
  const byTool = Map.groupBy(runs, (one) => toolOf(one.tool.driver.name, scanner));
  const findings = [...byTool].flatMap(([tool, own]) =>
    findingsOf(
      own.flatMap((one) => located(one, reader, key)),
      scanner,
      tool,
    ),
  );
  reader.warnings();
  const of = (kind: HidingKind | null) =>
    settle(findings.filter(({ hiding }) => hiding === kind).map(({ finding }) => finding));
  const kinds = ['sarif_in_source', 'sarif_external'] as const;
  return {
    scanner,
    findings: of(null),
    hidden: kinds.flatMap((kind) => of(kind).map((finding) => hiddenBy(kind, finding))),
    tools: [...byTool.keys()],
    incomplete: reasonOf(...runs.map(brokenOff), unreadable(reader)),
    unread: pathsOf(runs.flatMap(troubledPaths)),
  };
}

/** @throws SarifError where the driver is none of the four */
function scannerOf(driver: string): Scanner {
  const found = SCANNERS.find((scanner) => driver.toLowerCase().includes(scanner));
  if (found) return found;
  const shown = titleOf(driver)
    .replace(/[^\w .()+-]/g, '')
    .slice(0, 60);
  throw new SarifError(
    'scanner',
    `scanner is required: the report's driver ${shown} is none of ${SCANNERS.join(', ')}`,
  );
}

interface Located {
  readonly result: Result;
  readonly rules: RuleBook;
  readonly rule: Rule | undefined;
  readonly ruleId: string;
  readonly path: string;
  readonly line: number | null;
  readonly column: number;
  readonly identity: string;
  /** Digest of what it says: tells results at one place apart, and is no part of who they are. */
  readonly said: string;
}

function located(one: Run, reader: ResultReader, key: string): Located[] {
  const results = one.results ?? [];
  if (results.length > MAX_RESULTS)
    throw new SarifError('report', `A run holds ${results.length} results; at most ${MAX_RESULTS} are taken`);
  const rules = new RuleBook(one);
  return reader
    .read(result, results)
    .filter(isReported)
    .map((item) => locate(one, rules, item, key));
}

interface Found {
  readonly finding: ReportedFinding;
  readonly hiding: HidingKind | null;
}

/** What is suppressed is numbered with the rest: it stays the finding that it was before. */
function findingsOf(items: readonly Located[], scanner: Scanner, tool: string | null): Found[] {
  // The same identity at the same place is one result told twice.
  const distinct = [...new Map(items.map((item) => [positionOf(item), item])).values()];
  // Of two tools under one scanner's name neither may take the other's findings for its own.
  const origin = tool === null ? [] : [toolKey(tool)];
  return numberOccurrences(distinct, ({ identity }) => identity, byPosition).map(({ item, occurrence }) => ({
    finding: {
      ...findingOf(item, scanner),
      ...(tool !== null && { tool }),
      fingerprint: fingerprintOf(scanner, 'sarif', item.identity, occurrence, ...origin),
    },
    hiding: hidingOf(item.result),
  }));
}

/** Passed checks and results that are gone are no findings. */
function isReported({ kind, baselineState }: Result): boolean {
  return kind !== 'pass' && kind !== 'notApplicable' && baselineState !== 'absent';
}

/** What was suppressed at its source, or in the tool's own records, is there all the same. */
function hidingOf({ suppressions }: Result): HidingKind | null {
  const valid = (suppressions ?? []).find(({ status }) => status !== 'rejected' && status !== 'underReview');
  if (!valid) return null;
  return valid.kind === 'external' ? 'sarif_external' : 'sarif_in_source';
}

function locate(one: Run, rules: RuleBook, item: Result, key: string): Located {
  const rule = rules.find(item);
  const id = ruleId.safeParse(item.ruleId || item.rule?.id || rule?.id).data ?? 'unknown';
  const place = item.locations?.[0]?.physicalLocation;
  const path = pathOf(one, place?.artifactLocation);
  return {
    result: item,
    rules,
    rule,
    ruleId: id,
    path,
    line: place?.region?.startLine ?? null,
    column: place?.region?.startColumn ?? 0,
    identity: identityOf(one, item, id, path, key),
    said: saidOf(one, item, key),
  };
}

function findingOf({ result: item, rules, rule, ruleId: id, path, line }: Located, scanner: Scanner) {
  const end = item.locations?.[0]?.physicalLocation?.region?.endLine ?? line;
  const cve = findCve(id);
  const score = scoreOf(item, rule);
  const texts = rule && rules.textsOf(rule);
  const fix = item.fixes?.[0]?.description?.text ?? '';
  return {
    scanner,
    rule_id: id,
    title: texts?.title || titleOfRule(id),
    description: descriptionOf(messageOf(item, rules, rule, scanner), texts?.description),
    severity: severityOf(item, rule, score),
    category: categoryOf(scanner, cve, rule),
    cve_id: cve,
    cwe: cweIds(id, ...tagsOf(rule)),
    cvss_score: cve === null ? null : score,
    epss_score: null,
    epss_percentile: null,
    kev: false,
    package: null,
    location: { path, start_line: line, end_line: line === null ? null : Math.max(line, end ?? line) },
    fix: descriptionOf(fix) || (texts?.fix ?? null),
  };
}

/** Of a secret scanner nothing that could quote the secret; of others nothing that the code quotes. */
function messageOf(item: Result, rules: RuleBook, rule: Rule | undefined, scanner: Scanner): string | null {
  if (scanner === 'gitleaks') return null;
  const text = rules.messageOf(item, rule);
  const snippet = item.locations?.[0]?.physicalLocation?.region?.snippet?.text ?? '';
  return text === null ? null : withoutLiterals(text, snippet);
}

/** `security-severity` as code hosts read it: a CVSS score as text; of the result, else of its rule. */
function scoreOf(item: Result, of: Rule | undefined): number | null {
  for (const value of [item.properties?.['security-severity'], of?.properties?.['security-severity']]) {
    const score = typeof value === 'string' || typeof value === 'number' ? Number(value) : Number.NaN;
    if (value !== '' && score >= 0 && score <= 10) return score;
  }
  return null;
}

const LEVELS: Readonly<Record<string, Severity>> = {
  error: 'high',
  warning: 'medium',
  note: 'low',
  none: 'info',
};

function severityOf(item: Result, of: Rule | undefined, score: number | null): Severity {
  if (item.kind === 'informational') return 'info';
  if (score === null) return LEVELS[item.level ?? of?.defaultConfiguration?.level ?? 'warning'] ?? 'medium';
  if (score >= 9) return 'critical';
  if (score >= 7) return 'high';
  if (score >= 4) return 'medium';
  return score > 0 ? 'low' : 'info';
}

function tagsOf(of: Rule | undefined): string[] {
  const tags = of?.properties?.tags;
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
}

function categoryOf(scanner: Scanner, cve: string | null, of: Rule | undefined): FindingCategory {
  if (scanner === 'gitleaks') return 'secret';
  if (scanner === 'grype' || cve !== null) return 'vulnerability';
  const tags = tagsOf(of).map((tag) => tag.toLowerCase());
  if (scanner === 'trivy' && tags.includes('secret')) return 'secret';
  if (scanner === 'trivy' && tags.includes('vulnerability')) return 'vulnerability';
  return scanner === 'trivy' ? 'misconfiguration' : 'code';
}

function positionOf({ identity, path, line, column, said }: Located): string {
  return JSON.stringify([identity, path, line, column, said]);
}

function byPosition(a: Located, b: Located): number {
  return (
    compareText(a.path, b.path) ||
    (a.line ?? 0) - (b.line ?? 0) ||
    a.column - b.column ||
    compareText(a.said, b.said)
  );
}
