import { cellKey } from '#domain/cells.ts';
import { findingId } from '#domain/ids.ts';
import { digestReport } from '#domain/manifest.ts';
import type { Severity } from '#domain/vocabulary.ts';
import { digestFinding } from '#shared/reports/digest.ts';
import type { ReportedFinding } from '#shared/reports/reported-finding.ts';
import type { IngestContext } from './context.ts';

/** A report as ingest compares it with the last one: each finding once, by id. */
export interface ReportedSet {
  readonly findings: ReadonlyMap<string, ReportedEntry>;
  /** Names the whole report. */
  readonly digest: string;
  /** By cell as reported: every finding as `open`, whatever people made of it since. */
  readonly counts: Record<string, number>;
}

interface ReportedEntry {
  readonly finding: ReportedFinding;
  readonly severity: Severity;
  readonly digest: string;
}

export function reportedSet(
  { ref, scanner }: Pick<IngestContext, 'ref' | 'scanner'>,
  reported: readonly ReportedFinding[],
): ReportedSet {
  const findings = new Map(
    reported.map((finding) => [
      findingId(ref.orgId, ref.assetId, scanner, finding.fingerprint),
      { finding, severity: finding.severity, digest: digestFinding(finding) },
    ]),
  );
  const counts: Record<string, number> = {};
  for (const { severity } of findings.values()) {
    const cell = cellKey({ severity, status: 'open', scanner });
    counts[cell] = (counts[cell] ?? 0) + 1;
  }
  const digest = digestReport(Array.from(findings, ([id, entry]) => ({ id, digest: entry.digest })));
  return { findings, digest, counts };
}
