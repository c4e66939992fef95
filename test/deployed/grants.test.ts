import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { apiKeys } from '#contract/operations/api-keys.ts';
import { assets } from '#contract/operations/assets.ts';
import { exports_ } from '#contract/operations/exports.ts';
import { findings } from '#contract/operations/findings.ts';
import { integrations } from '#contract/operations/integrations.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { policies } from '#contract/operations/policies.ts';
import { projects } from '#contract/operations/projects.ts';
import { scans } from '#contract/operations/scans.ts';
import type { FunctionName } from '#infra/functions/catalogue.ts';
import { request } from '#test/harness/http.ts';
import { freshAsset, importReport, sendReport } from '#test/harness/importing.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { sarifLog } from '#test/harness/sarif.ts';
import { openIam, readIamLog } from './iam.ts';

let org: TestOrganization;
let asset: string;
let repositories = 0;

beforeAll(async () => {
  org = await createTestOrganization();
  asset = await freshAsset(org);
  await importReport(org, asset, sarifLog([{}]));
});

const title = () => `grant ${crypto.randomUUID()}`;

/** An operation of each function of the API, which asks for as much as it can; each may be repeated. */
const OPERATIONS: Partial<Record<FunctionName, () => Promise<unknown>>> = {
  auth: () => request('POST', '/api/auth/login', { body: org.admin }).then(refuseFailure),
  organizations: () =>
    org.client.call(organizations.operations.createTeam, {
      params: { org_id: org.orgId },
      body: { name: title() },
    }),
  'api-keys': () =>
    org.client.call(apiKeys.operations.createApiKey, {
      params: { org_id: org.orgId },
      body: { name: title(), scopes: ['projects:read'] },
    }),
  projects: () => org.client.call(projects.operations.createProject, { body: { name: title() } }),
  assets: async () => {
    repositories += 1;
    const url = `https://git.example.com/grants/${org.orgId}/${repositories}.git`;
    const body = { name: title(), url };
    await org.client.call(assets.operations.addRepository, { params: { org_id: org.orgId }, body });
  },
  integrations: () =>
    org.client.call(integrations.operations.listIntegrations, { params: { org_id: org.orgId } }),
  scans: () => org.client.call(scans.operations.listScans),
  findings: () => org.client.call(findings.operations.listFindings, { query: { asset_id: asset } }),
  imports: () => sendReport(org, asset, sarifLog([{ rule: title() }])),
  exports: () => org.client.call(exports_.operations.exportFindings, { body: { format: 'csv' } }),
  policies: () =>
    org.client.call(policies.operations.createPolicy, {
      body: {
        name: title(),
        kind: 'triage',
        rego: 'package svc.triage\nimport rego.v1\ndecision := "accept"',
      },
    }),
};

function refuseFailure(answer: { status: number }): void {
  if (answer.status !== 200) throw new Error(`answered ${answer.status}`);
}

/** Without these a request is answered all the same, on purpose. */
const DISPENSABLE: readonly { functionName: FunctionName; action: string; because: string }[] = [
  {
    functionName: 'authorizer',
    action: 'dynamodb:UpdateItem',
    because: 'where requests can not be counted, they pass',
  },
  {
    functionName: 'imports',
    action: 'sqs:SendMessage',
    because: 'it is recorded, and the sweep sends what nobody works on',
  },
  {
    functionName: 'exports',
    action: 'sqs:SendMessage',
    because: 'it is recorded, and the sweep sends what nobody works on',
  },
];

describe('a grant that is taken away', () => {
  const { endpoint, iamLog } = inject('deployment');
  const iam = openIam(endpoint);

  it.each(Object.entries(OPERATIONS))('of %s makes its operation fail, and no other', async (name, run) => {
    await run();
    const from = readFileSync(iamLog, 'utf8').length;
    await run();
    const asked = readIamLog(iamLog, from)
      // What others did meanwhile is in the same log.
      .filter(({ functionName }) => functionName === name || functionName === 'authorizer');
    const pairs = new Map(asked.map((one) => [`${one.functionName} ${one.action}`, one]));
    expect(pairs.size).toBeGreaterThan(1);
    for (const [pair, { functionName, action }] of pairs) {
      const dispensable = DISPENSABLE.some(
        (one) => one.functionName === functionName && one.action === action,
      );
      await using _taken = await iam.without({ functionName, action });
      const outcome = await run().then(
        () => 'works',
        () => 'fails',
      );
      expect([pair, outcome]).toEqual([pair, dispensable ? 'works' : 'fails']);
      // The health operation asks for nothing; of all others the authorizer asks.
      if (functionName !== 'authorizer') {
        const other = name === 'projects' ? OPERATIONS.policies : OPERATIONS.projects;
        await other?.();
      }
    }
    // Given back, it works again.
    await run();
  });
});
