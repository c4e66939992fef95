import { fileURLToPath } from 'node:url';
import { policies } from '#contract/operations/policies.ts';
import { systemClock } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import type { ReevaluationRequested } from '#events/reevaluations.ts';
import { createHandler } from '#http/chain.ts';
import { readConfig } from '#shared/config.ts';
import { policyFiles } from '#shared/policy/files.ts';
import { createReactor } from '#shared/policy/reactor.ts';
import { createQueue } from '#shared/queue.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createFindingStore } from '#store/findings.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createPolicyStore } from '#store/policies.ts';
import { createPolicyCodeStore } from '#store/policy-code.ts';
import { createPolicyRunStore } from '#store/policy-runs.ts';
import { createProjectStore } from '#store/projects.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable } from '#store/table.ts';
import { openPolicyOperations } from './open-policies.ts';
import { policyOperations } from './operations.ts';

const config = readConfig(['TABLE_NAME', 'COUNTER_LANES', 'POLICY_ASSETS_DIR', 'REEVALUATION_QUEUE_URL']);
const table = createTable(config.TABLE_NAME);
const counters = createCounterStore(table, config.COUNTER_LANES);
const assets = config.POLICY_ASSETS_DIR;

export const handler = createHandler(
  policies,
  { ...policyOperations, ...openPolicyOperations },
  {
    policies: createPolicyStore(table),
    code: createPolicyCodeStore(table),
    runs: createPolicyRunStore(table),
    findings: createFindingStore(table, counters),
    assets: createAssetStore(table, counters),
    projects: createProjectStore(table, counters),
    organizations: createOrganizationStore(table),
    scans: createScanStore(table),
    // Loaded by the first request that needs it: reads never do.
    reactor: createReactor(
      policyFiles(assets === '' ? undefined : fileURLToPath(new URL(assets, import.meta.url))),
    ),
    reevaluations: createQueue<ReevaluationRequested>(config.REEVALUATION_QUEUE_URL),
    clock: systemClock,
    ids: createIds(systemClock),
  },
);
