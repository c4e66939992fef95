import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import * as z from 'zod';

import { FINDING_CATEGORIES, SCANNERS, SEVERITIES } from '#domain/vocabulary.ts';
import { jsonLine } from '#shared/json/json-line.ts';
import { HiddenFinding } from '#shared/reports/hidden.ts';
import type { ReportedFinding } from '#shared/reports/reported-finding.ts';

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
export interface ReportAtHand {
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
  passedOver: z.array(z.string()).default([]),
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
 * Opens what is left of a report once it was read: findings, gzipped, a line each.
 * @throws zlib's and JSON's own errors, also while it is gone through
 */
export async function openReport(gzipped: Uint8Array): Promise<ReportSource> {
  return { ...(await readHeader(gzipped)), findings: () => readFindings(gzipped) };
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
export function* linesOf(report: ReportAtHand): Iterable<string> {
  const { findings, incomplete, unread = [], passedOver = [], hidden = [], tools = OWN } = report;
  const header: z.input<typeof Header> = {
    incomplete,
    unread: [...unread],
    passedOver: [...passedOver],
    hidden: [...hidden],
    tools: [...tools],
  };
  yield jsonLine(header);
  for (const finding of findings) yield jsonLine(finding);
}
