import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { TIER_LIMITS } from '#contract/limits.ts';
import { buildManifest } from '#domain/manifest.ts';
import { ACCESS_PATTERNS, type AccessPatternName } from '#store/access-patterns.ts';
import { countedPlace, createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createCredentialStore } from '#store/credentials.ts';
import { createExportStore } from '#store/exports.ts';
import { ofAsset } from '#store/finding-order.ts';
import { createFindingWriteStore } from '#store/finding-writes.ts';
import { createFindingStore } from '#store/findings.ts';
import { createImportStore } from '#store/imports.ts';
import { createIntegrationStore } from '#store/integrations.ts';
import { createInvitationStore } from '#store/invitations.ts';
import { createJudgedOrganizationStore } from '#store/judged-organizations.ts';
import { importingKey, routedCountersKey, routeKey } from '#store/keys.ts';
import { createManifestStore } from '#store/manifests.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { listPendingDeletions } from '#store/pending-deletions.ts';
import { createPolicyStore } from '#store/policies.ts';
import { codeOf, createPolicyCodeStore } from '#store/policy-code.ts';
import { createPolicyRunStore } from '#store/policy-runs.ts';
import { judgingWrites } from '#store/policy-writes.ts';
import { createProjectStore } from '#store/projects.ts';
import { createRateCounterStore } from '#store/rate-counters.ts';
import { createReevaluationStore } from '#store/reevaluations.ts';
import { createRunnerPlaceStore } from '#store/runner-places.ts';
import { createRunStore } from '#store/runs.ts';
import { createScanStore } from '#store/scans.ts';
import { createSessionStore } from '#store/sessions.ts';
import { createSuppressionEndStore } from '#store/suppression-ends.ts';
import { countedTable } from '#test/harness/counted-table.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { sampleAsset, sampleFinding, testAttribution } from '#test/harness/samples.ts';

const { table, requestsOf } = countedTable();
const counters = createCounterStore(table, 1);
const stores = {
  organizations: createOrganizationStore(table),
  credentials: createCredentialStore(table),
  rates: createRateCounterStore(table),
  projects: createProjectStore(table, counters),
  assets: createAssetStore(table, counters),
  integrations: createIntegrationStore(table),
  policies: createPolicyStore(table),
  policyCode: createPolicyCodeStore(table),
  policyRuns: createPolicyRunStore(table),
  reevaluations: createReevaluationStore(table),
  judged: createJudgedOrganizationStore(table),
  scans: createScanStore(table),
  runs: createRunStore(table),
  places: createRunnerPlaceStore(table),
  findings: createFindingStore(table, counters),
  writes: createFindingWriteStore(table, counters),
  manifests: createManifestStore(table),
  imports: createImportStore(table),
  exports: createExportStore(table),
  invitations: createInvitationStore(table),
};

let org: TestOrganization;
const ids = {
  session: randomUUID(),
  project: randomUUID(),
  scan: '',
  run: randomUUID(),
  export: randomUUID(),
};
const asset = sampleAsset({ project_id: ids.project });
const integration = {
  id: randomUUID(),
  name: 'Chat',
  status: 'active' as const,
  type: 'github' as const,
  config: { account: 'team' },
  created_at: new Date().toISOString(),
  updated_at: new Date().toISOString(),
};
const policy = {
  id: randomUUID(),
  name: 'Noise',
  description: null,
  kind: 'triage' as const,
  scope: 'organization' as const,
  scope_target_id: null,
};
const compiled = {
  kind: policy.kind,
  rego: 'package svc.triage',
  wasm: new Uint8Array([1, 2, 3]),
  sets: ['reasons'],
  evaluator: 'wasm' as const,
};
const code = codeOf(compiled.kind, compiled.rego);
const policyRun = {
  id: randomUUID(),
  policy_id: policy.id,
  version: 1,
  trigger: 'evaluate' as const,
  started_at: new Date().toISOString(),
  duration_ms: 1.5,
  evaluated: 1,
  decisions: { accept: 1 },
  errors: 0,
  error: null,
  tests: null,
};
const identity = { issuer: 'https://id.example.com', subject: randomUUID() };
const invitation = { id: randomUUID(), email: null, role: 'Viewer' as const, token_hash: randomUUID() };
const CVE = 'CVE-2020-7471';
let finding: ReturnType<typeof sampleFinding>;
let handle = '';
let chunks: string[] = [];

beforeAll(async () => {
  org = await createTestOrganization();
  const { orgId } = org;
  const { keyId } = await org.withKey('admin');
  handle = (await stores.credentials.listApiKeys(orgId)).find((key) => key.id === keyId)?.handle ?? '';
  const user = await stores.organizations.getUser(org.admin.userId);
  if (!user) throw new Error('The admin is gone');
  await createSessionStore(table).open(
    { id: ids.session, user, orgId, expiresAt: Date.now() + 60_000 },
    [],
    testAttribution(),
  );
  await stores.credentials.bindIdentity(user, identity, null, testAttribution());
  const { admin: invited } = await createTestOrganization();
  await stores.invitations.create(
    { ...invitation, org_id: orgId, user_id: invited.userId },
    [],
    testAttribution(),
  );
  await stores.rates.countOrganization(orgId, Date.now(), null);
  await stores.projects.create(
    orgId,
    { id: ids.project, name: 'P', description: null, team_id: null, parent: null },
    testAttribution(),
  );
  await stores.assets.create(orgId, asset, testAttribution());
  await stores.integrations.create(orgId, integration, 'sealed text', testAttribution());
  await stores.policies.create(
    orgId,
    { ...policy, code: await createPolicyCodeStore(table).keep(orgId, compiled), message: 'why' },
    testAttribution(),
  );
  await stores.exports.create(orgId, { id: ids.export, format: 'csv', selection: {} }, testAttribution());
  await stores.policyRuns.record(orgId, policyRun);
  await table.transact(judgingWrites(orgId, Date.now()));
  ids.scan = randomUUID();
  await stores.scans.create(
    orgId,
    { id: ids.scan, scope: 'asset', targetId: asset.id, scanners: ['semgrep'], branch: null, trigger: 'api' },
    TIER_LIMITS.free,
    null,
    testAttribution(),
  );
  const now = new Date().toISOString();
  await stores.runs.plan(orgId, ids.scan, [
    {
      id: ids.run,
      assetId: asset.id,
      scanners: ['semgrep'],
      branch: null,
      defaultBranch: true,
      createdAt: now,
      deadlineAt: now,
    },
  ]);
  await stores.runs.enqueue(orgId, await stores.runs.listAll(orgId, ids.scan));
  finding = sampleFinding(orgId, asset.id, { cve_id: CVE });
  await stores.writes.createAll({ orgId, place: countedPlace(asset), guards: [] }, [finding]);
  await table.transact([
    { Put: { Item: routeKey(orgId, ids.project, asset.id, ids.project) } },
    { Put: { Item: { ...routedCountersKey(orgId, asset.id, ids.project), c100: 1 } } },
    {
      Put: {
        Item: {
          ...importingKey(orgId, asset.id, ids.scan),
          scan_id: ids.scan,
          run_id: ids.run,
          accepted_at: 1,
        },
      },
    },
  ]);
  await stores.writes.writeBranchFindings(orgId, ids.scan, [finding], Date.now());
  const manifest = buildManifest([
    { id: finding.id, severity: 'high', digest: 'aabbccddeeff', createdAt: Date.now() },
  ]);
  chunks = manifest.map((chunk) => chunk.hash);
  await stores.manifests.writeChunks(orgId, asset.id, 'semgrep', manifest);
});

/** How each pattern is asked, and what proves its answer. */
const QUESTIONS: Record<AccessPatternName, { ask: () => Promise<unknown>; expected: () => unknown }> = {
  organization: {
    ask: () => stores.organizations.getOrganization(org.orgId),
    expected: () => expect.objectContaining({ id: org.orgId }),
  },
  userByEmail: {
    ask: () => stores.organizations.findUserByEmail(org.admin.email),
    expected: () => expect.objectContaining({ id: org.admin.userId }),
  },
  membershipsOfUser: {
    ask: () => stores.organizations.listMemberships(org.admin.userId),
    expected: () => [
      {
        organization: expect.objectContaining({ id: org.orgId }),
        membership: expect.objectContaining({ role: 'Admin' }),
      },
    ],
  },
  session: {
    ask: () => stores.credentials.readSession(org.admin.userId, ids.session, [org.orgId]),
    expected: () => ({
      session: { user_id: org.admin.userId, org_id: org.orgId },
      user: expect.objectContaining({ email: org.admin.email }),
      memberships: [{ org_id: org.orgId, role: 'Admin' }],
    }),
  },
  userIdByEmail: {
    ask: () => stores.credentials.findUserId(org.admin.email.toUpperCase()),
    expected: () => org.admin.userId,
  },
  memberOfOrganization: {
    ask: () => stores.credentials.readMember(org.admin.userId, org.orgId),
    expected: () => ({
      user: expect.objectContaining({ email: org.admin.email }),
      membership: expect.objectContaining({ org_id: org.orgId, role: 'Admin' }),
    }),
  },
  firstMembership: {
    ask: () => stores.credentials.readFirstMember(org.admin.userId),
    expected: () => ({
      user: expect.objectContaining({ email: org.admin.email }),
      membership: expect.objectContaining({ org_id: org.orgId, role: 'Admin' }),
    }),
  },
  userIdByIdentity: {
    ask: () => stores.credentials.findIdentityUser(identity),
    expected: () => org.admin.userId,
  },
  organizationIdBySlug: {
    ask: () => stores.credentials.findOrganizationId(`test-${org.orgId}`),
    expected: () => org.orgId,
  },
  invitationByToken: {
    ask: () => stores.invitations.findByToken(invitation.token_hash, Date.now()),
    expected: () => expect.objectContaining({ id: invitation.id, role: 'Viewer' }),
  },
  invitationsOfOrganization: {
    ask: () => stores.invitations.list(org.orgId, Date.now()),
    expected: () => [expect.objectContaining({ id: invitation.id })],
  },
  apiKeyByHandle: {
    ask: () => stores.credentials.findApiKey(handle),
    expected: () => expect.objectContaining({ handle, org_id: org.orgId }),
  },
  apiKeysOfOrganization: {
    ask: () => stores.credentials.listApiKeys(org.orgId),
    expected: () => [expect.objectContaining({ handle })],
  },
  rateCounts: {
    ask: () => stores.rates.countOrganization(org.orgId, Date.now(), null),
    expected: () => expect.objectContaining({ tier: 'enterprise' }),
  },
  project: {
    ask: () => stores.projects.get(org.orgId, ids.project),
    expected: () => expect.objectContaining({ name: 'P', asset_count: 1 }),
  },
  projectEntries: {
    ask: () => stores.projects.listEntries(org.orgId, null),
    expected: () => [expect.objectContaining({ id: ids.project })],
  },
  asset: { ask: () => stores.assets.get(org.orgId, asset.id), expected: () => asset },
  assetEntries: {
    ask: () => stores.assets.listEntries(org.orgId),
    expected: () => [expect.objectContaining({ id: asset.id, project_id: ids.project })],
  },
  assetByPlace: { ask: () => stores.assets.findByPlace(org.orgId, asset), expected: () => asset },
  integration: {
    ask: () => stores.integrations.require(org.orgId, integration.id),
    expected: () => integration,
  },
  integrationsOfOrganization: {
    ask: () => stores.integrations.list(org.orgId),
    expected: () => [integration],
  },
  integrationSecrets: {
    ask: () => stores.integrations.readSealed(org.orgId, integration.id),
    expected: () => 'sealed text',
  },
  policiesOfOrganization: {
    ask: () => stores.policies.list(org.orgId),
    expected: () => [expect.objectContaining({ ...policy, code, active: false, version: 1 })],
  },
  policy: {
    ask: () => stores.policies.require(org.orgId, policy.id),
    expected: () => expect.objectContaining({ ...policy, code }),
  },
  policyVersions: {
    ask: () => stores.policies.listVersions(org.orgId, policy.id),
    expected: () => [expect.objectContaining({ version: 1, code, message: 'why', author: 'test' })],
  },
  policyVersion: {
    ask: () => stores.policies.requireVersion(org.orgId, policy.id, 1),
    expected: () => expect.objectContaining({ version: 1, code, active: false }),
  },
  policySources: {
    ask: () => stores.policyCode.readSources(org.orgId, [code]),
    expected: () => new Map([[code, compiled.rego]]),
  },
  policyCode: {
    ask: async () => (await stores.policyCode.readCompiled(org.orgId, [code])).get(code),
    expected: () => ({ ...compiled, wasm: Buffer.from(compiled.wasm) }),
  },
  policyRuns: {
    ask: () => stores.policyRuns.list(org.orgId, policy.id, Date.now()),
    expected: () => [policyRun],
  },
  scan: {
    ask: () => stores.scans.get(org.orgId, ids.scan),
    expected: () => expect.objectContaining({ id: ids.scan, status: 'queued' }),
  },
  scansByTime: {
    ask: () => stores.scans.list(org.orgId, 'newest', 20),
    expected: () => [expect.objectContaining({ id: ids.scan })],
  },
  queuedScans: { ask: () => stores.scans.listQueued(org.orgId, 5), expected: () => [ids.scan] },
  activeScans: {
    ask: () => stores.scans.listActive(),
    expected: () => expect.arrayContaining([{ orgId: org.orgId, scanId: ids.scan }]),
  },
  runsOfScan: {
    ask: () => stores.runs.listAll(org.orgId, ids.scan),
    expected: () => [expect.objectContaining({ id: ids.run })],
  },
  runById: {
    ask: () => stores.runs.findByRunId(org.orgId, ids.run),
    expected: () => expect.objectContaining({ id: ids.run, asset_id: asset.id }),
  },
  waitingRuns: {
    ask: () => stores.runs.listWaiting(org.orgId, 5),
    expected: () => [{ scanId: ids.scan, assetId: asset.id, runId: expect.any(String) }],
  },
  runningOfOrganization: {
    ask: () => stores.runs.readCapacity(org.orgId),
    expected: () => ({ runningScans: 0, runningScanners: 0 }),
  },
  // The service under test knows no bound on its runners; the test of these places has a table of its own.
  runnerPlaces: { ask: () => stores.places.read(), expected: () => ({ held: [], turns: [] }) },
  finding: { ask: () => stores.findings.get(org.orgId, finding.id), expected: () => finding },
  findingsOfOrganization: {
    ask: () => stores.findings.listIds(org.orgId, { severity: ['high'] }, '-severity', 0, 20),
    expected: () => ({ ids: [finding.id], total: 1 }),
  },
  findingsOfAsset: {
    ask: () => stores.findings.listIds(org.orgId, { places: [ofAsset(asset.id)] }, '-created_at', 0, 20),
    expected: () => ({ ids: [finding.id], total: 1 }),
  },
  assetsRoutedInto: {
    ask: () => stores.assets.listRoutedInto(org.orgId, ids.project),
    expected: () => [{ assetId: asset.id, route: ids.project }],
  },
  findingsOfCve: {
    ask: () => stores.findings.listIds(org.orgId, { cveId: CVE }, '-severity', 0, 20),
    expected: () => ({ ids: [finding.id], total: 1 }),
  },
  countsOfOrganization: {
    ask: () => counters.readOrganization(org.orgId),
    expected: () => new Map([['100', 1]]),
  },
  countsOfProject: {
    ask: () => counters.readProjects(org.orgId, [ids.project]),
    expected: () => [new Map([['100', 1]])],
  },
  countsElsewhere: {
    ask: () => counters.readRouted(org.orgId, asset.id),
    expected: () => new Map([[ids.project, new Map([['100', 1]])]]),
  },
  waitingImports: {
    ask: () => stores.imports.listWaiting(org.orgId, asset.id),
    expected: () => [{ scan_id: ids.scan, run_id: ids.run, accepted_at: 1 }],
  },
  countsOfAsset: {
    ask: () => counters.readAssets(org.orgId, [asset.id]),
    expected: () => [new Map([['100', 1]])],
  },
  manifestHead: {
    ask: () => stores.manifests.lease(org.orgId, asset.id, 'semgrep', ids.run, Date.now()),
    expected: () => expect.objectContaining({ chunks: [], count: 0 }),
  },
  manifestHeads: {
    ask: async () => [...(await stores.manifests.readHeads(org.orgId, asset.id)).keys()],
    expected: () => ['semgrep'],
  },
  manifestChunks: {
    ask: () => stores.manifests.readEntries(org.orgId, asset.id, 'semgrep', chunks),
    expected: () => [expect.objectContaining({ id: finding.id, severity: 'high' })],
  },
  revisits: {
    ask: () => stores.manifests.listRevisits(org.orgId, asset.id, 'semgrep'),
    expected: () => [],
  },
  suppressionEnds: {
    ask: () => createSuppressionEndStore(table).listEnded(1, 2 * 3_600_000, 10),
    expected: () => [],
  },
  pendingDeletions: {
    ask: () => listPendingDeletions(table),
    expected: () => expect.any(Array),
  },
  pendingReevaluations: {
    ask: () => stores.reevaluations.listIdle(Date.now()),
    expected: () => expect.arrayContaining([{ orgId: org.orgId, assetId: null }]),
  },
  export: {
    ask: () => stores.exports.get(org.orgId, ids.export, Date.now()),
    expected: () => expect.objectContaining({ id: ids.export, status: 'queued' }),
  },
  pendingExports: {
    ask: () => stores.exports.listPending(),
    expected: () =>
      expect.arrayContaining([
        { orgId: org.orgId, exportId: ids.export, createdAt: expect.any(Number), leaseUntil: 0 },
      ]),
  },
  judgedOrganizations: {
    ask: () => stores.judged.list(),
    expected: () => expect.arrayContaining([expect.objectContaining({ orgId: org.orgId })]),
  },
  branchFindings: {
    ask: () => stores.findings.listBranchFindings(org.orgId, ids.scan),
    expected: () => [finding],
  },
};

describe('access patterns', () => {
  it.each(Object.entries(ACCESS_PATTERNS))('%s: answered at its price', async (name, pattern) => {
    const question = QUESTIONS[name as AccessPatternName];
    let answer: unknown;
    const requests = await requestsOf(async () => {
      answer = await question.ask();
    });
    expect(answer).toEqual(question.expected());
    expect(requests).toBe(pattern.requests);
  });

  it('hide another organization from every question', async () => {
    const other = await createTestOrganization();
    expect(await stores.findings.get(other.orgId, finding.id)).toBeNull();
    expect(await stores.assets.get(other.orgId, asset.id)).toBeNull();
    expect(await stores.scans.get(other.orgId, ids.scan)).toBeNull();
    expect(await stores.integrations.list(other.orgId)).toEqual([]);
    expect(await stores.integrations.readSealed(other.orgId, integration.id)).toBeNull();
    expect(await stores.policies.list(other.orgId)).toEqual([]);
    expect(await stores.policyRuns.list(other.orgId, policy.id, Date.now())).toEqual([]);
    expect(await stores.runs.findByRunId(other.orgId, ids.run)).toBeNull();
    expect(
      await stores.findings.listIds(other.orgId, { places: [ofAsset(asset.id)] }, '-severity', 0, 20),
    ).toEqual({
      ids: [],
      total: 0,
    });
    expect(await stores.findings.listIds(other.orgId, { cveId: CVE }, '-severity', 0, 20)).toEqual({
      ids: [],
      total: 0,
    });
  });

  it('read a compiled policy once in a process', async () => {
    await stores.policyCode.readCompiled(org.orgId, [code]);
    const requests = await requestsOf(() => stores.policyCode.readCompiled(org.orgId, [code]));
    expect(requests).toBe(0);
  });

  it('are the rows of the data model', () => {
    const document = readFileSync(new URL('../../docs/data-model.md', import.meta.url), 'utf8');
    for (const pattern of Object.values(ACCESS_PATTERNS))
      expect(document).toContain(
        `| ${pattern.question} | ${pattern.index} | \`${pattern.key}\` | ${pattern.requests} |`,
      );
  });
});
