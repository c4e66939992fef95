import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, gunzip } from 'node:zlib';
import * as z from 'zod';
import { FINDING_CATEGORIES, SCANNERS, type Scanner, SEVERITIES } from '#domain/vocabulary.ts';
import { parseReport } from '#shared/reports/parse.ts';
import type { ReportedFinding } from '#shared/reports/reported-finding.ts';

const unzip = promisify(gunzip);

/** A report unpacks to at most this; the runner refuses larger ones before that. */
const MAX_REPORT_BYTES = 200 * 1024 * 1024;

/**
 * The findings of a report, to be gone through more than once: ingest first learns which there are, then
 * takes those that it needs, so that a large report is never in memory as a whole.
 */
export interface ReportSource {
  findings(): AsyncIterable<ReportedFinding>;
}

/** Findings that are at hand. */
export function sourceOf(findings: readonly ReportedFinding[]): ReportSource {
  return {
    async *findings() {
      yield* findings;
    },
  };
}

/** What an import left in the bucket: written by us alone, so that its shape is checked but not mended. */
const Line = z.looseObject({
  scanner: z.enum(SCANNERS),
  severity: z.enum(SEVERITIES),
  category: z.enum(FINDING_CATEGORIES),
  fingerprint: z.string(),
  rule_id: z.string(),
});

/**
 * Opens an uploaded report: a scanner's own JSON is parsed whole, an import's findings are read line by line.
 * @throws InvalidReportError, or zlib's and JSON's own errors, the latter while it is gone through
 */
export async function openReport(
  scanner: Scanner,
  format: 'native' | 'findings',
  gzipped: Uint8Array,
): Promise<ReportSource> {
  if (format === 'findings') return { findings: () => readLines(gzipped) };
  const bytes = await unzip(gzipped, { maxOutputLength: MAX_REPORT_BYTES });
  return sourceOf(parseReport(scanner, JSON.parse(bytes.toString('utf8'))).findings);
}

async function* readLines(gzipped: Uint8Array): AsyncIterable<ReportedFinding> {
  const unzipped = Readable.from([gzipped]).pipe(createGunzip());
  for await (const line of createInterface({ input: unzipped, crlfDelay: Number.POSITIVE_INFINITY }))
    if (line !== '') yield Line.parse(JSON.parse(line)) as unknown as ReportedFinding;
}

/** As `openReport` reads it: a finding a line. */
export function toLines(findings: readonly ReportedFinding[]): string {
  return findings.map((finding) => `${JSON.stringify(finding)}\n`).join('');
}
