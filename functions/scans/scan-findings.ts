import { type CellCounts, cellKey } from '#domain/cells.ts';
import { timestamp } from '#domain/clock.ts';
import type { ManifestEntry } from '#domain/manifest.ts';
import type { Scanner, Severity } from '#domain/vocabulary.ts';
import { type FindingSort, sortFindings } from '#store/finding-order.ts';
import type { FindingPage, FindingRef, FindingStore } from '#store/findings.ts';
import type { ManifestStore } from '#store/manifests.ts';
import type { RunRecord, RunStore } from '#store/runs.ts';
import type { ScanStore } from '#store/scans.ts';

interface Dependencies {
  readonly scans: ScanStore;
  readonly runs: RunStore;
  readonly manifests: ManifestStore;
  readonly findings: FindingStore;
}

interface Wanted {
  readonly severity?: readonly Severity[] | undefined;
  readonly scanner?: readonly Scanner[] | undefined;
}

type Reported = FindingRef & Pick<ManifestEntry, 'severity'> & { readonly created_at: string };

/**
 * What a scan reported: on the default branch the manifests that it left behind refer to the
 * organization's findings; on another branch the findings are the scan's own.
 */
export async function listReported(
  orgId: string,
  scanId: string,
  wanted: Wanted,
  sort: FindingSort,
  page: { skip: number; take: number },
  dependencies: Dependencies,
): Promise<FindingPage & { total: number }> {
  const { entries, own } = await readReported(orgId, scanId, wanted, dependencies);
  const all: Reported[] = [
    ...entries,
    ...own.map((record) => ({ ...record, assetId: record.asset_id, record })),
  ].filter((entry) => !wanted.severity || wanted.severity.includes(entry.severity));
  const slice = sortFindings(all, sort).slice(page.skip, page.skip + page.take);
  return { ...(await dependencies.findings.readPage(orgId, slice)), total: all.length };
}

/** Counts of what a scan reported, by the status that each finding has now. */
export async function countReported(
  orgId: string,
  scanId: string,
  dependencies: Dependencies,
): Promise<CellCounts> {
  const { entries, own } = await readReported(orgId, scanId, {}, dependencies);
  const counts = new Map(
    await dependencies.findings.countCells(
      orgId,
      entries.map((entry) => entry.id),
    ),
  );
  for (const record of own) {
    const cell = cellKey(record);
    counts.set(cell, (counts.get(cell) ?? 0) + 1);
  }
  return counts;
}

async function readReported(
  orgId: string,
  scanId: string,
  wanted: Wanted,
  { scans, runs, manifests, findings }: Dependencies,
) {
  const held = await runs.listAll(orgId, scanId);
  // A scan that has runs exists; one without may be waiting, or not be there.
  if (held.length === 0) await scans.require(orgId, scanId);
  const refs = held.filter((run) => run.default_branch).flatMap((run) => manifestRefs(run, wanted));
  const [entries, own] = await Promise.all([
    Promise.all(
      refs.map(async ({ assetId, scanner, origin, chunks }) =>
        (await manifests.readEntries(orgId, assetId, origin, chunks)).map((entry) => ({
          ...entry,
          assetId,
          scanner,
          origin,
          record: null,
          created_at: timestamp(entry.createdAt),
        })),
      ),
    ),
    held.some((run) => !run.default_branch) ? findings.listBranchFindings(orgId, scanId) : [],
  ]);
  return {
    entries: entries.flat(),
    own: own.filter((record) => !wanted.scanner || wanted.scanner.includes(record.scanner)),
  };
}

function manifestRefs(run: RunRecord, wanted: Wanted) {
  return run.scanners
    .filter((scanner) => !wanted.scanner || wanted.scanner.includes(scanner))
    .flatMap((scanner) =>
      (run.states[scanner]?.result?.manifests ?? []).map(({ origin, chunks }) => ({
        assetId: run.asset_id,
        scanner,
        origin,
        chunks,
      })),
    );
}
