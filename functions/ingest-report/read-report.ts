import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Scanner } from '#domain/vocabulary.ts';
import { parseReport } from '#shared/reports/parse.ts';
import type { ReportedFinding } from '#shared/reports/reported-finding.ts';

const unzip = promisify(gunzip);

/** A report unpacks to at most this; the runner refuses larger ones before that. */
const MAX_REPORT_BYTES = 200 * 1024 * 1024;

/** Unpacks and parses an uploaded report. @throws InvalidReportError, or zlib's and JSON's own errors */
export async function readReport(scanner: Scanner, gzipped: Uint8Array): Promise<ReportedFinding[]> {
  const bytes = await unzip(gzipped, { maxOutputLength: MAX_REPORT_BYTES });
  return parseReport(scanner, JSON.parse(bytes.toString('utf8'))).findings;
}
