import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Attribution } from '#domain/actor.ts';
import type { Clock } from '#domain/clock.ts';
import type { Ids } from '#domain/ids.ts';
import type { Scanner } from '#domain/vocabulary.ts';
import type { ImportRequested } from '#events/pipeline.ts';
import { sourceOf, toLines } from '#shared/ingest/report-source.ts';
import { type ReportedSet, readReportedSet } from '#shared/ingest/reported-set.ts';
import { logError } from '#shared/log.ts';
import type { Queue } from '#shared/queue.ts';
import type { ReportBucket } from '#shared/report-bucket.ts';
import { replayScan } from '#shared/scans/submit-scan.ts';
import type { SecretReader } from '#shared/security/secrets.ts';
import type { AssetRecord, AssetStore } from '#store/assets.ts';
import type { ImportStore, NewImport } from '#store/imports.ts';
import type { ManifestHead, ManifestStore } from '#store/manifests.ts';
import { IdempotentReplay, type ScanRecord, type ScanStore } from '#store/scans.ts';
import type { ImportedReport } from './read-upload.ts';

const zip = promisify(gzip);

export interface ImportDependencies {
  readonly assets: AssetStore;
  readonly scans: ScanStore;
  readonly imports: ImportStore;
  readonly manifests: ManifestStore;
  readonly bucket: Pick<ReportBucket, 'write' | 'presignUpload'>;
  readonly importRequests: Queue<ImportRequested>;
  readonly readFingerprintSecret: SecretReader;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface ImportSubmission {
  readonly reports: readonly ImportedReport[];
  readonly branch: string | null;
  readonly idempotencyKey: string | null;
}

/** A report as it will be ingested, and how it stands to the last one. */
interface Prepared {
  readonly scanner: Scanner;
  readonly findings: ImportedReport['findings'];
  readonly set: ReportedSet;
  readonly head: ManifestHead | null;
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
  const { imports, ids } = dependencies;
  const isDefault = isDefaultBranch(asset, submission.branch);
  const scanId = ids.next();
  const ref = { orgId, scanId, assetId: asset.id, runId: ids.next() };
  const prepared = await Promise.all(
    submission.reports.map(async ({ scanner, findings }): Promise<Prepared> => {
      const set = await readReportedSet({ ref, scanner }, sourceOf(findings));
      const head = isDefault
        ? await dependencies.manifests.readUnchanged(orgId, asset.id, scanner, set.digest)
        : null;
      return { scanner, findings, set, head };
    }),
  );
  const made: NewImport = {
    ref,
    branch: submission.branch,
    isDefault,
    reports: prepared.map(({ scanner, set }) => ({ scanner, count: set.entries.size })),
    idempotency: idempotencyOf(asset.id, submission, prepared),
  };
  try {
    const unchanged = prepared.flatMap(({ scanner, set, head }) =>
      head ? [{ scanner, head, counts: set.counts, digest: set.digest }] : [],
    );
    if (unchanged.length === prepared.length) {
      const done = await imports.completeUnchanged(made, unchanged, attribution);
      if (done) return done;
    }
    return await enqueue(made, prepared, attribution, dependencies);
  } catch (error) {
    if (!(error instanceof IdempotentReplay) || !made.idempotency) throw error;
    return replayScan(orgId, made.idempotency, dependencies.scans);
  }
}

/** Reports first, then the scan, then the message: where that is lost, the sweep sends it again. */
async function enqueue(
  made: NewImport,
  prepared: readonly Prepared[],
  attribution: Attribution,
  { imports, bucket, importRequests }: ImportDependencies,
): Promise<ScanRecord> {
  const { ref } = made;
  await Promise.all(
    prepared.map(async ({ scanner, findings }) =>
      bucket.write(
        { ...ref, scanner, format: 'findings' },
        new Uint8Array(await zip(toLines(findings), { level: 1 })),
      ),
    ),
  );
  const scan = await imports.create(made, attribution);
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

/**
 * An import without a branch is of the default one, and so is the first that names one where none is known
 * yet: what has no repository to ask has no other way to tell.
 */
export function isDefaultBranch(asset: AssetRecord, branch: string | null): boolean {
  return branch === null || asset.default_branch === null || branch === asset.default_branch;
}

function idempotencyOf(
  assetId: string,
  { idempotencyKey, branch }: ImportSubmission,
  prepared: readonly Prepared[],
): NewImport['idempotency'] {
  if (idempotencyKey === null) return null;
  const reports = prepared.map(({ scanner, set }) => [scanner, set.digest]);
  const request = createHash('sha256').update(JSON.stringify(['import', assetId, branch, reports]));
  return { key: idempotencyKey, request: request.digest('hex') };
}
