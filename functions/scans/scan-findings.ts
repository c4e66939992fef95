import { type CellCounts, cellKey } from '#domain/cells.ts';
import type { ManifestEntry } from '#domain/manifest.ts';
import type { Scanner, Severity } from '#domain/vocabulary.ts';
import type { FindingRecord } from '#store/finding-record.ts';
import { type FindingSort, type FindingStore, sortFindings } from '#store/findings.ts';
import type { ManifestStore } from '#store/manifests.ts';
import type { RunRecord, RunStore } from '#store/runs.ts';

interface Dependencies {
  readonly runs: RunStore;
  readonly manifests: ManifestStore;
  readonly findings: FindingStore;
}

interface Wanted {
  readonly severity?: readonly Severity[] | undefined;
  readonly scanner?: readonly Scanner[] | undefined;
}

type Reported = Pick<ManifestEntry, 'id' | 'severity'> & { readonly created_at: string };

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
): Promise<{ records: FindingRecord[]; total: number }> {
  const { findings } = dependencies;
  const { entries, own } = await readReported(orgId, scanId, wanted, dependencies);
  const ownById = new Map(own.map((record) => [record.id, record]));
  const all: Reported[] = [...entries, ...own].filter(
    (entry) => !wanted.severity || wanted.severity.includes(entry.severity),
  );
  const slice = sortFindings(all, sort).slice(page.skip, page.skip + page.take);
  const shared = await findings.getMany(
    orgId,
    slice.map((entry) => entry.id).filter((id) => !ownById.has(id)),
  );
  const sharedById = new Map(shared.map((record) => [record.id, record]));
  const records = slice
    .map((entry) => ownById.get(entry.id) ?? sharedById.get(entry.id))
    .filter((record) => record !== undefined);
  return { records, total: all.length };
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
  { runs, manifests, findings }: Dependencies,
) {
  const held = await runs.listAll(orgId, scanId);
  const refs = held.filter((run) => run.default_branch).flatMap((run) => manifestRefs(run, wanted));
  const [entries, own] = await Promise.all([
    Promise.all(refs.map((ref) => manifests.readEntries(orgId, ref.assetId, ref.scanner, ref.chunks))),
    held.some((run) => !run.default_branch) ? findings.listBranchFindings(orgId, scanId) : [],
  ]);
  return {
    entries: entries.flat().map((entry) => ({
      id: entry.id,
      severity: entry.severity,
      created_at: new Date(entry.createdAt).toISOString(),
    })),
    own: own.filter((record) => !wanted.scanner || wanted.scanner.includes(record.scanner)),
  };
}

function manifestRefs(run: RunRecord, wanted: Wanted) {
  return run.scanners
    .filter((scanner) => !wanted.scanner || wanted.scanner.includes(scanner))
    .map((scanner) => ({ scanner, manifest: run.states[scanner]?.result?.manifest }))
    .flatMap(({ scanner, manifest }) =>
      manifest ? [{ assetId: run.asset_id, scanner, chunks: manifest.chunks }] : [],
    );
}
