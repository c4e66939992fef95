import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import * as z from 'zod';
import { FINDING_CATEGORIES, SCANNERS, type Scanner, SEVERITIES } from '#domain/vocabulary.ts';
import { parseReport } from '#shared/reports/parse.ts';
import type { ReportedFinding } from '#shared/reports/reported-finding.ts';

const unzip = promisify(gunzip);

/** A report unpacks to at most this; the runner refuses larger ones before that. */
const MAX_REPORT_BYTES = 200 * 1024 * 1024;

/** What an import left in the bucket: written by us alone, so that its shape is checked but not mended. */
const Findings = z.array(
  z.looseObject({
    scanner: z.enum(SCANNERS),
    severity: z.enum(SEVERITIES),
    category: z.enum(FINDING_CATEGORIES),
    fingerprint: z.string(),
    rule_id: z.string(),
  }),
);

/** Unpacks and parses an uploaded report. @throws InvalidReportError, or zlib's and JSON's own errors */
export async function readReport(
  scanner: Scanner,
  format: 'native' | 'findings',
  gzipped: Uint8Array,
): Promise<ReportedFinding[]> {
  const bytes = await unzip(gzipped, { maxOutputLength: MAX_REPORT_BYTES });
  const report: unknown = JSON.parse(bytes.toString('utf8'));
  if (format === 'native') return parseReport(scanner, report).findings;
  return Findings.parse(report) as unknown as ReportedFinding[];
}
