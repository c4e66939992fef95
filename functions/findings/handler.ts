import { findings } from '#contract/operations/findings.ts';
import { systemClock } from '#domain/clock.ts';
import type { ReevaluationRequested } from '#events/reevaluations.ts';
import { createHandler } from '#http/chain.ts';
import { readConfig } from '#shared/config.ts';
import { createQueue } from '#shared/queue.ts';
import { createCursors } from '#shared/security/cursors.ts';
import { createSecretReader } from '#shared/security/secrets.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createTriageStore } from '#store/finding-triage.ts';
import { createFindingStore } from '#store/findings.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createTable } from '#store/table.ts';
import { findingOperations } from './operations.ts';

const config = readConfig(['TABLE_NAME', 'COUNTER_LANES', 'CURSOR_SECRET_ARN', 'REEVALUATION_QUEUE_URL']);
const table = createTable(config.TABLE_NAME);
const counters = createCounterStore(table, config.COUNTER_LANES);

export const handler = createHandler(findings, findingOperations, {
  findings: createFindingStore(table, counters),
  assets: createAssetStore(table, counters),
  triage: createTriageStore(table, counters),
  organizations: createOrganizationStore(table),
  counters,
  cursors: createCursors(createSecretReader(config.CURSOR_SECRET_ARN)),
  reevaluations: createQueue<ReevaluationRequested>(config.REEVALUATION_QUEUE_URL),
  clock: systemClock,
});
