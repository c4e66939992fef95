import { createHash } from 'node:crypto';
import type { Attribution } from '#domain/actor.ts';
import type { Clock } from '#domain/clock.ts';
import type { Ids } from '#domain/ids.ts';
import type { ImportRequested } from '#events/pipeline.ts';
import { countOf, type ReadReport } from '#shared/ingest/reader/reader-messages.ts';
import type { ReadUpload, ReportReader } from '#shared/ingest/reader/report-reader.ts';
import { logError, logInfo } from '#shared/log.ts';
import type { Queue } from '#shared/queue.ts';
import type { ReportBucket } from '#shared/report-bucket.ts';
import { replayScan } from '#shared/scans/submit-scan.ts';
import type { SecretReader } from '#shared/security/secrets.ts';
import type { AssetRecord, AssetStore } from '#store/assets.ts';
import { type ImportStore, MAX_UNCHANGED, type NewImport } from '#store/imports.ts';
import type { ManifestStore } from '#store/manifests.ts';
import { IdempotentReplay, type ScanRecord, type ScanStore } from '#store/scans.ts';
import { inBranch } from './branch-role.ts';

export interface ImportDependencies {
  readonly assets: AssetStore;
  readonly scans: ScanStore;
  readonly imports: ImportStore;
  readonly manifests: ManifestStore;
  readonly bucket: Pick<ReportBucket, 'write' | 'presignUpload'>;
  readonly reader: Pick<ReportReader, 'readUpload'>;
  readonly importRequests: Queue<ImportRequested>;
  readonly readFingerprintSecret: SecretReader;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface ImportSubmission {
  readonly read: ReadUpload;
  readonly branch: string | null;
  readonly idempotencyKey: string | null;
}

/**
 * Accepts an import as a scan. A report that says what the last one said is done with at once: its scan
 * is already completed. Everything else is kept in the bucket and ingested in its turn.
 * @throws ServiceError conflict (an Idempotency-Key used for something else)
 */
export async function submitImport(
  orgId: string,
  asset: AssetRecord,
  submission: ImportSubmission,
  attribution: Attribution,
  dependencies: ImportDependencies,
): Promise<ScanRecord> {
  const { ids, assets, manifests } = dependencies;
  const ref = { orgId, scanId: ids.next(), assetId: asset.id, runId: ids.next() };
  const idempotency = idempotencyOf(asset.id, submission);
  try {
    return await inBranch(orgId, asset, submission.branch, { assets, manifests }, async (role) => {
      const reports = submission.read.reports.map(({ scanner, sets }) => ({ scanner, count: countOf(sets) }));
      const made: NewImport = { ref, branch: submission.branch, ...role, reports, idempotency };
      return (
        (await completeUnchanged(made, submission.read.reports, attribution, dependencies)) ??
        (await enqueue(made, submission.read, attribution, dependencies))
      );
    });
  } catch (error) {
    if (!(error instanceof IdempotentReplay) || !idempotency) throw error;
    return replayScan(orgId, idempotency, dependencies.scans);
  }
}

/** The scan of an import that changes nothing; null where it may change something. */
async function completeUnchanged(
  made: NewImport,
  reports: readonly ReadReport[],
  attribution: Attribution,
  { imports, manifests }: ImportDependencies,
): Promise<ScanRecord | null> {
  // Another branch has no manifest; what is incomplete confirms nothing, and its scan has to say so.
  if (!made.isDefault || reports.some(({ incomplete }) => incomplete !== null)) return null;
  // Its run has to say what it hides.
  if (reports.some(({ hides }) => hides)) return null;
  const { orgId, assetId } = made.ref;
  // What is still to be taken in comes first, and may change what this one would confirm.
  if ((await imports.listWaiting(orgId, assetId)).length > 0) return null;
  const compared = await Promise.all(
    reports.flatMap(({ scanner, sets }) =>
      sets.map(async ({ origin, counts, digest }) => {
        const head = await manifests.readUnchanged(orgId, assetId, origin, digest);
        return head && { scanner, origin, head, counts, digest };
      }),
    ),
  );
  const unchanged = compared.filter((one) => one !== null);
  if (unchanged.length < compared.length || unchanged.length > MAX_UNCHANGED) return null;
  return imports.completeUnchanged(made, unchanged, attribution);
}

/** Reports first, then the scan, then the message: where that is lost, the sweep sends it again. */
async function enqueue(
  made: NewImport,
  { reports, lines }: ReadUpload,
  attribution: Attribution,
  { imports, bucket, importRequests }: ImportDependencies,
): Promise<ScanRecord> {
  const { ref } = made;
  const packed = await lines;
  await Promise.all(
    reports.map(({ scanner }, at) =>
      bucket.write({ ...ref, scanner, format: 'findings' }, packed[at] as Uint8Array<ArrayBuffer>),
    ),
  );
  const scan = await imports.create(made, attribution);
  logInfo('import accepted', { org_id: ref.orgId, scan_id: ref.scanId, run_id: ref.runId });
  try {
    await importRequests.send({
      org_id: ref.orgId,
      scan_id: ref.scanId,
      asset_id: ref.assetId,
      run_id: ref.runId,
    });
  } catch (error) {
    logError('import request not sent; the sweep will', error, { org_id: ref.orgId, scan_id: ref.scanId });
  }
  return scan;
}

function idempotencyOf(
  assetId: string,
  { idempotencyKey, branch, read }: ImportSubmission,
): NewImport['idempotency'] {
  if (idempotencyKey === null) return null;
  const reports = read.reports.map(({ scanner, sets, incomplete, unread }) => [
    scanner,
    sets.map(({ origin, digest }) => [origin, digest]),
    incomplete,
    unread,
  ]);
  const request = createHash('sha256').update(JSON.stringify(['import', assetId, branch, reports]));
  return { key: idempotencyKey, request: request.digest('hex') };
}
