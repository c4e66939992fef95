import { ServiceError } from '#domain/errors.ts';
import { SCANNERS, type Scanner } from '#domain/vocabulary.ts';

import { JsonRefused } from '#shared/json/refused.ts';
import type { HiddenFinding } from '#shared/reports/hidden.ts';

import { parseReport, recogniseReport } from '#shared/reports/parse.ts';
import type { ReportedFinding } from '#shared/reports/reported-finding.ts';
import { InvalidReportError } from '#shared/reports/result.ts';
import { sanitiseReport, secretsIn } from '#shared/reports/sanitise.ts';
import {
  looksLikeSarif,
  MAX_RESULTS,
  parseSarif,
  SarifError,
  type SarifReport,
} from '#shared/reports/sarif.ts';
import { readPruned } from './read-pruned.ts';
import type { ReportLimits } from './report-limits.ts';

/** Tools of one log: it is one project's, not an archive of many. */
const MAX_TOOLS = 100;

/** What an import holds of one scanner. */
export interface ImportedReport {
  readonly scanner: Scanner;
  readonly findings: readonly ReportedFinding[];
  /** As in `ParsedReport`. */
  readonly incomplete: string | null;
  readonly unread?: readonly string[];
  readonly hidden?: readonly HiddenFinding[] | undefined;
  /** As in `SarifReport`; absent: the scanner's own. */
  readonly tools?: readonly (string | null)[];
}

/**
 * The findings of an uploaded report, by scanner: free of secrets, code and personal data like those of
 * our own runners.
 * @param named the scanner that the caller says it is of
 * @param key the organization's fingerprint key
 * @throws ServiceError invalid_json, validation_error, invalid_parameter, payload_too_large
 */
export async function readUpload(
  bytes: Uint8Array,
  named: Scanner | null,
  key: string,
  limits: ReportLimits,
): Promise<ImportedReport[]> {
  const report = await read(bytes, limits);
  try {
    if (looksLikeSarif(report)) return withFewTools(parseSarif(report, key, named));
    const scanner = named ?? recognise(report);
    return [await readNative(scanner, report, key)];
  } catch (error) {
    if (error instanceof SarifError && error.about === 'scanner') throw wrongParameter(error.message);
    if (error instanceof SarifError || error instanceof InvalidReportError) throw wrongReport(error.message);
    throw error;
  }
}

/** Each tool has a manifest of its own. */
function withFewTools(reports: SarifReport[]): SarifReport[] {
  const tools = reports.reduce((total, report) => total + report.tools.length, 0);
  if (tools <= MAX_TOOLS) return reports;
  throw wrongReport(`The log has runs of ${tools} tools; at most ${MAX_TOOLS} are taken`);
}

async function readNative(scanner: Scanner, report: unknown, key: string): Promise<ImportedReport> {
  recogniseReport(scanner, report);
  const sanitised = await sanitiseReport(scanner, report, {
    key,
    // An import has no checkout.
    readLines: async () => null,
    secrets: scanner === 'gitleaks' ? secretsIn(report) : new Set(),
  });
  const { findings, hidden, incomplete, unread } = parseReport(scanner, sanitised);
  if (findings.length > MAX_RESULTS)
    throw wrongReport(`The report holds ${findings.length} results; at most ${MAX_RESULTS} are taken`);
  return { scanner, findings, hidden, incomplete, unread };
}

async function read(bytes: Uint8Array, limits: ReportLimits): Promise<unknown> {
  try {
    return await readPruned(bytes, limits);
  } catch (error) {
    throw error instanceof JsonRefused ? refusalOf(error) : error;
  }
}

function refusalOf({ reason, message: told }: JsonRefused): ServiceError {
  const message = `The report ${told}`;
  if (reason === 'syntax') return new ServiceError('invalid_json', message);
  return reason === 'too_large' ? new ServiceError('payload_too_large', message) : wrongReport(message);
}

/** Which scanner's JSON it is. @throws ServiceError where none or several fit */
function recognise(report: unknown): Scanner {
  const fitting = SCANNERS.filter((scanner) => fits(scanner, report));
  const [only] = fitting;
  if (only && fitting.length === 1 && !(Array.isArray(report) && report.length === 0)) return only;
  throw wrongParameter(
    `scanner is required: the report can not be told to be of one of ${SCANNERS.join(', ')}`,
  );
}

function fits(scanner: Scanner, report: unknown): boolean {
  try {
    recogniseReport(scanner, report);
    return true;
  } catch {
    return false;
  }
}

function wrongReport(message: string): ServiceError {
  return new ServiceError('validation_error', message, { details: [{ field: 'body', message }] });
}

function wrongParameter(message: string): ServiceError {
  return new ServiceError('invalid_parameter', message, { details: [{ field: 'scanner', message }] });
}
