import type { imports } from '#contract/operations/imports.ts';
import { timestamp } from '#domain/clock.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { presentScan } from '#shared/presenters/scan.ts';
import { UPLOAD_SECONDS } from '#shared/report-bucket.ts';
import { fingerprintKey } from '#shared/security/claims.ts';
import { inBranch } from './branch-role.ts';
import { type ImportDependencies, submitImport } from './submit-import.ts';

/** Together less than the function's 29 seconds. */
const PATIENCE = { waitMs: 8000, readMs: 18_000 };

export const importOperations: Implementations<typeof imports.operations, ImportDependencies> = {
  async importFindings(input, dependencies) {
    const { caller, params, query, upload, idempotencyKey } = input;
    const [asset, secret] = await Promise.all([
      dependencies.assets.require(caller.orgId, params.asset_id),
      dependencies.readFingerprintSecret(),
    ]);
    const { orgId } = caller;
    const key = fingerprintKey(secret, orgId);
    const named = query.scanner ?? null;
    const read = await dependencies.reader.readUpload(
      { bytes: upload, named, key, orgId, assetId: asset.id },
      PATIENCE,
    );
    const scan = await submitImport(
      orgId,
      asset,
      { read, branch: query.branch ?? null, idempotencyKey },
      attributionOf(input, dependencies.clock),
      dependencies,
    );
    return presentScan(scan);
  },

  /** The scan first, queued: the upload finds it there, and one that never comes is ended by the sweep. */
  async createImportUrl(input, dependencies) {
    const { caller, params, body } = input;
    const { assets, manifests, imports, bucket, clock, ids } = dependencies;
    const asset = await assets.require(caller.orgId, params.asset_id);
    const attribution = attributionOf(input, clock);
    const ref = { orgId: caller.orgId, scanId: ids.next(), assetId: asset.id, runId: ids.next() };
    const branch = body.branch ?? null;
    const made = { ref, branch, reports: [], named: body.scanner ?? null, idempotency: null };
    const scan = await inBranch(ref.orgId, asset, branch, { assets, manifests }, (role) =>
      imports.expectUpload({ ...made, ...role }, attribution),
    );
    const { url, headers } = await bucket.presignUpload(ref, body.bytes, body.content_type);
    const expires_at = timestamp(attribution.at + UPLOAD_SECONDS * 1000);
    return { upload: { method: 'PUT', url, headers, expires_at }, scan: presentScan(scan) };
  },
};
