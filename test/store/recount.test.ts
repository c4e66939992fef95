import { beforeAll, describe, expect, it } from 'vitest';
import { projects } from '#contract/operations/projects.ts';
import { toOpaque } from '#domain/ids.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createRecounting } from '#store/recount.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';

const table = testTable();
const counters = createCounterStore(table, 32);
const recounting = createRecounting(table, createAssetStore(table, counters), counters);
let org: TestOrganization;
let assetId: string;
beforeAll(async () => {
  org = await createTestOrganization();
  const { asset } = await seedFindings(org, [{}, { severity: 'low' }, { status: 'resolved' }]);
  await seedFindings(org, [{}]);
  assetId = asset.id;
  const project = await org.client.call(projects.operations.createProject, { body: { name: 'P' } });
  await org.client.call(projects.operations.assignProjectAssets, {
    params: { project_id: project.id },
    body: { asset_ids: [toOpaque('asset', assetId)] },
  });
});

describe('a recount', () => {
  it('finds every counter exact', async () => {
    expect(await recounting.recount(org.orgId)).toEqual({ findings: 4, counters: 6, differences: [] });
  });

  it('finds a counter that is off, and mends it', async () => {
    await table.transact(
      counters.mendWrites(
        org.orgId,
        { of: 'asset', id: assetId },
        new Map([
          ['100', 2],
          ['310', -1],
        ]),
      ),
    );
    await table.transact(
      counters.mendWrites(org.orgId, { of: 'organization', id: org.orgId }, new Map([['100', -5]])),
    );
    const { differences } = await recounting.recount(org.orgId);
    expect(differences).toEqual([
      { of: 'organization', id: org.orgId, missing: new Map([['100', 5]]) },
      {
        of: 'asset',
        id: assetId,
        missing: new Map([
          ['100', -2],
          ['310', 1],
        ]),
      },
    ]);
    await recounting.mend(org.orgId, differences);
    expect((await recounting.recount(org.orgId)).differences).toEqual([]);
  });
});
