import type { imports } from '#contract/operations/imports.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { presentScan } from '#shared/presenters/scan.ts';
import { fingerprintKey } from '#shared/security/claims.ts';
import { readUpload } from './read-upload.ts';
import { type ImportDependencies, submitImport } from './submit-import.ts';

export const importOperations: Implementations<typeof imports.operations, ImportDependencies> = {
  async importFindings(input, dependencies) {
    const { caller, params, query, upload, idempotencyKey } = input;
    const [asset, secret] = await Promise.all([
      dependencies.assets.require(caller.orgId, params.asset_id),
      dependencies.readFingerprintSecret(),
    ]);
    const reports = await readUpload(upload, query.scanner ?? null, fingerprintKey(secret, caller.orgId));
    const scan = await submitImport(
      caller.orgId,
      asset,
      { reports, branch: query.branch ?? null, idempotencyKey },
      attributionOf(input, dependencies.clock),
      dependencies,
    );
    return presentScan(scan);
  },
};
