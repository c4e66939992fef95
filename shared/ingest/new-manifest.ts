import { buildManifest, digestReport, type ManifestChunk, type ManifestEntry } from '#domain/manifest.ts';
import type { Origin } from '#domain/origin.ts';
import type { ManifestHead } from '#store/manifests.ts';
import type { ManifestRef } from '#store/runs.ts';
import type { IngestContext, IngestDependencies } from './context.ts';
import { countsOf, type ReportedSet } from './reported-set.ts';

interface Ingested {
  readonly context: IngestContext;
  readonly report: ReportedSet;
  /** As it was when the lease was taken. */
  readonly head: ManifestHead;
}

/** The same report again: only which scan saw it last is new. */
export async function keepManifest(
  { ref, at, holder }: IngestContext,
  { origin }: ReportedSet,
  { chunks, count, counts, digest }: ManifestHead,
  { manifests }: IngestDependencies,
): Promise<ManifestRef> {
  const manifest: ManifestRef = { origin, chunks, count };
  await manifests.swap(ref.orgId, ref.assetId, origin, {
    manifest,
    counts,
    digest: digest ?? '',
    scanId: ref.scanId,
    holder,
    at,
    heldScanId: null,
  });
  return manifest;
}

/**
 * Writes the chunks that changed, then swaps the head: the last write, which makes the rest final. After an
 * incomplete report the manifest keeps what was known besides: otherwise nothing could ever resolve it.
 * @returns what the scan reported
 */
export async function replaceManifest(
  { context, report, head }: Ingested,
  known: readonly ManifestEntry[],
  reported: readonly ManifestEntry[],
  { manifests }: IngestDependencies,
): Promise<ManifestRef> {
  const { ref, scanner, at, holder } = context;
  const { origin } = report;
  const complete = report.incomplete === null;
  const kept = complete ? [] : known.filter(({ id }) => !report.entries.has(id));
  const entries = [...reported, ...kept];
  const chunks = buildManifest(entries);
  const own = kept.length === 0 ? chunks : buildManifest(reported);
  const written = new Map([...chunks, ...own].map((chunk) => [chunk.hash, chunk]));
  for (const hash of head.chunks) written.delete(hash);
  await manifests.writeChunks(ref.orgId, ref.assetId, origin, [...written.values()]);
  await manifests.swap(ref.orgId, ref.assetId, origin, {
    manifest: refTo(origin, chunks, entries.length),
    counts: kept.length === 0 ? report.counts : countsOf(scanner, entries),
    digest: kept.length === 0 ? report.digest : digestReport(entries),
    scanId: complete ? ref.scanId : null,
    holder,
    at,
    // Findings refute that there are none; an incomplete report without any tells nothing.
    heldScanId: complete || reported.length > 0 ? null : head.held_scan_id,
  });
  return refTo(origin, own, reported.length);
}

function refTo(origin: Origin, chunks: readonly ManifestChunk[], count: number): ManifestRef {
  return { origin, chunks: chunks.map(({ hash }) => hash), count };
}
