import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, gunzip } from 'node:zlib';
import * as z from 'zod';
import { FINDING_CATEGORIES, SCANNERS, type Scanner, SEVERITIES } from '#domain/vocabulary.ts';
import { HiddenFinding } from '#shared/reports/hidden.ts';
import { readJson } from '#shared/reports/json.ts';
import type { ReportedFinding } from '#shared/reports/reported-finding.ts';
import { parseRunnerReport } from '#shared/reports/runner-report.ts';

const unzip = promisify(gunzip);

/** A report unpacks to at most this; the runner refuses larger ones before that. */
const MAX_REPORT_BYTES = 200 * 1024 * 1024;

/**
 * The findings of a report, to be gone through more than once: ingest first learns which there are, then
 * takes those that it needs, so that a large report is never in memory as a whole.
 */
export interface ReportSource {
  /** As in `ParsedReport`. */
  readonly incomplete: string | null;
  readonly unread: readonly string[];
  readonly passedOver: readonly string[];
  readonly hidden: readonly HiddenFinding[];
  /** Whose it is, as in `SarifReport`. */
  readonly tools: readonly (string | null)[];
  findings(): AsyncIterable<ReportedFinding>;
}

/** A report that is at hand. */
interface ReportAtHand {
  readonly findings: readonly ReportedFinding[];
  readonly incomplete: string | null;
  readonly unread?: readonly string[] | undefined;
  readonly passedOver?: readonly string[] | undefined;
  readonly hidden?: readonly HiddenFinding[] | undefined;
  /** Absent: the scanner's own. */
  readonly tools?: readonly (string | null)[];
}

const OWN = [null];

export function sourceOf(report: ReportAtHand): ReportSource {
  const { findings, incomplete, unread = [], passedOver = [], hidden = [], tools = OWN } = report;
  return {
    incomplete,
    unread,
    passedOver,
    hidden,
    tools,
    async *findings() {
      yield* findings;
    },
  };
}

/** What an import left in the bucket: written by us alone, so that its shape is checked but not mended. */
const Header = z.object({
  incomplete: z.string().nullable(),
  // Without: left there by the release before, which knew nothing of it.
  unread: z.array(z.string()).default([]),
  hidden: z.array(HiddenFinding).default([]),
  tools: z.array(z.string().nullable()),
});
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
  if (format === 'findings')
    return { ...(await readHeader(gzipped)), passedOver: [], findings: () => readFindings(gzipped) };
  const bytes = await unzip(gzipped, { maxOutputLength: MAX_REPORT_BYTES });
  return sourceOf(parseRunnerReport(scanner, readJson(bytes)));
}

async function readHeader(gzipped: Uint8Array): Promise<z.infer<typeof Header>> {
  for await (const line of readLines(gzipped)) return Header.parse(JSON.parse(line));
  throw new Error('The findings of an import have no header');
}

async function* readFindings(gzipped: Uint8Array): AsyncIterable<ReportedFinding> {
  let header = true;
  for await (const line of readLines(gzipped)) {
    if (!header && line !== '') yield Line.parse(JSON.parse(line)) as unknown as ReportedFinding;
    header = false;
  }
}

function readLines(gzipped: Uint8Array): AsyncIterable<string> {
  const input = Readable.from([gzipped]).pipe(createGunzip());
  return createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
}

/** As `openReport` reads it: what is to be known of the whole, then a finding a line. */
export function toLines(report: ReportAtHand): string {
  const { findings, incomplete, unread = [], hidden = [], tools = OWN } = report;
  const header: z.input<typeof Header> = {
    incomplete,
    unread: [...unread],
    hidden: [...hidden],
    tools: [...tools],
  };
  return [header, ...findings].map((line) => `${JSON.stringify(line)}\n`).join('');
}
