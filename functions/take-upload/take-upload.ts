import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Clock } from '#domain/clock.ts';
import { ServiceError } from '#domain/errors.ts';
import type { ImportRequested } from '#events/pipeline.ts';
import { type ImportedReport, readUpload } from '#functions/imports/read-upload.ts';
import { toLines } from '#shared/ingest/report-source.ts';
import type { Queue } from '#shared/queue.ts';
import type { ReportBucket, UploadPlace } from '#shared/report-bucket.ts';
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
  readonly importRequests: Queue<ImportRequested>;
  readonly readFingerprintSecret: SecretReader;
  readonly clock: Clock;
}

const zip = promisify(gzip);

/**
 * Takes in a report that was uploaded: its findings go on as those of any import, the upload itself, which
 * can hold secrets, is removed. What is no report ends the scan, with the reason. Safe to repeat.
 */
export async function takeUpload(place: UploadPlace, dependencies: TakeUploadDependencies): Promise<void> {
  const { runs, bucket } = dependencies;
  const run = await runs.get(place.orgId, place.scanId, place.assetId);
  const uploaded = run?.status === 'waiting' ? await bucket.read(place) : null;
  if (run && uploaded) {
    const reports = await readReports(place, run, uploaded, dependencies);
    if (reports) await handOver(place, run, reports, dependencies);
  }
  await bucket.remove(place);
}

/** The report's findings by scanner; null where the scan was ended because there are none to be had. */
async function readReports(
  place: UploadPlace,
  run: RunRecord,
  uploaded: Uint8Array,
  { scans, readFingerprintSecret, clock }: TakeUploadDependencies,
): Promise<ImportedReport[] | null> {
  try {
    const key = fingerprintKey(await readFingerprintSecret(), place.orgId);
    return await readUpload(uploaded, run.named_scanner ?? null, key);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const scan = await scans.get(place.orgId, place.scanId);
    const failure = {
      asset_id: place.assetId,
      scanner: null,
      code: 'report_invalid',
      message: error.message,
    };
    const actor = { type: 'system' as const, id: null, name: 'scan pipeline' };
    const attribution = { actor, requestId: null, ip: null, at: clock.now() };
    if (scan?.status === 'queued') await scans.finish(place.orgId, scan, 'failed', attribution, [failure]);
    return null;
  }
}

/** Reports first, then the scan, then the message: where that is lost, the sweep sends it again. */
async function handOver(
  place: UploadPlace,
  run: RunRecord,
  reports: readonly ImportedReport[],
  { imports, bucket, importRequests, clock }: TakeUploadDependencies,
): Promise<void> {
  for (const report of reports) {
    const lines = new Uint8Array(await zip(toLines(report), { level: 1 }));
    await bucket.write({ ...place, scanner: report.scanner, format: 'findings' }, lines);
  }
  await imports.uploaded(
    {
      ref: { ...place, runId: run.id },
      branch: run.branch,
      isDefault: run.default_branch,
      reports: reports.map(({ scanner, findings }) => ({ scanner, count: findings.length })),
    },
    clock.now(),
  );
  const { orgId: org_id, scanId: scan_id, assetId: asset_id } = place;
  await importRequests.send({ org_id, scan_id, asset_id, run_id: run.id });
}
