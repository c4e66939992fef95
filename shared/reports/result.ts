import { hash } from 'node:crypto';
import type * as z from 'zod';
import type { Scanner } from '#domain/vocabulary.ts';
import { SEVERITIES } from '#domain/vocabulary.ts';

import { cleanTexts } from './clean-texts.ts';
import type { HiddenFinding } from './hidden.ts';

import { reportedPath } from './normalise.ts';
import type { ReportedFinding, ReportedPackage } from './reported-finding.ts';
import { nameWithoutSecrets, withoutSecrets } from './secret-shapes.ts';

export interface ParsedReport {
  readonly findings: ReportedFinding[];
  /** For the scan's record: what was left out, by count. Never holds report contents. */
  readonly warnings: string[];
  /**
   * Why the report does not tell all that is there to be found; null where it does. What is absent from
   * an incomplete report is not known to be gone. Never holds report contents.
   */
  readonly incomplete: string | null;
  /**
   * Files that were not analysed whole, and folders of such, in the form of findings' paths: what was known of
   * these is not known to be gone (`UnreadPaths`).
   */
  readonly unread: readonly string[];
  /** The same by exact paths, as who has the checkout knows them; absent: none. */
  readonly passedOver?: readonly string[];
  /** Findings that the repository hides, and that are therefore none of `findings`; absent: none. */
  readonly hidden?: readonly HiddenFinding[];
}

/** The report is not what its scanner writes; the message can be shown to the caller. */
export class InvalidReportError extends Error {
  override readonly name = 'InvalidReportError';
  readonly scanner: Scanner;

  constructor(scanner: Scanner, message: string) {
    super(message);
    this.scanner = scanner;
  }
}

/** Parses the report's outer shape, which decides whether it is that scanner's at all. */
export function parseTop<S extends z.ZodType>(
  scanner: Scanner,
  schema: S,
  report: unknown,
  expected: string,
): z.output<S> {
  const parsed = schema.safeParse(report);
  if (parsed.success) return parsed.data;
  throw new InvalidReportError(scanner, `This is no ${scanner} report in JSON: ${expected}`);
}

/**
 * Collects the usable results of a report one by one: a scanner's odd result costs that result,
 * not the report. A report of which nothing is usable is not taken for a clean one.
 */
export class ResultReader {
  readonly #scanner: Scanner;
  #total = 0;
  #malformed = 0;

  constructor(scanner: Scanner) {
    this.#scanner = scanner;
  }

  /** The items of a list that match the schema; a missing list is an empty one. */
  read<S extends z.ZodType>(schema: S, items: unknown): z.output<S>[] {
    if (items === undefined || items === null) return [];
    // Something else than a list in its place counts as one result that can't be read.
    const list: readonly unknown[] = Array.isArray(items) ? items : [null];
    const usable: z.output<S>[] = [];
    for (const item of list) {
      const parsed = schema.safeParse(item);
      this.#total += 1;
      if (parsed.success) usable.push(parsed.data);
      else this.#malformed += 1;
    }
    return usable;
  }

  get unreadable(): number {
    return this.#malformed;
  }

  /** @throws InvalidReportError where there were results and none of them could be read. */
  warnings(): string[] {
    if (this.#malformed === 0) return [];
    const count = `${this.#malformed} of ${this.#total} results`;
    if (this.#malformed === this.#total) {
      throw new InvalidReportError(
        this.#scanner,
        `None of the ${this.#scanner} report's results is readable (${count}).`,
      );
    }
    return [`${count} of the ${this.#scanner} report were malformed and left out.`];
  }
}

/** Results that could not be read may be those that were known: nothing is known to be gone then. */
export function unreadable(...readers: readonly ResultReader[]): string | null {
  const count = readers.reduce((total, reader) => total + reader.unreadable, 0);
  if (count === 0) return null;
  return count === 1 ? '1 result could not be read' : `${count} results could not be read`;
}

/** Each path once, as findings name it. */
export function pathsOf(told: readonly (string | null | undefined)[]): string[] {
  const paths = told.filter((path) => typeof path === 'string' && path !== '');
  return [...new Set(paths.map((path) => reportedPath.parse(path)))].sort(compareText);
}

/** Several reasons as one; null where there is none. */
export function reasonOf(...reasons: readonly (string | null)[]): string | null {
  const told = [...new Set(reasons.filter((reason) => reason !== null))];
  return told.length === 0 ? null : told.join('; ');
}

/** SHA-256 over the scanner's name and the parts, encoded as JSON so that no two lists of parts run together. */
export function fingerprintOf(scanner: Scanner, ...parts: readonly (string | number | null)[]): string {
  return hash('sha256', JSON.stringify([scanner, ...parts]), 'hex');
}

/**
 * Numbers the items that share an identity, in the order of `compare` and not in the report's, which
 * scanners don't keep stable.
 */
export function numberOccurrences<T>(
  items: readonly T[],
  identity: (item: T) => string,
  compare: (a: T, b: T) => number,
): { readonly item: T; readonly occurrence: number }[] {
  const seen = new Map<string, number>();
  return [...items].sort(compare).map((item) => {
    const key = identity(item);
    const occurrence = seen.get(key) ?? 0;
    seen.set(key, occurrence + 1);
    return { item, occurrence };
  });
}

interface HashedSecret {
  readonly secret_hmac?: string | null | undefined;
  readonly match_hmac?: string | null | undefined;
}

/**
 * What tells a secret of one rule and file from the others: its own HMAC; where the report masks it, the HMAC
 * of what else is told of it (see `sanitise.ts`), with its number among equal ones; where there is neither, the
 * number alone.
 */
export function whichSecret({ secret_hmac, match_hmac }: HashedSecret, occurrence: number) {
  if (typeof secret_hmac === 'string') return [secret_hmac];
  return typeof match_hmac === 'string' ? [match_hmac, occurrence] : [occurrence];
}

/**
 * One finding for each identity, in an order that does not depend on the report's: of several the most
 * severe is kept, and of equally severe ones the first by place and content. Every parser ends here: no
 * text leaves it that was not looked through for secrets, whatever its reader forgot.
 */
export function settle(findings: readonly ReportedFinding[]): ReportedFinding[] {
  const kept = new Map<string, ReportedFinding>();
  for (const reported of findings) {
    const finding = withoutAnySecret(reported);
    const other = kept.get(finding.fingerprint);
    if (other === undefined || precedes(finding, other)) kept.set(finding.fingerprint, finding);
  }
  cleanTexts.forget();
  return [...kept.values()].sort(byPlace);
}

function textOf(text: string): string {
  return cleanTexts.has(text) ? text : withoutSecrets(text);
}

function withoutAnySecret(finding: ReportedFinding): ReportedFinding {
  const { tool, fix, location } = finding;
  return {
    ...finding,
    ...(tool && { tool: withoutSecrets(tool) }),
    rule_id: nameWithoutSecrets(finding.rule_id),
    title: textOf(finding.title),
    description: textOf(finding.description),
    package: finding.package && cleanPackage(finding.package),
    location: { ...location, path: nameWithoutSecrets(location.path) },
    fix: fix === null ? null : textOf(fix),
  };
}

function cleanPackage({ name, version, fixed_version: fixed, purl }: ReportedPackage): ReportedPackage {
  return {
    name: nameWithoutSecrets(name),
    version: nameWithoutSecrets(version),
    fixed_version: fixed === null ? null : nameWithoutSecrets(fixed),
    purl: purl === null ? null : nameWithoutSecrets(purl),
  };
}

function precedes(a: ReportedFinding, b: ReportedFinding): boolean {
  const rank = SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity);
  if (rank !== 0) return rank < 0;
  const place = byPlace(a, b);
  return place !== 0 ? place < 0 : JSON.stringify(a) < JSON.stringify(b);
}

function byPlace(a: ReportedFinding, b: ReportedFinding): number {
  return (
    compareText(a.location.path, b.location.path) ||
    (a.location.start_line ?? 0) - (b.location.start_line ?? 0) ||
    compareText(a.rule_id, b.rule_id) ||
    compareText(a.fingerprint, b.fingerprint)
  );
}

/** By code units: the same on every machine, whatever its locale. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
