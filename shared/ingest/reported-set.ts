import { cellKey } from '#domain/cells.ts';
import { findingId } from '#domain/ids.ts';
import { digestReport } from '#domain/manifest.ts';
import { type Origin, originOf } from '#domain/origin.ts';
import type { Scanner, Severity } from '#domain/vocabulary.ts';
import { digestFinding } from '#shared/reports/digest.ts';
import type { Hiding } from '#shared/reports/hidden.ts';
import type { ReportedFinding } from '#shared/reports/reported-finding.ts';
import { UnreadPaths } from '#shared/reports/unread-paths.ts';
import type { RunRef } from '#store/runs.ts';
import type { ReportSource } from './report-source.ts';

/** What one origin reports, as ingest compares it with the last time: a few bytes for each finding. */
export interface ReportedSet {
  readonly origin: Origin;
  /** As people know the origin. */
  readonly name: string;
  readonly entries: ReadonlyMap<string, ReportedEntry>;
  /** Names all of it. */
  readonly digest: string;
  /** By cell as reported: every finding as `open`, whatever people made of it since. */
  readonly counts: Record<string, number>;
  /** As in `ParsedReport`. */
  readonly incomplete: string | null;
  readonly unread: UnreadPaths;
  /** Of what is not reported that which the repository hides, by id. */
  readonly hidden: ReadonlyMap<string, Hiding>;
  /** The findings of some of the ids, so many at a time; each once. */
  batches(ids: ReadonlySet<string>, size: number): AsyncIterable<[string, ReportedFinding][]>;
}

interface ReportedEntry {
  readonly severity: Severity;
  readonly digest: string;
}

interface Reported {
  readonly origin: Origin;
  readonly name: string;
  readonly entries: Map<string, ReportedEntry>;
  readonly hidden: Map<string, Hiding>;
}

interface Reporter {
  readonly ref: Pick<RunRef, 'orgId' | 'assetId'>;
  readonly scanner: Scanner;
}

/**
 * Goes through a report once: a set for each origin that it is of, also for one that found nothing.
 * @throws what reading it throws
 */
export async function readReportedSets(reporter: Reporter, source: ReportSource): Promise<ReportedSet[]> {
  const { scanner } = reporter;
  const byOrigin = new Map<Origin, Reported>();
  const byTool = new Map<string | null, Reported>();
  const openSet = (tool: string | null) => {
    const origin = originOf(scanner, tool);
    const reported = byOrigin.get(origin) ?? {
      origin,
      name: tool ?? scanner,
      entries: new Map(),
      hidden: new Map(),
    };
    byOrigin.set(origin, reported);
    byTool.set(tool, reported);
    return reported;
  };
  for (const tool of source.tools) openSet(tool);
  for await (const finding of source.findings()) {
    const tool = finding.tool ?? null;
    const { entries } = byTool.get(tool) ?? openSet(tool);
    entries.set(idOf(reporter, finding), { severity: finding.severity, digest: digestFinding(finding) });
  }
  for (const { fingerprint, tool = null, ...hiding } of source.hidden) {
    const { entries, hidden } = byTool.get(tool) ?? openSet(tool);
    const id = idOf(reporter, { fingerprint });
    if (!entries.has(id)) hidden.set(id, hiding);
  }
  const unread = new UnreadPaths(source.unread, source.passedOver);
  return Array.from(byOrigin.values(), (reported) => ({
    ...reported,
    digest: digestReport([
      ...Array.from(reported.entries, ([id, { digest }]) => ({ id, digest })),
      ...Array.from(reported.hidden, ([id, { kind }]) => ({ id, digest: kind })),
    ]),
    counts: countsOf(scanner, reported.entries.values()),
    incomplete: source.incomplete,
    unread,
    batches: (ids, size) => batchesOf(reporter, source, ids, size),
  }));
}

/** By cell as reported. */
export function countsOf(
  scanner: Scanner,
  entries: Iterable<{ readonly severity: Severity }>,
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { severity } of entries) {
    const cell = cellKey({ severity, status: 'open', scanner });
    counts[cell] = (counts[cell] ?? 0) + 1;
  }
  return counts;
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

function idOf({ ref, scanner }: Reporter, finding: Pick<ReportedFinding, 'fingerprint'>): string {
  return findingId(ref.orgId, ref.assetId, scanner, finding.fingerprint);
}
