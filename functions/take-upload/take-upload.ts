import type { Clock } from '#domain/clock.ts';
import { ServiceError } from '#domain/errors.ts';
import type { ImportRequested } from '#events/pipeline.ts';
import { countOf } from '#shared/ingest/reader/reader-messages.ts';
import type { ReadUpload, ReportReader } from '#shared/ingest/reader/report-reader.ts';
import { logInfo } from '#shared/log.ts';
import type { Queue } from '#shared/queue.ts';
import type { ReportBucket, UploadPlace } from '#shared/report-bucket.ts';
import { withRequestId } from '#shared/request-scope.ts';
import { fingerprintKey } from '#shared/security/claims.ts';
import type { SecretReader } from '#shared/security/secrets.ts';
import type { ImportStore } from '#store/imports.ts';
import type { RunRecord, RunStore } from '#store/runs.ts';
import type { ScanStore } from '#store/scans.ts';

export interface TakeUploadDependencies {
  readonly scans: ScanStore;
  readonly runs: RunStore;
  readonly imports: ImportStore;
  readonly bucket: Pick<ReportBucket, 'read' | 'write' | 'remove'>;
  readonly reader: Pick<ReportReader, 'readUpload'>;
  readonly importRequests: Queue<ImportRequested>;
  readonly readFingerprintSecret: SecretReader;
  readonly clock: Clock;
}

/** Together well within the function's 300 seconds; a turn that does not come is tried again. */
const PATIENCE = { waitMs: 60_000, readMs: 90_000 };
/** A report that was begun so often and never ended took its reader, or all of the service, with it each time. */
const MOST_TAKES = 3;

/**
 * Takes in a report that was uploaded: its findings go on as those of any import, the upload itself, which
 * can hold secrets, is removed. What is no report ends the scan, with the reason. Safe to repeat.
 */
export async function takeUpload(place: UploadPlace, dependencies: TakeUploadDependencies): Promise<void> {
  const run = await dependencies.runs.get(place.orgId, place.scanId, place.assetId);
  // The bucket tells of an object alone: the import's record knows the request.
  await withRequestId(run?.request_id, () => takeOnce(place, run, dependencies));
}

async function takeOnce(
  place: UploadPlace,
  run: RunRecord | null,
  dependencies: TakeUploadDependencies,
): Promise<void> {
  const { bucket } = dependencies;
  const uploaded = run?.status === 'waiting' ? await bucket.read(place) : null;
  if (run && uploaded) {
    try {
      await takeIn(place, run, uploaded, dependencies);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'service_unavailable') throw error;
      // Not its message, which may quote what was uploaded.
      logInfo('upload refused', {
        org_id: place.orgId,
        scan_id: place.scanId,
        run_id: run.id,
        code: error.code,
      });
      await fail(place, error.message, dependencies);
    }
  }
  await bucket.remove(place);
}

/** @throws ServiceError where there is nothing to be had of it */
async function takeIn(
  place: UploadPlace,
  run: RunRecord,
  bytes: Uint8Array,
  dependencies: TakeUploadDependencies,
): Promise<void> {
  const { runs, reader, readFingerprintSecret } = dependencies;
  const { orgId, assetId } = place;
  const key = fingerprintKey(await readFingerprintSecret(), orgId);
  // Written down before: nobody can do so where the reading itself ends the service.
  if ((await runs.uploadTaken(place)) > MOST_TAKES)
    throw new ServiceError('validation_error', `The report could not be read in ${MOST_TAKES} attempts`);
  const named = run.named_scanner ?? null;
  const read = await reader.readUpload({ bytes, named, key, orgId, assetId }, PATIENCE);
  await handOver(place, run, read, dependencies);
}

async function fail(
  place: UploadPlace,
  message: string,
  { scans, clock }: TakeUploadDependencies,
): Promise<void> {
  const scan = await scans.get(place.orgId, place.scanId);
  if (scan?.status !== 'queued') return;
  const failure = { asset_id: place.assetId, scanner: null, code: 'report_invalid', message };
  const actor = { type: 'system' as const, id: null, name: 'scan pipeline' };
  const attribution = { actor, requestId: null, ip: null, at: clock.now() };
  await scans.finish(place.orgId, scan, 'failed', attribution, [failure]);
}

/** Reports first, then the scan, then the message: where that is lost, the sweep sends it again. */
async function handOver(
  place: UploadPlace,
  run: RunRecord,
  { reports, lines }: ReadUpload,
  { imports, bucket, importRequests, clock }: TakeUploadDependencies,
): Promise<void> {
  for (const [at, packed] of (await lines).entries()) {
    const scanner = reports[at]?.scanner;
    if (scanner)
      await bucket.write({ ...place, scanner, format: 'findings' }, packed as Uint8Array<ArrayBuffer>);
  }
  await imports.uploaded(
    {
      ref: { ...place, runId: run.id },
      branch: run.branch,
      isDefault: run.default_branch,
      reports: reports.map(({ scanner, sets }) => ({ scanner, count: countOf(sets) })),
    },
    clock.now(),
  );
  const { orgId: org_id, scanId: scan_id, assetId: asset_id } = place;
  await importRequests.send({ org_id, scan_id, asset_id, run_id: run.id });
  logInfo('upload taken in', { org_id, scan_id, run_id: run.id });
}
