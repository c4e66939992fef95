import { randomUUID } from 'node:crypto';
import { apiKeys } from '#contract/operations/api-keys.ts';
import { assets } from '#contract/operations/assets.ts';
import { auth } from '#contract/operations/auth.ts';
import { exports_ } from '#contract/operations/exports.ts';
import { findings } from '#contract/operations/findings.ts';
import { imports } from '#contract/operations/imports.ts';
import { integrations } from '#contract/operations/integrations.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { policies } from '#contract/operations/policies.ts';
import { projects } from '#contract/operations/projects.ts';
import { scans } from '#contract/operations/scans.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { PERMISSIONS } from '#domain/vocabulary.ts';
import { type Client, createClient } from '#shared/client/client.ts';
import { sarifLog } from '#test/harness/sarif.ts';

/** Long after this program. */
const FAR = '2035-01-01T00:00:00.000Z';
/** Whom the identity provider signs in. */
export const PROVIDED = 'provided@snapshot.example';
const MEMBER = { email: 'member@snapshot.example', password: 'harbor velvet cricket lantern' };

const REPORT = sarifLog(
  [
    { path: 'src/a.ts', rule: 'sql-injection', level: 'error', score: '9.8' },
    { path: 'src/b.ts', rule: 'CVE-2020-7471', level: 'error', score: '9.1' },
    { path: 'src/c.ts', rule: 'weak-hash', level: 'warning' },
    { path: 'src/d.ts', rule: 'debug-code', level: 'note' },
    { path: 'src/e.ts', rule: 'open-redirect', level: 'warning' },
  ],
  'Semgrep OSS',
);

interface Login {
  readonly email: string;
  readonly password: string;
}

/** Fills a fresh service with something of everything, by its API alone; answers how to find it. */
export async function fill(url: string, admin: Login, oidcToken: string) {
  const session = await createClient({ url }).call(auth.operations.login, { body: admin });
  const client = createClient({ url, credential: session.access_token, strict: true });
  const me = await client.call(auth.operations.getCurrentUser);
  const params = { org_id: me.org_id ?? '' };
  const made = await client.call(apiKeys.operations.createApiKey, {
    params,
    body: { name: 'all', scopes: [...PERMISSIONS] },
  });
  const user = await client.call(organizations.operations.createUser, {
    body: { ...MEMBER, name: 'Member', role: 'Project Admin' },
  });
  const user_id = fromOpaque('user', user.id ?? '') ?? '';
  await invite(client, url, oidcToken, user_id);
  const team = await client.call(organizations.operations.createTeam, {
    params,
    body: { name: 'Team', description: 'A team' },
  });
  const of = { ...params, team_id: team.id };
  await client.call(organizations.operations.addTeamMember, { params: of, body: { user_id } });
  const project = await client.call(projects.operations.createProject, { body: { name: 'Project' } });
  const sub = await client.call(projects.operations.createSubProject, {
    params: { project_id: project.id },
    body: { name: 'Sub' },
  });
  const elsewhere = await client.call(projects.operations.createProject, { body: { name: 'Elsewhere' } });
  await client.call(organizations.operations.addProjectMember, {
    params: { ...params, project_id: fromOpaque('project', project.id) ?? '' },
    body: { user_id },
  });
  const integration = await client.call(integrations.operations.createIntegration, {
    params,
    body: {
      type: 'webhook',
      name: 'Hook',
      config: { url: 'https://example.com/hook', events: ['scan.completed'] },
    },
  });
  const policy = await writePolicies(client, elsewhere.name);

  const asset = await addAsset(client, params.org_id, 'service');
  const other = await addAsset(client, params.org_id, 'library');
  await client.call(projects.operations.assignProjectAssets, {
    params: { project_id: sub.id },
    body: { asset_ids: [asset] },
  });
  const scan = await importInto(client, asset, REPORT, {}, 'the first import');
  await importInto(client, asset, REPORT, { branch: 'feature' });
  await importInto(client, other, sarifLog([{ path: 'lib/x.ts', rule: 'weak-hash' }]), {});
  // Nothing listens there: a scan with a run that failed.
  const failed = await client.call(scans.operations.createScan, {
    body: { scope: 'asset', target_id: asset, scanners: ['gitleaks'] },
    headers: { 'idempotency-key': 'the first scan' },
  });
  await ended(client, failed.id);

  const finding_id = await triageSome(client, asset, other);
  const made_export = await client.call(exports_.operations.exportFindings, { body: { format: 'csv' } });
  await until(async () => {
    const at = { params: { export_id: made_export.id } };
    return (await client.call(exports_.operations.getFindingExport, at)).status === 'completed';
  });
  return {
    key: made.key,
    report: REPORT,
    ids: {
      ...params,
      team_id: team.id,
      project_id: project.id,
      asset_id: asset,
      scan_id: scan,
      finding_id,
      integration_id: integration.id,
      policy_id: policy,
      version: '1',
      export_id: made_export.id,
    },
  };
}

/** The other organization of somebody whom an identity provider signs in asks the member to join it. */
async function invite(client: Client, url: string, oidcToken: string, user_id: string): Promise<void> {
  await client.call(organizations.operations.createUser, {
    body: { email: PROVIDED, name: 'Provided', role: 'Viewer', password: null },
  });
  const provided = createClient({ url, credential: oidcToken, strict: true });
  const another = await provided.call(organizations.operations.createOrganization, {
    body: { name: 'Another organization', slug: 'another-organization' },
  });
  await provided.call(organizations.operations.addMember, {
    params: { org_id: another.id },
    query: { user_id },
  });
}

async function writePolicies(client: Client, elsewhere: string): Promise<string> {
  const create = async (name: string, kind: 'triage' | 'project', rule: string) => {
    const policy = await client.call(policies.operations.createPolicy, {
      body: { name, kind, rego: `package svc.${kind}\n\nimport rego.v1\n\n${rule}\n` },
    });
    await client.call(policies.operations.activatePolicy, { params: { policy_id: policy.id } });
    return policy.id;
  };
  await create('Elsewhere', 'project', `project := "${elsewhere}" if input.finding.rule_id == "weak-hash"`);
  const id = await create('Accept', 'triage', 'decision := "accept" if input.finding.severity == "critical"');
  await client.call(policies.operations.updatePolicy, {
    params: { policy_id: id },
    body: { description: 'Accepts what is critical' },
  });
  await client.call(policies.operations.evaluatePolicy, {
    body: { policy_id: id, input: { finding: { severity: 'critical' } } },
  });
  return id;
}

async function addAsset(client: Client, org_id: string, name: string): Promise<string> {
  const asset = await client.call(assets.operations.addRepository, {
    params: { org_id },
    body: { name, url: `http://127.0.0.1:9/team/${name}.git`, default_branch: 'main' },
  });
  return toOpaque('asset', asset.id);
}

async function importInto(client: Client, asset: string, report: unknown, query: object, key?: string) {
  const { id } = await client.call(imports.operations.importFindings, {
    params: { asset_id: asset },
    query,
    upload: new TextEncoder().encode(JSON.stringify(report)),
    headers: { 'content-type': 'application/json', 'idempotency-key': key ?? randomUUID() },
  });
  await ended(client, id);
  return id;
}

/** One suppressed for long, one in progress with notes, one resolved while it is still reported (of the other asset). */
async function triageSome(client: Client, asset: string, other: string): Promise<string> {
  const listed = await client.call(findings.operations.listFindings, {
    query: { asset_id: asset, per_page: 100 },
  });
  const idOf = (path: string) => {
    const id = listed.data.find(({ location }) => location.path === path)?.id;
    if (id === undefined) throw new Error(`No finding in ${path}`);
    return { params: { finding_id: id } };
  };
  await client.call(findings.operations.suppressFinding, {
    ...idOf('src/d.ts'),
    body: { reason: 'acceptable_risk', comment: 'for now', expires_at: FAR },
  });
  await client.call(findings.operations.updateFinding, {
    ...idOf('src/a.ts'),
    body: { status: 'in_progress', notes: 'somebody is at it' },
  });
  const [held] = (await client.call(findings.operations.listFindings, { query: { asset_id: other } })).data;
  await client.call(findings.operations.updateFinding, {
    params: { finding_id: held?.id ?? '' },
    body: { status: 'resolved' },
  });
  return idOf('src/b.ts').params.finding_id;
}

async function ended(client: Client, scan_id: string): Promise<void> {
  await until(async () => {
    const scan = await client.call(scans.operations.getScan, { params: { scan_id } });
    return scan.finished_at !== null;
  });
}

async function until(isDone: () => Promise<boolean>): Promise<void> {
  while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 50));
}
