import type * as z from 'zod';
import type { runnerGate } from '#contract/operations/runner-gate.ts';
import type { Clock } from '#domain/clock.ts';
import type { AssetStore } from '#store/assets.ts';
import type { RunRef, RunStore } from '#store/runs.ts';

type RunnerEvent = z.output<(typeof runnerGate.operations.reportProgress)['body']>['event'];

interface Dependencies {
  readonly runs: RunStore;
  readonly assets: AssetStore;
  readonly clock: Clock;
}

/** Records one event of a runner; one that comes late or twice changes nothing. */
export async function recordEvent(
  ref: RunRef,
  event: RunnerEvent,
  { runs, assets, clock }: Dependencies,
): Promise<void> {
  const now = clock.now();
  switch (event.type) {
    case 'heartbeat':
      return;
    case 'checkout':
      await recordCheckout(ref, event, { runs, assets, clock });
      return;
    case 'clone_failed': {
      const run = await runs.get(ref.orgId, ref.scanId, ref.assetId);
      const error = { code: 'clone_failed', message: event.message };
      for (const scanner of run?.scanners ?? []) await runs.scannerFailed(ref, scanner, error, now);
      return;
    }
    case 'started':
      await runs.scannerStarted(ref, event.scanner, now);
      return;
    case 'reported':
      await runs.scannerReported(ref, event.scanner, event.finding_count, now);
      return;
    case 'failed':
      await runs.scannerFailed(ref, event.scanner, { code: event.code, message: event.message }, now);
      return;
  }
}

/**
 * What a checkout teaches: the commit, and HEAD's branch where the asset's default branch was not known.
 * A path of this machine has no other default than what is checked out there now.
 */
async function recordCheckout(
  ref: RunRef,
  { commit, head_branch: head }: Extract<RunnerEvent, { type: 'checkout' }>,
  { runs, assets, clock }: Dependencies,
): Promise<void> {
  const [run, asset] = await Promise.all([
    runs.get(ref.orgId, ref.scanId, ref.assetId),
    assets.get(ref.orgId, ref.assetId),
  ]);
  if (!run || !asset) return;
  const follows = asset.default_branch === null || asset.provider === 'local';
  const isDefault = run.default_branch || (follows && run.branch === head);
  await Promise.all([
    runs.recordCheckout(ref, commit, isDefault),
    assets.recordCheckout(ref.orgId, ref.assetId, follows ? head : null, clock.now()),
  ]);
}
