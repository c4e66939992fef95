import type { Clock } from '#domain/clock.ts';
import type { Ids } from '#domain/ids.ts';
import type { ReevaluationRequested } from '#events/reevaluations.ts';
import type { Reactor } from '#shared/policy/reactor.ts';
import type { Queue } from '#shared/queue.ts';
import type { AssetStore } from '#store/assets.ts';
import type { FindingStore } from '#store/findings.ts';
import type { OrganizationStore } from '#store/organizations.ts';
import type { PolicyStore } from '#store/policies.ts';
import type { PolicyCodeStore } from '#store/policy-code.ts';
import type { PolicyRunStore } from '#store/policy-runs.ts';
import type { ProjectStore } from '#store/projects.ts';
import type { ScanStore } from '#store/scans.ts';

export interface PolicyDependencies {
  readonly policies: PolicyStore;
  readonly code: PolicyCodeStore;
  readonly runs: PolicyRunStore;
  readonly findings: Pick<FindingStore, 'getMany' | 'readContext'>;
  readonly assets: Pick<AssetStore, 'getMany'>;
  readonly projects: Pick<ProjectStore, 'getMany' | 'find'>;
  readonly organizations: Pick<OrganizationStore, 'getOrganization'>;
  readonly scans: Pick<ScanStore, 'get'>;
  readonly reactor: Reactor;
  readonly reevaluations: Queue<ReevaluationRequested>;
  readonly clock: Clock;
  readonly ids: Ids;
}
