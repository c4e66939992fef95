import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operations } from '#contract/index.ts';
import type { Operation } from '#contract/operation.ts';
import { exports_ } from '#contract/operations/exports.ts';
import { findings } from '#contract/operations/findings.ts';
import { integrations } from '#contract/operations/integrations.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { policies } from '#contract/operations/policies.ts';
import { projects } from '#contract/operations/projects.ts';
import { fromOpaque, readId } from '#domain/ids.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { addRepository, scanToEnd } from '#test/harness/scanning.ts';
import {
  createVulnerableRepository,
  type VulnerableRepository,
} from '#test/harness/vulnerable-repository.ts';

/** Real ids of one organization, in the hands of another's admin. */
let victim: TestOrganization;
let intruder: TestOrganization;
let repository: VulnerableRepository;
const ids: Record<string, string> = {};
let own: { projectId: string; assetId: string };

beforeAll(async () => {
  [victim, intruder] = await Promise.all([createTestOrganization(), createTestOrganization()]);
  repository = await createVulnerableRepository();
  const params = { org_id: victim.orgId };
  const team = await victim.client.call(organizations.operations.createTeam, { params, body: { name: 'T' } });
  const project = await victim.client.call(projects.operations.createProject, { body: { name: 'P' } });
  const asset = await addRepository(victim, pathToFileURL(repository.path).href);
  const scan = await scanToEnd(victim, asset, ['gitleaks']);
  const [finding] = (await victim.client.call(findings.operations.listFindings)).data;
  const integration = await victim.client.call(integrations.operations.createIntegration, {
    params,
    body: { type: 'github', name: 'G', config: {} },
  });
  const policy = await victim.client.call(policies.operations.createPolicy, {
    body: { name: 'P', kind: 'triage', rego: REGO },
  });
  const { keyId } = await victim.withKey('admin');
  const { invitation } = await victim.client.call(organizations.operations.addMember, {
    params,
    query: { user_id: intruder.admin.userId },
  });
  const made = await victim.client.call(exports_.operations.exportFindings, { body: { format: 'csv' } });
  Object.assign(ids, {
    team_id: team.id,
    project_id: project.id,
    asset_id: asset,
    repo_id: fromOpaque('asset', asset),
    scan_id: scan.id,
    finding_id: finding?.id,
    integration_id: integration.id,
    policy_id: policy.id,
    version: '1',
    key_id: keyId,
    export_id: made.id,
    member_user_id: victim.admin.userId,
    invitation_id: invitation?.id,
  });
  const ownProject = await intruder.client.call(projects.operations.createProject, { body: { name: 'P' } });
  own = {
    projectId: ownProject.id,
    assetId: await addRepository(intruder, pathToFileURL(repository.path).href),
  };
});
afterAll(() => repository?.remove());

const REGO = 'package svc.triage\n\nimport rego.v1\n\ndecision := "accept"\n';
const BODIES: Record<string, () => unknown> = {
  updateFinding: () => ({ status: 'resolved', notes: 'mine' }),
  suppressFinding: () => ({ reason: 'false_positive' }),
  createImportUrl: () => ({ bytes: 10 }),
  assignProjectAssets: () => ({ asset_ids: [own.assetId] }),
  linkRepository: () => ({ project_id: fromOpaque('project', own.projectId) }),
  createSubProject: () => ({ name: 'x' }),
  createOrgSubProject: () => ({ name: 'x' }),
  updatePolicyScope: () => ({ scope: 'organization' }),
  addTeamMember: () => ({ user_id: intruder.admin.userId }),
  addProjectMember: () => ({ user_id: intruder.admin.userId }),
};

function pathOf(operation: Operation): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (name === 'org_id') return intruder.orgId;
    const id = ids[name];
    if (!id) throw new Error(`This test knows no ${name}: add one`);
    const isOpaque = name === 'project_id' || name === 'policy_id';
    return operation.family === 'A' && isOpaque ? (readId(id) ?? '') : id;
  });
}

const withIds = operations.filter(({ path, internal }) => !internal && /\{(?!org_id\})\w+\}/.test(path));

describe('another organization’s records', () => {
  it.each(withIds.map((operation) => [operation.id, operation] as const))(
    '%s does not find them',
    async (id, operation) => {
      const body = operation.body ? (BODIES[id]?.() ?? {}) : undefined;
      const answer = await request(operation.method, pathOf(operation), {
        key: intruder.accessToken,
        ...(body !== undefined && { body }),
      });
      expect([answer.status, answer.body.error?.code], JSON.stringify(answer.body)).toEqual([
        404,
        'not_found',
      ]);
    },
  );

  it.each([
    ['POST', '/api/scans', () => ({ scope: 'asset', target_id: ids.asset_id, scanners: ['gitleaks'] })],
    ['POST', '/api/scans', () => ({ scope: 'project', target_id: ids.project_id, scanners: ['gitleaks'] })],
    ['POST', '/api/policies/evaluate', () => ({ policy_id: ids.policy_id, input: {} })],
    ['POST', '/api/policies/evaluate', () => ({ kind: 'triage', rego: REGO, finding_ids: [ids.finding_id] })],
    [
      'POST',
      '/api/policies',
      () => ({ name: 'x', kind: 'triage', rego: REGO, scope: 'project', scope_target_id: ids.project_id }),
    ],
    ['POST', '/api/projects/OWN/assets', () => ({ asset_ids: [ids.asset_id] })],
    ['POST', '/api/projects', () => ({ name: 'y', team_id: `team_${ids.team_id?.replaceAll('-', '')}` })],
  ])('are not reached through a body either: %s %s', async (method, path, body) => {
    const answer = await request(method, path.replace('OWN', own.projectId), {
      key: intruder.accessToken,
      body: body(),
    });
    expect([answer.status, answer.body.error?.code]).toEqual([404, 'not_found']);
  });

  it.each([
    () => `project_id=${ids.project_id}`,
    () => `asset_id=${ids.asset_id}`,
    () => `id=${ids.finding_id}`,
  ])('are not counted through a filter', async (query) => {
    const list = await request('GET', `/api/findings?${query()}`, { key: intruder.accessToken });
    expect(list.body).toMatchObject({ data: [], pagination: { total: 0 } });
    const summary = await request('GET', `/api/findings/summary?${query()}`, { key: intruder.accessToken });
    expect(summary.body.total).toBe(0);
  });

  it('are not changed in bulk', async () => {
    const body = { finding_ids: [ids.finding_id], update: { status: 'resolved' } };
    const answer = await request('POST', '/api/findings/bulk', { key: intruder.accessToken, body });
    expect(answer.body).toMatchObject({ results: [{ outcome: 'not_found' }], updated: 0 });
    const byFilter = { filter: { asset_id: ids.asset_id }, update: { status: 'resolved' } };
    const filtered = await request('POST', '/api/findings/bulk', {
      key: intruder.accessToken,
      body: byFilter,
    });
    expect(filtered.body).toMatchObject({ results: [], total: 0 });
  });

  it('are all still there', async () => {
    const [held] = (await victim.client.call(findings.operations.listFindings)).data;
    expect(held).toMatchObject({ status: 'open', notes: null });
    expect((await victim.client.call(findings.operations.getFindingSummary)).total).toBe(1);
    expect((await victim.client.call(projects.operations.listProjects)).data).toMatchObject([{ name: 'P' }]);
    expect(
      await victim.client.call(organizations.operations.listMembers, { params: { org_id: victim.orgId } }),
    ).toHaveLength(1);
  });
});
