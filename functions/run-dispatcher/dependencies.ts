import type { Clock } from '#domain/clock.ts';
import type { Executions } from '#shared/executions.ts';
import type { OrganizationStore } from '#store/organizations.ts';
import type { RunnerPlaceStore } from '#store/runner-places.ts';
import type { RunStore } from '#store/runs.ts';
import type { ScanStore } from '#store/scans.ts';

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
