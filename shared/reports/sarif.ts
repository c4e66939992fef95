import * as z from 'zod';
import { type FindingCategory, SCANNERS, type Scanner, type Severity } from '#domain/vocabulary.ts';
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
import { hmac, withoutLiterals } from './redact.ts';
import type { ReportedFinding } from './reported-finding.ts';
import { compareText, fingerprintOf, numberOccurrences, ResultReader, settle } from './result.ts';

/** Results of one run of a report; GitHub's code scanning has the same bound. */
export const MAX_RESULTS = 25_000;

const message = z.object({ text: told.text, id: told.text }).nullish().catch(null);
const properties = z.record(z.string(), z.unknown()).nullish().catch(null);

const rule = z.object({
  id: told.text,
  name: told.text,
  shortDescription: message,
  fullDescription: message,
  help: message,
  messageStrings: z.record(z.string(), message).nullish().catch(null),
  defaultConfiguration: z.object({ level: told.text }).nullish().catch(null),
  properties,
});
type Rule = z.output<typeof rule>;

const component = z.object({ name: told.text, rules: z.array(rule).nullish().catch(null) });

const run = z.object({
  tool: z.object({
    driver: z.object({ name: z.string().min(1).max(200), rules: component.shape.rules }),
    extensions: z.array(component).nullish().catch(null),
  }),
  artifacts: z
    .array(z.object({ location: z.object({ uri: told.text }).nullish().catch(null) }))
    .nullish()
    .catch(null),
  results: z.array(z.unknown()).nullish(),
});
type Run = z.output<typeof run>;

const sarif = z.object({ version: z.string().startsWith('2.1'), runs: z.array(run) });

const region = z
  .object({ startLine: told.line, endLine: told.line, startColumn: told.line, snippet: message })
  .nullish()
  .catch(null);
const index = z.number().int().min(0).nullish().catch(null);

const result = z.object({
  ruleId: told.text,
  ruleIndex: index,
  rule: z
    .object({ id: told.text, index, toolComponent: z.object({ index }).nullish().catch(null) })
    .nullish()
    .catch(null),
  level: told.text,
  kind: told.text,
  message,
  baselineState: told.text,
  suppressions: z
    .array(z.object({ status: told.text }))
    .nullish()
    .catch(null),
  locations: z
    .array(
      z.object({
        physicalLocation: z
          .object({ artifactLocation: z.object({ uri: told.text, index }).nullish().catch(null), region })
          .nullish()
          .catch(null),
      }),
    )
    .nullish()
    .catch(null),
  fingerprints: z.record(z.string(), z.string()).nullish().catch(null),
  partialFingerprints: z.record(z.string(), z.string()).nullish().catch(null),
  fixes: z
    .array(z.object({ description: message }))
    .nullish()
    .catch(null),
  properties,
});
type Result = z.output<typeof result>;

/** What a SARIF report holds of one scanner. */
export interface SarifReport {
  readonly scanner: Scanner;
  readonly findings: ReportedFinding[];
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
  const parsed = sarif.safeParse(report);
  if (!parsed.success)
    throw new SarifError(
      'report',
      'This is no SARIF 2.1.0 log: it needs version 2.1.0 and runs with a tool.driver.name',
    );
  const { runs } = parsed.data;
  if (runs.length === 0) throw new SarifError('report', 'The SARIF log has no runs');
  const byScanner = Map.groupBy(runs, (one) => named ?? scannerOf(one.tool.driver.name));
  return [...byScanner].map(([scanner, own]) => ({
    scanner,
    findings: settle(own.flatMap((one) => findingsOf(one, scanner, key))),
  }));
}

/** @throws SarifError where the driver is none of the four */
function scannerOf(driver: string): Scanner {
  const found = SCANNERS.find((scanner) => driver.toLowerCase().includes(scanner));
  if (found) return found;
  const shown = driver.replace(/[^\w .()+-]/g, '').slice(0, 60);
  throw new SarifError(
    'scanner',
    `scanner is required: the report's driver ${shown} is none of ${SCANNERS.join(', ')}`,
  );
}

interface Located {
  readonly result: Result;
  readonly rule: Rule | undefined;
  readonly ruleId: string;
  readonly path: string;
  readonly line: number | null;
  readonly column: number;
  readonly identity: string;
}

function findingsOf(one: Run, scanner: Scanner, key: string): ReportedFinding[] {
  const results = one.results ?? [];
  if (results.length > MAX_RESULTS)
    throw new SarifError('report', `A run holds ${results.length} results; at most ${MAX_RESULTS} are taken`);
  const reader = new ResultReader(scanner);
  const located = reader
    .read(result, results)
    .filter(isReported)
    .map((item) => locate(one, item, key));
  reader.warnings();
  const driver = one.tool.driver.name;
  const tool = driver.toLowerCase().includes(scanner) ? undefined : titleOf(driver);
  // The same identity at the same place is one result told twice.
  const distinct = [...new Map(located.map((item) => [positionOf(item), item])).values()];
  return numberOccurrences(distinct, ({ identity }) => identity, byPosition).map(({ item, occurrence }) => ({
    ...findingOf(item, scanner),
    ...(tool && { tool }),
    fingerprint: fingerprintOf(scanner, 'sarif', item.identity, occurrence),
  }));
}

/** Passed checks, results that are gone, and what was suppressed at its source are no findings. */
function isReported({ kind, baselineState, suppressions }: Result): boolean {
  if (kind === 'pass' || kind === 'notApplicable' || baselineState === 'absent') return false;
  return !(suppressions ?? []).some(({ status }) => status !== 'rejected' && status !== 'underReview');
}

function locate(one: Run, item: Result, key: string): Located {
  const found = ruleOf(one, item);
  const id = ruleId.safeParse(item.ruleId ?? item.rule?.id ?? found?.id).data ?? 'unknown';
  const place = item.locations?.[0]?.physicalLocation;
  const path = pathOf(one, place?.artifactLocation);
  return {
    result: item,
    rule: found,
    ruleId: id,
    path,
    line: place?.region?.startLine ?? null,
    column: place?.region?.startColumn ?? 0,
    identity: identityOf(item, id, path, place?.region?.snippet?.text ?? null, key),
  };
}

function ruleOf({ tool }: Run, item: Result): Rule | undefined {
  const at = item.ruleIndex ?? item.rule?.index;
  const extension = item.rule?.toolComponent?.index;
  const rules =
    (typeof extension === 'number' ? tool.extensions?.[extension]?.rules : null) ?? tool.driver.rules;
  if (typeof at === 'number' && rules?.[at]) return rules[at];
  const id = item.ruleId ?? item.rule?.id;
  return id ? rules?.find((candidate) => candidate.id === id) : undefined;
}

/**
 * What makes it the same result in the next report: its fingerprints, else its partial ones with rule and
 * path, else its code with rule and path (an HMAC: the code can be a secret), else its message.
 */
function identityOf(item: Result, id: string, path: string, snippet: string | null, key: string): string {
  const known = usable(item.fingerprints);
  if (known) return JSON.stringify([id, known]);
  const partial = usable(item.partialFingerprints);
  if (partial) return JSON.stringify([id, path, partial]);
  const code = snippet === null || snippet.trim() === '' ? null : hmac(key, normaliseCode(snippet));
  return JSON.stringify([id, path, code ?? item.message?.text ?? '']);
}

/** Sorted; without what tells nothing (Semgrep writes `requires login`), or null. */
function usable(prints: Readonly<Record<string, string>> | null | undefined): [string, string][] | null {
  const told = Object.entries(prints ?? {})
    .filter(([, value]) => value.trim() !== '' && value !== 'requires login')
    .sort(([a], [b]) => compareText(a, b));
  return told.length === 0 ? null : told;
}

function pathOf(
  one: Run,
  location: { uri?: string | null | undefined; index?: number | null | undefined } | null | undefined,
): string {
  const uri = location?.uri ?? one.artifacts?.[location?.index ?? -1]?.location?.uri ?? '.';
  const plain = uri.replace(/^file:\/\/(?:localhost)?/, '');
  return reportedPath.safeParse(decoded(plain)).data ?? '.';
}

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

function findingOf(
  { result: item, rule: of, ruleId: id, path, line }: Located,
  scanner: Scanner,
): ReportedFinding {
  const end = item.locations?.[0]?.physicalLocation?.region?.endLine ?? line;
  const cve = /CVE-\d{4}-\d{4,}/i.exec(id)?.[0].toUpperCase() ?? null;
  const score = scoreOf(item, of);
  const help = of?.help?.text ?? null;
  const fix = item.fixes?.[0]?.description?.text ?? (help !== null && help.length <= 500 ? help : null);
  return {
    scanner,
    rule_id: id,
    title: titleOf(of?.shortDescription?.text ?? of?.name ?? '') || titleOfRule(id),
    description: descriptionOf(messageOf(item, of, scanner), of?.fullDescription?.text),
    severity: severityOf(item, of, score),
    category: categoryOf(scanner, cve, of),
    cve_id: cve,
    cwe: cweIds(id, ...tagsOf(of)),
    cvss_score: cve === null ? null : score,
    epss_score: null,
    epss_percentile: null,
    kev: false,
    package: null,
    location: { path, start_line: line, end_line: line === null ? null : Math.max(line, end ?? line) },
    fix: fix === null || fix.trim() === '' ? null : descriptionOf(fix),
    fingerprint: '',
  };
}

/** Of a secret scanner nothing that could quote the secret; of others nothing that the code quotes. */
function messageOf(item: Result, of: Rule | undefined, scanner: Scanner): string | null {
  if (scanner === 'gitleaks') return null;
  const text =
    item.message?.text ?? (item.message?.id ? of?.messageStrings?.[item.message.id]?.text : null) ?? null;
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

function positionOf({ identity, path, line, column }: Located): string {
  return JSON.stringify([identity, path, line, column]);
}

function byPosition(a: Located, b: Located): number {
  return compareText(a.path, b.path) || (a.line ?? 0) - (b.line ?? 0) || a.column - b.column;
}
