import type { Clock } from '#domain/clock.ts';
import type { DispatchRequested } from '#events/pipeline.ts';
import type { Executions } from '#shared/executions.ts';
import type { OrganizationStore } from '#store/organizations.ts';
import type { RunnerPlaceStore } from '#store/runner-places.ts';
import type { RunStore } from '#store/runs.ts';
import type { ScanStore } from '#store/scans.ts';
import { takeTurns } from './turns.ts';
import { openWaitingRuns } from './waiting-runs.ts';

export interface DispatcherDependencies {
  readonly scans: ScanStore;
  readonly runs: RunStore;
  readonly places: RunnerPlaceStore;
  readonly organizations: OrganizationStore;
  readonly executions: Executions;
  readonly clock: Clock;
  /** Runners that run at once, over all organizations; 0: as many as their tiers allow. */
  readonly maxRunners: number;
}

/**
 * Starts as many of an organization's waiting runs as its tier has scanner processes for, the oldest scan's first.
 * Where the deployment bounds its runners, organizations take turns at their places.
 */
export async function dispatchRuns(
  { org_id: orgId }: DispatchRequested,
  dependencies: DispatcherDependencies,
): Promise<void> {
  if (dependencies.maxRunners > 0) {
    await takeTurns(orgId, dependencies);
    return;
  }
  const waiting = openWaitingRuns(orgId, dependencies);
  while ((await waiting.startNext(null)) === 'started');
}
