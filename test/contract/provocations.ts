import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import type { ErrorCode } from '#contract/errors.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { createTokens } from '#shared/security/tokens.ts';
import { capacityKey, scanKey, scanLockKey, userKey } from '#store/keys.ts';
import { createPolicyStore } from '#store/policies.ts';
import { createPolicyCodeStore } from '#store/policy-code.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { type RawAnswer, request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import { testAttribution } from '#test/harness/samples.ts';
import { sarifLog } from '#test/harness/sarif.ts';
import { crowd } from './stage.ts';

/** How one code of one operation is caused. */
type Provocation = (org: TestOrganization) => Promise<RawAnswer>;

export const send = (org: TestOrganization, method: string, path: string, body?: unknown) =>
  request(method, path, { key: org.accessToken, ...(body !== undefined && { body }) });
const post = (org: TestOrganization, path: string, body: unknown, method = 'POST') =>
  send(org, method, path, body);
export const id = (answer: RawAnswer) => String(answer.body.id);
export const name = () => `n ${randomUUID()}`;
const twice = async (once: () => Promise<RawAnswer>) => {
  await once();
  return once();
};

async function seededAsset(org: TestOrganization) {
  const { asset, records } = await seedFindings(org, [{}]);
  return {
    uuid: asset.id,
    asset: toOpaque('asset', asset.id),
    finding: toOpaque('finding', records[0]?.id ?? ''),
  };
}

async function importedScan(org: TestOrganization, asset: string, key?: string, path = 'a.ts') {
  return request('POST', `/api/assets/${asset}/findings/import`, {
    key: org.accessToken,
    body: sarifLog([{ path }]),
    ...(key && { headers: { 'idempotency-key': key } }),
  });
}

/** Makes the next scan of the asset meet a state that another one would have left behind. */
async function scanMeets(org: TestOrganization, what: 'lock' | 'full queue', viaAsset: boolean) {
  const { uuid, asset } = await seededAsset(org);
  const table = testTable();
  if (what === 'lock')
    await table.transact([
      { Put: { Item: { ...scanLockKey(org.orgId, 'asset', uuid, null), scan_id: 'x' } } },
    ]);
  const fill = (by: number) =>
    table.update({
      Key: capacityKey(org.orgId),
      UpdateExpression: 'ADD queued_scans :by',
      ExpressionAttributeValues: { ':by': by },
    });
  if (what === 'full queue') await fill(10_000);
  try {
    return viaAsset
      ? await post(org, `/api/assets/${asset}/scan`, { scanners: ['gitleaks'] })
      : await post(org, '/api/scans', { scope: 'asset', target_id: asset, scanners: ['gitleaks'] });
  } finally {
    if (what === 'full queue') await fill(-10_000);
  }
}

/** An asset without a URL; its UUID. */
export async function newRepository(org: TestOrganization): Promise<string> {
  return id(await post(org, `/api/orgs/${org.orgId}/repositories/add`, { name: name(), type: 'other' }));
}

const assetWithoutUrl = async (org: TestOrganization) => toOpaque('asset', await newRepository(org));

async function renameToTaken(org: TestOrganization, path: string, method = 'PATCH') {
  const taken = name();
  await post(org, path, { name: taken });
  const other = await post(org, path, { name: name() });
  return post(org, `${path.replace(/\/$/, '')}/${id(other)}`, { name: taken }, method);
}

async function parentWithSub(org: TestOrganization) {
  const project = id(await post(org, '/api/projects', { name: name() }));
  const sub = id(await post(org, `/api/projects/${project}/sub-projects`, { name: name() }));
  return { project, sub };
}

const REGO = 'package svc.triage\n\nimport rego.v1\n\ndecision := "accept"\n';
/** A source for each way in which one is refused. */
const WRONG_SOURCES: Partial<Record<ErrorCode, { kind?: string; rego: string }>> = {
  invalid_policy_kind: { kind: 'x', rego: REGO },
  rego_parse_error: { rego: 'package svc.triage\nx :=' },
  invalid_package: { rego: 'package svc.priority\nimport rego.v1\nx := 1' },
  rego_compile_error: { rego: 'package svc.triage\nimport rego.v1\nx := y' },
  policy_conflict: {
    rego: 'package svc.triage\nimport rego.v1\nx := 1 if input.finding\nx := 2 if input.finding.id',
  },
};
/** Runs for longer than any evaluation may. */
const RUNAWAY = `package svc.triage
import rego.v1
n := numbers.range(1, 10000)
x := count([1 | n[_]; n[_] > 0; n[_] > 0]) if input.finding`;
const INPUT = { finding: { id: 'f_1' } };

/** What is wrong with a source, sent by `send`. */
function wrongSources(
  send: (org: TestOrganization, source: object) => Promise<RawAnswer>,
): Partial<Record<ErrorCode, Provocation>> {
  const sources = { ...WRONG_SOURCES, policy_evaluation_error: { rego: RUNAWAY } };
  return Object.fromEntries(
    Object.entries(sources).map(([code, source]) => [
      code,
      (org: TestOrganization) => send(org, { kind: 'triage', ...source }),
    ]),
  );
}

const policiesOf = (org: TestOrganization, family: 'A' | 'B') =>
  family === 'A' ? `/api/orgs/${org.orgId}/open-policies` : '/api/policies';
export const newPolicy = async (org: TestOrganization, family: 'A' | 'B', change: object = {}) =>
  post(org, policiesOf(org, family), { name: name(), kind: 'triage', rego: REGO, ...change });

/** In an organization with more sources than one answer holds. */
async function listLargePolicies(path: (orgId: string) => string): Promise<RawAnswer> {
  const other = await createTestOrganization();
  const [policies, code] = [createPolicyStore(testTable()), createPolicyCodeStore(testTable())];
  const compiled = { kind: 'triage' as const, wasm: new Uint8Array(), sets: [], evaluator: 'wasm' as const };
  const named = await code.keep(other.orgId, { ...compiled, rego: 'x'.repeat(100_000) });
  for (let made = 0; made < 45; made += 1)
    await policies.create(
      other.orgId,
      {
        id: randomUUID(),
        name: name(),
        description: null,
        kind: 'triage',
        scope: 'organization',
        scope_target_id: null,
        code: named,
        message: null,
      },
      testAttribution(),
    );
  return request('GET', path(other.orgId), { key: other.accessToken });
}

function policyCreation(family: 'A' | 'B') {
  return {
    already_exists: (org: TestOrganization) => twice(() => newPolicy(org, family, { name: 'taken' })),
    ...wrongSources((org, source) => newPolicy(org, family, source)),
  };
}

function policyUpdate(family: 'A' | 'B') {
  const path = async (org: TestOrganization) =>
    `${policiesOf(org, family)}/${id(await newPolicy(org, family))}`;
  return {
    ...wrongSources(async (org, source) => post(org, await path(org), source, 'PATCH')),
    already_exists: async (org: TestOrganization) => {
      const taken = name();
      await newPolicy(org, family, { name: taken });
      return post(org, await path(org), { name: taken }, 'PATCH');
    },
    conflict: async (org: TestOrganization) => post(org, await path(org), { kind: 'priority' }, 'PATCH'),
  };
}

const refresh = (refresh_token: string) => request('POST', '/api/auth/refresh', { body: { refresh_token } });
const login = (org: TestOrganization, more: object) =>
  request('POST', '/api/auth/login', {
    body: { email: org.admin.email, password: org.admin.password, ...more },
  });

/** A token of a run that is not there. */
const runnerToken = (now = Date.now()) =>
  createTokens(async () => inject('service').tokenSecret, { now: () => now }).signRunner(
    { orgId: randomUUID(), scanId: randomUUID(), assetId: randomUUID(), runId: randomUUID() },
    60,
  );
const progress = async (token: Promise<string> | string) =>
  request('POST', '/api/runner/progress', { body: { token: await token, event: { type: 'heartbeat' } } });
const upload = async (token: Promise<string> | string) =>
  request('POST', '/api/runner/uploads', { body: { token: await token, scanner: 'semgrep', bytes: 10 } });
const DAY = 86_400_000;

/** Bodies that pass validation, where an empty one does not. */
export const VALID: Readonly<Record<string, (org: TestOrganization) => unknown>> = {
  login: () => ({ email: 'nobody@example.com', password: 'x' }),
  refresh: async (org) => ({ refresh_token: (await login(org, {})).body.refresh_token }),
  changePassword: ({ admin }) => ({ current_password: admin.password, new_password: name() }),
  acceptInvitation: () => ({ token: name() }),
  acceptInvitationWithPassword: () => ({ token: name(), password: name() }),
  declineInvitation: () => ({ token: name() }),
  createOrganization: () => ({ name: name() }),
  createTeam: () => ({ name: name() }),
  addTeamMember: () => ({ user_id: randomUUID() }),
  addProjectMember: () => ({ user_id: randomUUID() }),
  createUser: () => ({ email: `${randomUUID()}@example.com`, name: 'x' }),
  createApiKey: () => ({ name: 'x', scopes: ['scans:read'] }),
  createOrgProject: () => ({ name: name() }),
  createOrgSubProject: () => ({ name: name() }),
  createProject: () => ({ name: name() }),
  createSubProject: () => ({ name: name() }),
  assignProjectAssets: () => ({ asset_ids: [toOpaque('asset', randomUUID())] }),
  addRepository: () => ({ name: name(), type: 'other' }),
  linkRepository: () => ({ project_id: randomUUID() }),
  createIntegration: () => ({ type: 'github', name: name(), config: {} }),
  createScan: () => ({ scope: 'organization', scanners: ['gitleaks'] }),
  suppressFinding: () => ({ reason: 'false_positive' }),
  bulkUpdateFindings: () => ({ finding_ids: [toOpaque('finding', randomUUID())], update: { notes: 'x' } }),
  importFindings: () => ({ version: '2.1.0', runs: [{ tool: { driver: { name: 'semgrep' } } }] }),
  createImportUrl: () => ({ bytes: 10 }),
  exportFindings: () => ({ format: 'csv' }),
  createPolicy: () => ({ name: name(), kind: 'triage', rego: REGO }),
  evaluatePolicy: () => ({ policy_id: toOpaque('policy', randomUUID()), input: {} }),
  updatePolicyScope: () => ({ scope: 'organization' }),
  createOpenPolicy: () => ({ name: name(), kind: 'triage', rego: REGO }),
  testInlinePolicy: () => ({ policy_id: randomUUID(), input: {} }),
  testOpenPolicy: () => ({ input: {} }),
  claimRun: () => ({ org_id: randomUUID(), run_id: randomUUID(), claim: 'x'.repeat(43) }),
  reportProgress: async () => ({ token: await runnerToken(), event: { type: 'heartbeat' } }),
  createReportUpload: async () => ({ token: await runnerToken(), scanner: 'semgrep', bytes: 10 }),
};

/** Query parameters that an operation can't do without. */
export const NEEDED_QUERY: Readonly<Record<string, () => string>> = {
  addMember: () => `?user_id=${randomUUID()}`,
};

/** By operation: how its own codes are provoked. */
export const SPECIFIC: Readonly<Record<string, Partial<Record<ErrorCode, Provocation>>>> = {
  login: {
    unauthorized: (org) => login(org, { password: 'not the password of anybody' }),
    not_found: (org) => login(org, { org_id: randomUUID() }),
    // By address and e-mail together: what other tests send is not counted with it.
    rate_limited: async () => {
      const email = `${randomUUID()}@example.com`;
      await crowd(`ADDRESS#LOGIN#127.0.0.1#${email}`);
      return request('POST', '/api/auth/login', { body: { email, password: 'x' } });
    },
  },
  refresh: {
    token_invalid: () => refresh('eyJhbGciOiJIUzI1NiJ9.e30.AAAA'),
    token_expired: async (org) => {
      const past = createTokens(async () => inject('service').tokenSecret, {
        now: () => Date.now() - 30 * DAY,
      });
      return refresh(
        await past.signRefresh({ userId: org.admin.userId, sessionId: randomUUID(), orgId: org.orgId }),
      );
    },
    not_found: async (org) => {
      const { refresh_token } = (await login(org, {})).body;
      return request('POST', '/api/auth/refresh', { body: { refresh_token, org_id: randomUUID() } });
    },
  },
  createOrganization: {
    already_exists: (org) => twice(() => post(org, '/api/orgs/', { name: 'x', slug: `taken-${org.orgId}` })),
    conflict: async () => {
      const other = await createTestOrganization();
      await testTable().update({
        Key: userKey(other.admin.userId),
        UpdateExpression: 'SET organizations_made = :many',
        ExpressionAttributeValues: { ':many': 1_000_000 },
      });
      return post(other, '/api/orgs/', { name: 'one too many' });
    },
  },
  addMember: {
    already_exists: (org) =>
      request('POST', `/api/orgs/${org.orgId}/members?user_id=${org.admin.userId}`, { key: org.accessToken }),
    conflict: (org) =>
      request('POST', `/api/orgs/${org.orgId}/members?user_id=${org.admin.userId}&role=Viewer`, {
        key: org.accessToken,
      }),
  },
  removeMember: {
    conflict: (org) =>
      request('DELETE', `/api/orgs/${org.orgId}/members/${org.admin.userId}`, { key: org.accessToken }),
  },
  createTeam: {
    already_exists: (org) =>
      twice(() => post(org, `/api/orgs/${org.orgId}/teams/`, { name: 'a team of that name' })),
  },
  updateTeam: {
    already_exists: (org) => renameToTaken(org, `/api/orgs/${org.orgId}/teams/`),
  },
  deleteTeam: {
    cannot_delete: async (org) => {
      const team = id(await post(org, `/api/orgs/${org.orgId}/teams/`, { name: name() }));
      await post(org, `/api/orgs/${org.orgId}/projects`, { name: name(), team_id: team });
      return request('DELETE', `/api/orgs/${org.orgId}/teams/${team}`, { key: org.accessToken });
    },
  },
  addTeamMember: {
    already_exists: async (org) => {
      const team = id(await post(org, `/api/orgs/${org.orgId}/teams/`, { name: name() }));
      const path = `/api/orgs/${org.orgId}/teams/${team}/members`;
      return twice(() => post(org, path, { user_id: org.admin.userId }));
    },
  },
  addProjectMember: {
    already_exists: async (org) => {
      const project = id(await post(org, `/api/orgs/${org.orgId}/projects`, { name: name() }));
      return twice(() =>
        post(org, `/api/orgs/${org.orgId}/${project}/members`, { user_id: org.admin.userId }),
      );
    },
  },
  createUser: {
    already_exists: (org) =>
      post(org, '/api/organization/users', { email: org.admin.email, name: 'x', role: 'Viewer' }),
  },
  createOrgProject: {
    already_exists: (org) =>
      twice(() => post(org, `/api/orgs/${org.orgId}/projects`, { name: 'a project of that name' })),
  },
  updateOrgProject: {
    already_exists: (org) => renameToTaken(org, `/api/orgs/${org.orgId}/projects`),
  },
  deleteOrgProject: {
    cannot_delete: async (org) => {
      const { project } = await parentWithSub(org);
      return request('DELETE', `/api/orgs/${org.orgId}/projects/${fromOpaque('project', project)}`, {
        key: org.accessToken,
      });
    },
  },
  createOrgSubProject: {
    already_exists: async (org) => {
      const { project } = await parentWithSub(org);
      const path = `/api/orgs/${org.orgId}/projects/${fromOpaque('project', project)}/sub-projects`;
      return twice(() => post(org, path, { name: 'taken' }));
    },
    conflict: async (org) => {
      const { sub } = await parentWithSub(org);
      const path = `/api/orgs/${org.orgId}/projects/${fromOpaque('project', sub)}/sub-projects`;
      return post(org, path, { name: name() });
    },
  },
  createProject: {
    already_exists: (org) =>
      twice(() => post(org, '/api/projects', { name: 'another project of that name' })),
    not_found: (org) => post(org, '/api/projects', { name: name(), team_id: toOpaque('team', randomUUID()) }),
  },
  updateProject: { already_exists: (org) => renameToTaken(org, '/api/projects') },
  deleteProject: {
    cannot_delete: async (org) => {
      const { project } = await parentWithSub(org);
      return request('DELETE', `/api/projects/${project}`, { key: org.accessToken });
    },
  },
  createSubProject: {
    already_exists: async (org) => {
      const { project } = await parentWithSub(org);
      return twice(() => post(org, `/api/projects/${project}/sub-projects`, { name: 'taken' }));
    },
    conflict: async (org) => {
      const { sub } = await parentWithSub(org);
      return post(org, `/api/projects/${sub}/sub-projects`, { name: name() });
    },
  },
  addRepository: {
    already_exists: (org) =>
      twice(() => post(org, `/api/orgs/${org.orgId}/repositories/add`, { name: 'taken', type: 'other' })),
  },
  updateAsset: {
    already_exists: async (org) => {
      const taken = name();
      await post(org, `/api/orgs/${org.orgId}/repositories/add`, { name: taken, type: 'other' });
      return post(org, `/api/assets/${await assetWithoutUrl(org)}`, { name: taken }, 'PATCH');
    },
  },
  scanAsset: {
    scan_already_running: (org) => scanMeets(org, 'lock', true),
    scan_limit_exceeded: (org) => scanMeets(org, 'full queue', true),
    conflict: async (org) => post(org, `/api/assets/${await assetWithoutUrl(org)}/scan`, {}),
  },
  createIntegration: {
    already_exists: (org) =>
      twice(() =>
        post(org, `/api/orgs/${org.orgId}/integrations`, { type: 'github', name: 'taken', config: {} }),
      ),
  },
  updateIntegration: {
    already_exists: async (org) => {
      const path = `/api/orgs/${org.orgId}/integrations`;
      const taken = name();
      await post(org, path, { type: 'github', name: taken, config: {} });
      const other = await post(org, path, { type: 'github', name: name(), config: {} });
      return post(org, `${path}/${id(other)}`, { name: taken }, 'PATCH');
    },
  },
  createScan: {
    scan_already_running: (org) => scanMeets(org, 'lock', false),
    scan_limit_exceeded: (org) => scanMeets(org, 'full queue', false),
    not_found: (org) =>
      post(org, '/api/scans', {
        scope: 'asset',
        target_id: toOpaque('asset', randomUUID()),
        scanners: ['trivy'],
      }),
    conflict: async (org) =>
      post(org, '/api/scans', {
        scope: 'asset',
        target_id: await assetWithoutUrl(org),
        scanners: ['trivy'],
      }),
  },
  deleteScan: {
    conflict: async (org) => {
      const { asset } = await seededAsset(org);
      const scan = id(await importedScan(org, asset));
      await testTable().update({
        Key: scanKey(org.orgId, fromOpaque('scan', scan) ?? ''),
        UpdateExpression: 'SET #status = :running',
        ExpressionAttributeNames: { '#status': 'status' },
        ExpressionAttributeValues: { ':running': 'running' },
      });
      return request('DELETE', `/api/scans/${scan}`, { key: org.accessToken });
    },
  },
  cancelScan: {
    conflict: async (org) => {
      const { asset } = await seededAsset(org);
      const scan = id(await importedScan(org, asset));
      await request('POST', `/api/scans/${scan}/cancel`, { key: org.accessToken });
      return request('POST', `/api/scans/${scan}/cancel`, { key: org.accessToken });
    },
  },
  listPolicies: { payload_too_large: () => listLargePolicies(() => '/api/policies?per_page=100') },
  listOpenPolicies: {
    payload_too_large: () => listLargePolicies((orgId) => `/api/orgs/${orgId}/open-policies`),
  },
  createPolicy: {
    ...policyCreation('B'),
    not_found: (org) =>
      newPolicy(org, 'B', { scope: 'asset', scope_target_id: toOpaque('asset', randomUUID()) }),
  },
  updatePolicy: {
    ...policyUpdate('B'),
    missing_field: async (org) =>
      post(org, `/api/policies/${id(await newPolicy(org, 'B'))}`, { scope: 'asset' }, 'PATCH'),
  },
  evaluatePolicy: {
    ...wrongSources((org, source) => post(org, '/api/policies/evaluate', { ...source, input: INPUT })),
    not_found: (org) =>
      post(org, '/api/policies/evaluate', { policy_id: toOpaque('policy', randomUUID()), input: INPUT }),
  },
  createOpenPolicy: policyCreation('A'),
  updateOpenPolicy: policyUpdate('A'),
  testInlinePolicy: wrongSources((org, source) =>
    post(org, `${policiesOf(org, 'A')}/test-inline`, { ...source, input: INPUT }),
  ),
  testOpenPolicy: {
    policy_conflict: async (org) => {
      // What no sample shows when it is saved.
      const rego =
        'package svc.triage\nimport rego.v1\nx := 1 if input.n * 7 == 91\nx := 2 if input.n * 3 == 39';
      const made = id(await newPolicy(org, 'A', { rego }));
      return post(org, `${policiesOf(org, 'A')}/${made}/test`, { input: { n: 13 } });
    },
    policy_evaluation_error: async (org) => {
      const rego = RUNAWAY.replace('input.finding', 'input.runaway');
      const made = id(await newPolicy(org, 'A', { rego }));
      return post(org, `${policiesOf(org, 'A')}/${made}/test`, { input: { runaway: true } });
    },
  },
  reopenFinding: {
    conflict: async (org) => {
      const { finding } = await seededAsset(org);
      return request('POST', `/api/findings/${finding}/reopen`, { key: org.accessToken });
    },
  },
  bulkUpdateFindings: {
    not_found: async (org) => {
      const { finding } = await seededAsset(org);
      const update = { assignee: toOpaque('user', randomUUID()) };
      return post(org, '/api/findings/bulk', { finding_ids: [finding], update });
    },
  },
  importFindings: {
    invalid_json: async (org) => {
      const { asset } = await seededAsset(org);
      return request('POST', `/api/assets/${asset}/findings/import`, { key: org.accessToken, text: '{"a":' });
    },
    validation_error: async (org) => {
      const { asset } = await seededAsset(org);
      return post(org, `/api/assets/${asset}/findings/import`, { version: '2.1.0', runs: [] });
    },
    conflict: async (org) => {
      const { asset } = await seededAsset(org);
      await importedScan(org, asset, `key ${asset}`);
      return importedScan(org, asset, `key ${asset}`, 'another.ts');
    },
  },
  claimRun: {
    unauthorized: (org) => request('POST', '/api/runner/claim', { body: VALID.claimRun?.(org) }),
  },
  reportProgress: {
    token_invalid: () => progress('eyJhbGciOiJIUzI1NiJ9.e30.AAAA'),
    token_expired: () => progress(runnerToken(Date.now() - DAY)),
  },
  createReportUpload: {
    token_invalid: () => upload('eyJhbGciOiJIUzI1NiJ9.e30.AAAA'),
    token_expired: () => upload(runnerToken(Date.now() - DAY)),
    conflict: () => upload(runnerToken()),
  },
};
