import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { timestamp } from '#domain/clock.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createIntegrationStore } from '#store/integrations.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createProjectStore } from '#store/projects.ts';
import { createTeamStore } from '#store/teams.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import { sampleAsset, testAttribution } from '#test/harness/samples.ts';

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

/** One moment: all writes of a test carry it, as where clocks of two machines differ. */
const at = Date.now() + 60_000;
const by = testAttribution(at);
const table = testTable();
const counters = createCounterStore(table, 1);

const RECORDS: Record<string, () => Promise<(name: string) => Promise<unknown>>> = {
  organization: async () => {
    const store = createOrganizationStore(table);
    const first = await store.getOrganization(org.orgId);
    if (!first) throw new Error('The organization is gone');
    const held = await store.updateOrganization(first, { name: 'As it is' }, by);
    return (name) => store.updateOrganization(held, { name }, by);
  },
  project: async () => {
    const store = createProjectStore(table, counters);
    const project = { id: randomUUID(), name: randomUUID(), description: null, team_id: null, parent: null };
    await store.create(org.orgId, project, by);
    const held = await store.require(org.orgId, project.id);
    return (description) => store.update(org.orgId, held, { description }, by);
  },
  team: async () => {
    const store = createTeamStore(table);
    const held = await store.create(org.orgId, { id: randomUUID(), name: 'T', description: null }, by);
    return (description) => store.update(org.orgId, held, { description }, by);
  },
  asset: async () => {
    const store = createAssetStore(table, counters);
    const held = sampleAsset({ updated_at: timestamp(at) });
    await store.create(org.orgId, held, by);
    return (name) => store.update(org.orgId, held, { name }, by);
  },
  integration: async () => {
    const store = createIntegrationStore(table);
    const held = {
      id: randomUUID(),
      name: randomUUID(),
      status: 'active' as const,
      type: 'github' as const,
      config: { account: 'team' },
      created_at: timestamp(at),
      updated_at: timestamp(at),
    };
    await store.create(org.orgId, held, null, by);
    return (name) => store.update(org.orgId, held, { name }, by);
  },
};

describe('two changes of one record, decided on the same state in the same millisecond', () => {
  it.each(Object.entries(RECORDS))(
    'of the %s: the second is told, not written over the first',
    async (_, open) => {
      const change = await open();
      await change('the first');
      await expect(change('the second')).rejects.toMatchObject({ code: 'conflict' });
    },
  );
});
