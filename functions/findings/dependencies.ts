import type { Clock } from '#domain/clock.ts';
import type { ReevaluationRequested } from '#events/reevaluations.ts';
import type { Queue } from '#shared/queue.ts';
import type { Cursors } from '#shared/security/cursors.ts';
import type { AssetStore } from '#store/assets.ts';
import type { CounterStore } from '#store/counters.ts';
import type { TriageStore } from '#store/finding-triage.ts';
import type { FindingStore } from '#store/findings.ts';
import type { OrganizationStore } from '#store/organizations.ts';

export interface FindingDependencies {
  readonly findings: FindingStore;
  readonly triage: TriageStore;
  readonly assets: AssetStore;
  readonly organizations: Pick<OrganizationStore, 'findUserByEmail'>;
  readonly counters: CounterStore;
  readonly cursors: Cursors;
  /** Asks policies about what a person opens to them. */
  readonly reevaluations: Queue<ReevaluationRequested>;
  readonly clock: Clock;
}
