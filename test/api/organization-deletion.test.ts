import { randomUUID } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auth } from '#contract/operations/auth.ts';
import { findings } from '#contract/operations/findings.ts';
import { integrations } from '#contract/operations/integrations.ts';
import { organizations as group } from '#contract/operations/organizations.ts';
import { policies } from '#contract/operations/policies.ts';
import { projects } from '#contract/operations/projects.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { createExportStore } from '#store/exports.ts';
import { createOrganizationPurge } from '#store/organization-purge.ts';
import { listPendingDeletions } from '#store/pending-deletions.ts';
import { countedTable } from '#test/harness/counted-table.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { request } from '#test/harness/http.ts';
import { importReport } from '#test/harness/importing.ts';
import { connect, createTestOrganization, join, type TestOrganization } from '#test/harness/organization.ts';
import { testAttribution } from '#test/harness/samples.ts';
import { sarifLog } from '#test/harness/sarif.ts';
import { addRepository, scanToEnd } from '#test/harness/scanning.ts';
import { storedItems } from '#test/harness/stored-items.ts';
import { listObjects } from '#test/harness/stored-objects.ts';
import {
  commitFiles,
  createVulnerableRepository,
  git,
  type VulnerableRepository,
} from '#test/harness/vulnerable-repository.ts';

const { operations } = group;
let repository: VulnerableRepository;
beforeAll(async () => {
  repository = await createVulnerableRepository();
  await git(repository.path, 'checkout', '--quiet', '-b', 'feature');
  await commitFiles(repository.path, { 'note.txt': 'x\n' }, 'a branch');
  await git(repository.path, 'checkout', '--quiet', 'main');
});
afterAll(() => repository?.remove());

/** Every item of the table that mentions the organization anywhere. */
async function leftOvers(orgId: string): Promise<string[]> {
  const items = await storedItems();
  return items.filter((item) => JSON.stringify(item).includes(orgId)).map(({ pk, sk }) => `${pk} / ${sk}`);
}

const reportsOf = (orgId: string) => listObjects(`raw/${orgId}/`);

/** An organization with something of everything. */
async function fill(org: TestOrganization): Promise<void> {
  const params = { org_id: org.orgId };
  const email = `${randomUUID()}@example.com`;
  const user = await org.client.call(operations.createUser, {
    body: { email, name: 'Member', password: 'a long enough password for a test' },
  });
  await connect().call(auth.operations.login, {
    body: { email, password: 'a long enough password for a test' },
  });
  const user_id = fromOpaque('user', user.id ?? '') ?? '';
  const team = await org.client.call(operations.createTeam, { params, body: { name: 'Team' } });
  await org.client.call(operations.addTeamMember, {
    params: { ...params, team_id: team.id },
    body: { user_id },
  });
  const project = await org.client.call(projects.operations.createProject, { body: { name: 'Project' } });
  const sub = await org.client.call(projects.operations.createSubProject, {
    params: { project_id: project.id },
    body: { name: 'Sub' },
  });
  await org.client.call(operations.addProjectMember, {
    params: { ...params, project_id: fromOpaque('project', sub.id) ?? '' },
    body: { user_id },
  });
  await org.client.call(integrations.operations.createIntegration, {
    params,
    body: {
      type: 'webhook',
      name: 'Hook',
      config: { url: 'https://example.com/hook', events: ['scan.completed'] },
    },
  });
  const policy = await org.client.call(policies.operations.createPolicy, {
    body: {
      name: 'Policy',
      kind: 'triage',
      rego: 'package svc.triage\n\nimport rego.v1\n\ndecision := "accept"\n',
    },
  });
  await org.client.call(policies.operations.evaluatePolicy, { body: { policy_id: policy.id, input: {} } });
  await org.client.call(policies.operations.activatePolicy, { params: { policy_id: policy.id } });
  const assetId = await addRepository(org, pathToFileURL(repository.path).href);
  await org.client.call(projects.operations.assignProjectAssets, {
    params: { project_id: sub.id },
    body: { asset_ids: [assetId] },
  });
  for (const branch of [undefined, 'feature']) await scanToEnd(org, assetId, ['gitleaks'], branch);
  expect((await org.client.call(findings.operations.getFindingSummary)).total).toBe(1);
  const [finding] = (await org.client.call(findings.operations.listFindings)).data;
  const inFinding = { params: { finding_id: finding?.id ?? '' } };
  // A mark for the next run, and then an end of its suppression: each is kept apart from the finding.
  await org.client.call(findings.operations.updateFinding, { ...inFinding, body: { status: 'resolved' } });
  await org.client.call(findings.operations.suppressFinding, {
    ...inFinding,
    body: { reason: 'false_positive', expires_at: new Date(Date.now() + 86_400_000).toISOString() },
  });
  const { records } = await seedFindings(org, [{ status: 'resolved', reported: false }]);
  await org.client.call(findings.operations.updateFinding, {
    params: { finding_id: toOpaque('finding', records[0]?.id ?? '') },
    body: { status: 'open' },
  });
  // An export that nobody is at work on.
  const lost = { id: randomUUID(), format: 'csv' as const, selection: {} };
  await createExportStore(countedTable().table).create(org.orgId, lost, testAttribution());
  // An asset whose own deletion has only begun, and that has a manifest.
  const { asset } = await seedFindings(org, [{}]);
  const imported = await importReport(org, toOpaque('asset', asset.id), sarifLog([{ path: 'a.ts' }]));
  expect(imported.status).toBe('completed');
  await request('DELETE', `/api/assets/${toOpaque('asset', asset.id)}`, { key: org.accessToken });
}

describe('deleting an organization', () => {
  it('is accepted at once, and leaves nothing behind', async () => {
    const [org, other] = [await createTestOrganization(), await createTestOrganization()];
    await fill(org);
    await join(org, { userId: other.admin.userId, client: other.client });
    const third = await createTestOrganization();
    await org.client.call(operations.addMember, {
      params: { org_id: org.orgId },
      query: { user_id: third.admin.userId },
    });
    const { key } = await org.withKey('admin');
    expect(await reportsOf(org.orgId)).toContain('<Key>');
    // Requests are counted all the while; everything else of the other organization stays.
    const kept = async () =>
      (await leftOvers(other.orgId)).filter((place) => !place.startsWith('RATE#')).sort();
    const before = await kept();

    const answer = await org.client.call(operations.deleteOrganization, { params: { org_id: org.orgId } });
    expect(answer).toEqual({ id: org.orgId, deleted: true });
    // For everybody it is gone with the next request, whatever is still being removed.
    expect((await request('GET', '/api/projects', { key })).status).toBe(401);
    expect(
      (await request('GET', `/api/orgs/${org.orgId}`, { key: org.accessToken })).status,
    ).toBeGreaterThanOrEqual(401);
    const own = await other.client.call(auth.operations.listOwnOrganizations);
    expect(own.map(({ id }) => id)).toEqual([other.orgId]);

    await expect.poll(() => leftOvers(org.orgId), { timeout: 90_000, interval: 1000 }).toEqual([]);
    expect(await reportsOf(org.orgId)).not.toContain('<Key>');
    expect(await kept()).toEqual(before);
  });

  it('goes on where it was cut off, after every single request', async () => {
    const org = await createTestOrganization();
    await fill(org);
    const { table } = countedTable();
    const purge = createOrganizationPurge(table);
    await purge.begin(org.orgId, `test-${org.orgId}`, testAttribution());
    const pending = async () => (await listPendingDeletions(table)).map(({ org_id }) => org_id);
    expect(await pending()).toContain(org.orgId);
    let turns = 0;
    for (let done = false; !done; turns += 1) {
      // Each turn is cut off after a few looks; it needs one for each step that is done already.
      let looks = 2 + turns;
      done = await purge.continue(org.orgId, () => looks-- > 0);
      if (turns > 500) throw new Error('The deletion does not end');
    }
    expect(turns).toBeGreaterThan(1);
    expect(await leftOvers(org.orgId)).toEqual([]);
    expect(await pending()).not.toContain(org.orgId);
  });

  it('is the admins’ alone, and only once', async () => {
    const org = await createTestOrganization();
    const editor = await org.withRole('Project Admin');
    await expect(
      editor.call(operations.deleteOrganization, { params: { org_id: org.orgId } }),
    ).rejects.toMatchObject({ status: 403 });
    const { table } = countedTable();
    const purge = createOrganizationPurge(table);
    await purge.begin(org.orgId, `test-${org.orgId}`, testAttribution());
    await expect(purge.begin(org.orgId, `test-${org.orgId}`, testAttribution())).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});
