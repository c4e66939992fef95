import * as z from 'zod';
import type { Scanner } from '#domain/vocabulary.ts';
import { coveredWhole, HiddenFinding } from './hidden.ts';
import { parseReport } from './parse.ts';
import { type ParsedReport, pathsOf, reasonOf } from './result.ts';

/** What only who has the checkout can tell beside a scanner's report. */
export interface BesideReport {
  /** Files that the scanner passes over without a word, in the form of findings' paths. */
  readonly unread: readonly string[];
  /** Of the report's findings those that the repository hides, where its organization lets it. */
  readonly hidden: readonly HiddenFinding[];
}

/** Names what our own runner uploads. An import is never read as one: nobody else can say what is in here. */
const FORMAT = 'aspm-runner-report';

const RunnerReport = z.object({
  format: z.literal(FORMAT),
  report: z.unknown(),
  unread: z.array(z.string()),
  hidden: z.array(HiddenFinding),
});

/** @param report the scanner's own JSON, sanitised: everything that is there, hidden or not */
export function runnerReport(
  report: unknown,
  { unread, hidden }: BesideReport,
): z.input<typeof RunnerReport> {
  return { format: FORMAT, report, unread: [...unread], hidden: [...hidden] };
}

/**
 * What a runner uploaded; one of the release before uploaded the scanner's report alone.
 * @throws InvalidReportError
 */
export function parseRunnerReport(scanner: Scanner, uploaded: unknown): ParsedReport {
  const parsed = RunnerReport.safeParse(uploaded);
  if (!parsed.success) return parseReport(scanner, uploaded);
  const { report, unread, hidden } = parsed.data;
  const told = parseReport(scanner, report);
  const names = new Set(hidden.map(({ fingerprint }) => fingerprint));
  const findings = told.findings.filter(({ fingerprint }) => !names.has(fingerprint));
  return {
    ...told,
    findings,
    hidden: [...(told.hidden ?? []), ...hidden],
    passedOver: pathsOf(unread),
    incomplete: reasonOf(told.incomplete, coveredWhole(scanner, findings.length, hidden)),
  };
}
