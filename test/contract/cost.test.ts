import { pathToFileURL } from 'node:url';
import type { Context } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { operations } from '#contract/index.ts';
import type { Operation } from '#contract/operation.ts';
import { exports_ } from '#contract/operations/exports.ts';
import { findings } from '#contract/operations/findings.ts';
import { integrations } from '#contract/operations/integrations.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { policies } from '#contract/operations/policies.ts';
import { projects } from '#contract/operations/projects.ts';
import { fromOpaque, readId } from '#domain/ids.ts';
import { startCountingProxy } from '#test/harness/counting-proxy.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { addRepository, scanToEnd } from '#test/harness/scanning.ts';
import {
  createVulnerableRepository,
  type VulnerableRepository,
} from '#test/harness/vulnerable-repository.ts';

/**
 * What every read costs in requests of the store, the authorizer's not counted: exact numbers, so that
 * one more is a decision. A new read does not compile into this suite unnoticed: it fails here first.
 */
const COSTS: Record<string, number> = {
  getHealth: 0,
  getOpenApiDocument: 0,
  getCurrentUser: 1,
  listOwnOrganizations: 2,
  getOrganization: 1,
  getOwnOrganization: 1,
  listMembers: 2,
  listTeams: 1,
  listOwnTeams: 1,
  getTeam: 1,
  listTeamMembers: 3,
  listProjectMembers: 3,
  listUsers: 2,
  listInvitations: 1,
  listAuditLog: 2,
  listApiKeys: 2,
  listIntegrations: 1,
  getIntegration: 1,
  listProjects: 3,
  getProject: 2,
  listSubProjects: 2,
  listProjectAssets: 2,
  listOrgProjects: 3,
  getOrgProject: 2,
  listOrgSubProjects: 2,
  listRepositories: 2,
  listAssets: 2,
  getAsset: 2,
  listScans: 2,
  getScan: 1,
  getScanSummary: 3,
  listScanFindings: 3,
  listScanRuns: 1,
  listFindings: 3,
  listAssetFindings: 3,
  getFindingSummary: 1,
  getFinding: 2,
  listPolicies: 2,
  getPolicy: 2,
  listPolicyVersions: 1,
  getPolicyVersion: 2,
  listOpenPolicies: 2,
  getOpenPolicy: 2,
  listOpenPolicyRuns: 2,
  getFindingExport: 1,
};

let org: TestOrganization;
let repository: VulnerableRepository;
let proxy: Awaited<ReturnType<typeof startCountingProxy>>;
const ids: Record<string, string> = {};

beforeAll(async () => {
  org = await createTestOrganization();
  repository = await createVulnerableRepository();
  const params = { org_id: org.orgId };
  const team = await org.client.call(organizations.operations.createTeam, { params, body: { name: 'T' } });
  const project = await org.client.call(projects.operations.createProject, { body: { name: 'P' } });
  const asset = await addRepository(org, pathToFileURL(repository.path).href);
  await org.client.call(projects.operations.assignProjectAssets, {
    params: { project_id: project.id },
    body: { asset_ids: [asset] },
  });
  const scan = await scanToEnd(org, asset, ['gitleaks']);
  await org.withKey('admin');
  const [finding] = (await org.client.call(findings.operations.listFindings)).data;
  const integration = await org.client.call(integrations.operations.createIntegration, {
    params,
    body: { type: 'github', name: 'G', config: {} },
  });
  const policy = await org.client.call(policies.operations.createPolicy, {
    body: {
      name: 'P',
      kind: 'triage',
      rego: 'package svc.triage\n\nimport rego.v1\n\ndecision := "accept"\n',
    },
  });
  await org.client.call(organizations.operations.addTeamMember, {
    params: { ...params, team_id: team.id },
    body: { user_id: org.admin.userId },
  });
  await org.client.call(organizations.operations.addProjectMember, {
    params: { ...params, project_id: fromOpaque('project', project.id) ?? '' },
    body: { user_id: org.admin.userId },
  });
  const made = await org.client.call(exports_.operations.exportFindings, { body: { format: 'csv' } });
  Object.assign(ids, {
    org_id: org.orgId,
    team_id: team.id,
    project_id: project.id,
    asset_id: asset,
    scan_id: scan.id,
    finding_id: finding?.id,
    integration_id: integration.id,
    policy_id: policy.id,
    version: '1',
    export_id: made.id,
  });
  proxy = await startCountingProxy(inject('service').dynamodb);
  // The handlers of this process talk to the store through the proxy.
  process.env.AWS_ENDPOINT_URL_DYNAMODB = proxy.url;
});
afterAll(async () => {
  proxy?.stop();
  await repository?.remove();
});

function pathOf(operation: Operation): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[name] ?? '';
    return operation.family === 'A' ? uuidOf(name, id) : id;
  });
}

/** Family A's form of an id. */
function uuidOf(name: string, id: string): string {
  return (name === 'project_id' || name === 'policy_id' ? readId(id) : null) ?? id;
}

/** Calls the operation's function as the gateway does, past the authorizer. */
async function invoke(operation: Operation): Promise<{ statusCode: number; body: string }> {
  const { handler } = (await import(`#functions/${operation.group}/handler.ts`)) as {
    handler: (event: unknown, context: Context) => Promise<{ statusCode: number; body: string }>;
  };
  const caller = {
    kind: 'user',
    id: org.admin.userId,
    name: 'Admin',
    email: org.admin.email,
    sessionId: null,
    orgId: org.orgId,
    role: 'Admin',
    scopes: ['admin'],
  };
  const event = {
    rawPath: pathOf(operation),
    headers: {},
    isBase64Encoded: false,
    requestContext: {
      http: { method: operation.method, path: pathOf(operation), sourceIp: '192.0.2.1' },
      authorizer: { lambda: { caller: JSON.stringify(caller) } },
    },
  };
  return handler(event, {} as Context);
}

const reads = operations.filter((operation) => operation.method === 'GET');

describe('the cost of a read', () => {
  it('is known for each', () => {
    expect(Object.keys(COSTS).sort()).toEqual(reads.map(({ id }) => id).sort());
  });

  it.each(reads.map((operation) => [operation.id, operation] as const))('%s', async (id, operation) => {
    await invoke(operation);
    proxy.take();
    const answer = await invoke(operation);
    expect(answer.statusCode, answer.body).toBe(200);
    expect(proxy.take()).toBe(COSTS[id]);
  });

  it('is at most two for one record', () => {
    const records = reads.filter(
      ({ id, response }) => id.startsWith('get') && !id.endsWith('Summary') && response.status === 200,
    );
    for (const { id } of records) expect(COSTS[id], id).toBeLessThanOrEqual(2);
  });

  it('is at most three for a list', () => {
    for (const { id } of reads.filter((operation) => operation.id.startsWith('list')))
      expect(COSTS[id], id).toBeLessThanOrEqual(3);
  });
});
