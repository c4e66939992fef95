import type { runnerGate } from '#contract/operations/runner-gate.ts';
import type { AddressPolicy } from '#domain/addresses.ts';
import type { Clock } from '#domain/clock.ts';
import { ServiceError } from '#domain/errors.ts';
import { KEPT_DATABASES, type KeptDatabase, type RepositoryExclusions } from '#domain/vocabulary.ts';
import type { Implementations } from '#http/chain.ts';
import { logInfo } from '#shared/log.ts';
import type { ReportBucket } from '#shared/report-bucket.ts';
import { fingerprintKey, hashClaim } from '#shared/security/claims.ts';
import type { SecretReader } from '#shared/security/secrets.ts';
import type { Tokens } from '#shared/security/tokens.ts';
import type { AssetStore } from '#store/assets.ts';
import type { RunRef, RunStore } from '#store/runs.ts';
import type { ScanStore } from '#store/scans.ts';
import { recordEvent } from './progress.ts';

export interface RunnerGateDependencies {
  readonly runs: RunStore;
  readonly scans: ScanStore;
  readonly assets: AssetStore;
  readonly bucket: ReportBucket;
  readonly tokens: Tokens;
  readonly readFingerprintSecret: SecretReader;
  readonly clock: Clock;
  readonly allowLocal: boolean;
  readonly reachable: AddressPolicy;
  /** The organization's setting `repository_exclusions`. */
  readonly readRepositoryExclusions: (orgId: string) => Promise<RepositoryExclusions>;
}

/** A runner's token outlives its deadline by this much, so that it can still report what it was cut off at. */
const GRACE_SECONDS = 300;

export const runnerGateOperations: Implementations<typeof runnerGate.operations, RunnerGateDependencies> = {
  async claimRun({ body, requestId }, dependencies) {
    const { runs, assets, bucket, tokens, readFingerprintSecret, clock, allowLocal, reachable } =
      dependencies;
    const run = await runs.findByRunId(body.org_id, body.run_id);
    const asset = run && (await assets.get(body.org_id, run.asset_id));
    if (!run || !asset?.clone_url) throw new ServiceError('unauthorized', 'The claim is not valid');
    const ref: RunRef = { orgId: body.org_id, scanId: run.scan_id, assetId: run.asset_id, runId: run.id };
    if (!(await runs.useClaim(ref, hashClaim(body.claim))))
      throw new ServiceError('unauthorized', 'The claim is not valid');
    const seconds =
      Math.max(0, Math.ceil((Date.parse(run.deadline_at) - clock.now()) / 1000)) + GRACE_SECONDS;
    // A request of its own, for the sake of another: the line joins the two.
    logInfo('run claimed', {
      ...(run.request_id && { request_id: run.request_id }),
      runner_request_id: requestId,
      org_id: ref.orgId,
      scan_id: ref.scanId,
      run_id: ref.runId,
    });
    return {
      token: await tokens.signRunner(ref, seconds),
      clone_url: asset.clone_url,
      branch: run.branch,
      scanners: run.scanners,
      fingerprint_key: fingerprintKey(await readFingerprintSecret(), ref.orgId),
      deadline: run.deadline_at,
      allow_local: allowLocal,
      reachable: typeof reachable === 'string' ? reachable : [...reachable],
      repository_exclusions: await dependencies.readRepositoryExclusions(ref.orgId),
      request_id: run.request_id ?? null,
      scan_id: ref.scanId,
      databases: await addressesOf(
        KEPT_DATABASES.filter((name) => run.scanners.includes(name)),
        bucket,
      ),
    };
  },

  async reportProgress({ body }, dependencies) {
    const ref = await dependencies.tokens.verifyRunner(body.token);
    await recordEvent(ref, body.event, dependencies);
    const scan = await dependencies.scans.get(ref.orgId, ref.scanId);
    return { cancelled: scan?.status !== 'running' };
  },

  async createReportUpload({ body }, { runs, bucket, tokens }) {
    const ref = await tokens.verifyRunner(body.token);
    const run = await runs.get(ref.orgId, ref.scanId, ref.assetId);
    const state = run?.id === ref.runId && run.status === 'running' ? run.states[body.scanner] : undefined;
    if (state?.status !== 'running' && state?.status !== 'waiting')
      throw new ServiceError('conflict', 'No report of this scanner is expected');
    return bucket.presignUpload({ ...ref, scanner: body.scanner }, body.bytes);
  },
};

async function addressesOf(names: readonly KeptDatabase[], bucket: ReportBucket) {
  const signed = names.map(async (name) => [name, await bucket.presignDatabase(name)] as const);
  return Object.fromEntries(await Promise.all(signed));
}
