import { cellKey } from '#domain/cells.ts';
import { findingId } from '#domain/ids.ts';
import { digestReport } from '#domain/manifest.ts';
import type { Severity } from '#domain/vocabulary.ts';
import { digestFinding } from '#shared/reports/digest.ts';
import type { ReportedFinding } from '#shared/reports/reported-finding.ts';
import type { IngestContext } from './context.ts';
import type { ReportSource } from './report-source.ts';

/** A report as ingest compares it with the last one: a few bytes for each finding. */
export interface ReportedSet {
  readonly entries: ReadonlyMap<string, ReportedEntry>;
  /** Names the whole report. */
  readonly digest: string;
  /** By cell as reported: every finding as `open`, whatever people made of it since. */
  readonly counts: Record<string, number>;
  /** The findings of some of the ids, so many at a time; each once. */
  batches(ids: ReadonlySet<string>, size: number): AsyncIterable<[string, ReportedFinding][]>;
}

interface ReportedEntry {
  readonly severity: Severity;
  readonly digest: string;
}

type Reporter = Pick<IngestContext, 'ref' | 'scanner'>;

/** Goes through a report once. @throws what reading it throws */
export async function readReportedSet(reporter: Reporter, source: ReportSource): Promise<ReportedSet> {
  const { scanner } = reporter;
  const entries = new Map<string, ReportedEntry>();
  for await (const finding of source.findings())
    entries.set(idOf(reporter, finding), { severity: finding.severity, digest: digestFinding(finding) });
  const counts: Record<string, number> = {};
  for (const { severity } of entries.values()) {
    const cell = cellKey({ severity, status: 'open', scanner });
    counts[cell] = (counts[cell] ?? 0) + 1;
  }
  const digest = digestReport(Array.from(entries, ([id, entry]) => ({ id, digest: entry.digest })));
  return { entries, digest, counts, batches: (ids, size) => batchesOf(reporter, source, ids, size) };
}

async function* batchesOf(
  reporter: Reporter,
  source: ReportSource,
  ids: ReadonlySet<string>,
  size: number,
): AsyncIterable<[string, ReportedFinding][]> {
  let batch = new Map<string, ReportedFinding>();
  let left = ids.size;
  for await (const finding of source.findings()) {
    if (left === 0) break;
    const id = idOf(reporter, finding);
    if (!ids.has(id)) continue;
    batch.set(id, finding);
    left -= 1;
    if (batch.size < size) continue;
    yield [...batch];
    batch = new Map();
  }
  if (batch.size > 0) yield [...batch];
}

function idOf({ ref, scanner }: Reporter, finding: ReportedFinding): string {
  return findingId(ref.orgId, ref.assetId, scanner, finding.fingerprint);
}
