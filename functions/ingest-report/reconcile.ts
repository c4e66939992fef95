import { cellKey } from '#domain/cells.ts';
import { buildManifest, type ManifestEntry } from '#domain/manifest.ts';
import type { ReportedFinding } from '#shared/reports/reported-finding.ts';
import { countedPlace } from '#store/assets.ts';
import type { FindingRecord } from '#store/finding-record.ts';
import { reopenedBy, resolvedBy, type StatusMove, type WriteScope } from '#store/finding-writes.ts';
import { assetKey } from '#store/keys.ts';
import type { ManifestHead } from '#store/manifests.ts';
import type { ManifestRef, ScannerState } from '#store/runs.ts';
import { chunksOf, type Write } from '#store/table.ts';
import { type IngestContext, type IngestDependencies, ManifestBusy, newFinding } from './context.ts';

type Result = NonNullable<ScannerState['result']>;

/** From this many on, a report without any finding is held until a second one confirms it (design 5). */
const SUSPICIOUS_FROM = 20;

/** Findings read at once: bounds what a large report keeps in memory besides itself. */
const BATCH = 1000;

/**
 * Brings the organization's findings in line with a complete report of the default branch: new ones
 * are created, absent ones resolved, resolved ones that are seen again reopened; nothing else moves.
 * What was reported last is known from the manifest, so a rescan reads what changed, not what is there.
 * @returns the result, or null where the report was held
 */
export async function reconcile(
  context: IngestContext,
  reported: readonly ReportedFinding[],
  dependencies: IngestDependencies,
): Promise<Result | null> {
  const { ref, scanner, at } = context;
  const { manifests } = dependencies;
  const head = await manifests.lease(ref.orgId, ref.assetId, scanner, ref.runId, at);
  if (!head) throw new ManifestBusy(`${scanner} of asset ${ref.assetId} is being ingested by another run`);
  if (await holdsBack(context, head, reported.length, dependencies)) return null;

  const known = await manifests.readEntries(ref.orgId, ref.assetId, scanner, head.chunks);
  const findings = new Map(
    reported.map((finding) => newFinding(context, finding)).map((record) => [record.id, record]),
  );
  const knownIds = new Map(known.map((entry) => [entry.id, entry]));
  const added = [...findings.values()].filter((record) => !knownIds.has(record.id));
  const absent = known.filter((entry) => !findings.has(entry.id));

  const scope = writeScope(context, dependencies);
  const appeared = await takeIn(context, scope, added, dependencies);
  const resolvedCount = await resolveAbsent(context, scope, absent, head, dependencies);

  const entries = [...findings.values()].map((record): ManifestEntry => {
    const createdAt = knownIds.get(record.id)?.createdAt ?? appeared.createdAt.get(record.id) ?? at;
    return { id: record.id, severity: record.severity, createdAt };
  });
  const counts = countCells([...findings.values()]);
  const manifest = await replaceManifest(context, head, entries, counts, dependencies);
  return { counts, new_count: appeared.newCount, resolved_count: resolvedCount, manifest };
}

/** A report that lost everything at once is more likely a broken scan than a clean repository. */
async function holdsBack(
  context: IngestContext,
  head: ManifestHead,
  reported: number,
  { manifests, runs }: IngestDependencies,
): Promise<boolean> {
  const { ref, scanner, at } = context;
  const suspicious = reported === 0 && head.count >= SUSPICIOUS_FROM;
  const confirmed = head.held_scan_id !== null && head.held_scan_id !== ref.scanId;
  if (!suspicious || confirmed) return false;
  await manifests.hold(ref.orgId, ref.assetId, scanner, ref.scanId, ref.runId);
  const message = `${scanner} reported nothing where it last reported ${head.count} findings; nothing was resolved. A second scan with the same outcome confirms it`;
  await runs.scannerFailed(ref, scanner, { code: 'suspicious_empty_report', message }, at);
  return true;
}

/** Conditions of every transaction: the lease is still ours, and the asset still where its findings are counted. */
function writeScope({ ref, asset, scanner }: IngestContext, { manifests }: IngestDependencies): WriteScope {
  const placed: Write = {
    ConditionCheck: {
      Key: assetKey(ref.orgId, asset.id),
      ConditionExpression: 'project_id = :project AND sub_project_id = :sub',
      ExpressionAttributeValues: { ':project': asset.project_id, ':sub': asset.sub_project_id },
    },
    otherwise: () => new ManifestBusy('The asset was moved to another project meanwhile'),
  };
  return {
    orgId: ref.orgId,
    place: countedPlace(asset),
    guards: [manifests.fence(ref.orgId, asset.id, scanner, ref.runId), placed],
  };
}

/**
 * Findings that the manifest does not know: created, or reopened where an earlier scan had resolved
 * them. `newCount` counts by what is stored, so that a repeated step counts the same.
 */
async function takeIn(
  { ref, at }: IngestContext,
  scope: WriteScope,
  added: readonly FindingRecord[],
  { writes }: IngestDependencies,
): Promise<{ newCount: number; createdAt: Map<string, number> }> {
  const createdAt = new Map<string, number>();
  let newCount = 0;
  for (const batch of chunksOf(added, BATCH)) {
    const existing = await writes.readExisting(
      ref.orgId,
      batch.map((record) => record.id),
    );
    const fresh = batch.filter((record) => !existing.has(record.id));
    const reopened = [...existing.values()]
      .filter((record) => record.status === 'resolved')
      .map((record) => reopenedBy(record, at));
    await writes.createAll(scope, fresh);
    await writes.moveAll(scope, reopened);
    newCount +=
      fresh.length +
      [...existing.values()].filter((record) => record.first_seen_scan_id === ref.scanId).length;
    for (const record of existing.values()) createdAt.set(record.id, Date.parse(record.created_at));
  }
  return { newCount, createdAt };
}

/** Absent after a complete run: resolved. A suppression outlives its finding, so that it holds when that comes back. */
async function resolveAbsent(
  { ref, at }: IngestContext,
  scope: WriteScope,
  absent: readonly ManifestEntry[],
  head: ManifestHead,
  { writes }: IngestDependencies,
): Promise<number> {
  let resolved = 0;
  for (const batch of chunksOf(absent, BATCH)) {
    const existing = await writes.readExisting(
      ref.orgId,
      batch.map((entry) => entry.id),
    );
    const moves = [...existing.values()]
      .filter((record) => record.status !== 'resolved' && record.status !== 'suppressed')
      .map(
        (record): StatusMove =>
          resolvedBy(record, ref.scanId, head.last_scan_id ?? record.last_seen_scan_id, at),
      );
    await writes.moveAll(scope, moves);
    resolved +=
      moves.length +
      [...existing.values()].filter((record) => record.resolved_by_scan_id === ref.scanId).length;
  }
  return resolved;
}

/** Writes the chunks that changed, then swaps the head: the last write, which makes the rest final. */
async function replaceManifest(
  { ref, scanner, at }: IngestContext,
  head: ManifestHead,
  entries: readonly ManifestEntry[],
  counts: Record<string, number>,
  { manifests }: IngestDependencies,
): Promise<ManifestRef> {
  const chunks = buildManifest(entries);
  const held = new Set(head.chunks);
  await manifests.writeChunks(
    ref.orgId,
    ref.assetId,
    scanner,
    chunks.filter((chunk) => !held.has(chunk.hash)),
  );
  const manifest: ManifestRef = { chunks: chunks.map((chunk) => chunk.hash), count: entries.length };
  await manifests.swap(ref.orgId, ref.assetId, scanner, {
    manifest,
    counts,
    scanId: ref.scanId,
    runId: ref.runId,
    at,
    heldScanId: null,
  });
  return manifest;
}

/** Counts by cell as reported: every finding as `open`, whatever people made of it since. */
export function countCells(records: readonly FindingRecord[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const record of records) {
    const cell = cellKey({ ...record, status: 'open' });
    counts[cell] = (counts[cell] ?? 0) + 1;
  }
  return counts;
}
