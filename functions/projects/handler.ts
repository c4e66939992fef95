import { projects } from '#contract/operations/projects.ts';
import { systemClock } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import { createHandler } from '#http/chain.ts';
import { readConfig } from '#shared/config.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createGroupMemberStore } from '#store/group-members.ts';
import { createPolicyStore } from '#store/policies.ts';
import { createProjectStore } from '#store/projects.ts';
import { createTable } from '#store/table.ts';
import { projectOperations } from './operations.ts';

const config = readConfig(['TABLE_NAME', 'COUNTER_LANES']);
const table = createTable(config.TABLE_NAME);
const counters = createCounterStore(table, config.COUNTER_LANES);

export const handler = createHandler(projects, projectOperations, {
  projects: createProjectStore(table, counters),
  assets: createAssetStore(table, counters),
  policies: createPolicyStore(table),
  counters,
  groups: createGroupMemberStore(table),
  clock: systemClock,
  ids: createIds(systemClock),
});
