import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { findings } from '#contract/operations/findings.ts';
import { imports } from '#contract/operations/imports.ts';
import { policies } from '#contract/operations/policies.ts';
import { projects } from '#contract/operations/projects.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import type { PolicyKind } from '#shared/policy/kinds.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createRecounting } from '#store/recount.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import { sampleAsset, testAttribution } from '#test/harness/samples.ts';
import { type SarifResult, sarifLog } from '#test/harness/sarif.ts';
import { awaitScan } from '#test/harness/scanning.ts';

const { operations } = policies;
const counters = createCounterStore(testTable(), 8);
const assets = createAssetStore(testTable(), counters);
let org: TestOrganization;
let asset: string;
beforeEach(async () => {
  org = await createTestOrganization();
  asset = await freshAsset();
});

async function freshAsset(): Promise<string> {
  const made = sampleAsset({ default_branch: 'main' });
  await assets.create(org.orgId, made, testAttribution());
  return toOpaque('asset', made.id);
}

const rego = (kind: PolicyKind, rules: string) => `package svc.${kind}\n\nimport rego.v1\n\n${rules}\n`;

interface Where {
  readonly scope: 'organization' | 'project' | 'asset';
  readonly scope_target_id?: string;
}

async function create(kind: PolicyKind, rules: string, where: Where = { scope: 'organization' }) {
  const body = { name: `policy ${randomUUID()}`, kind, rego: rego(kind, rules), ...where };
  return org.client.call(operations.createPolicy, { body });
}

async function activate(kind: PolicyKind, rules: string, where?: Where) {
  const { id } = await create(kind, rules, where);
  await org.client.call(operations.activatePolicy, { params: { policy_id: id } });
  return id;
}
const deactivate = (id: string) =>
  org.client.call(operations.deactivatePolicy, { params: { policy_id: id } });

async function importAll(results: readonly SarifResult[], into = asset) {
  const { id } = await org.client.call(imports.operations.importFindings, {
    params: { asset_id: into },
    query: {},
    upload: new Uint8Array(gzipSync(JSON.stringify(sarifLog(results)))),
    headers: { 'content-type': 'application/gzip' },
  });
  return awaitScan(org, id);
}

async function list(of = asset) {
  const { data } = await org.client.call(findings.operations.listFindings, {
    query: { asset_id: of, per_page: 100 },
  });
  return Object.fromEntries(data.map((one) => [one.location.path, one]));
}
const statuses = async () =>
  Object.fromEntries(Object.entries(await list()).map(([path, { status }]) => [path, status]));

/** What happens in the background within seconds. */
const soon = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 100 });

async function runsOf(policyId: string) {
  return org.client.call(operations.listOpenPolicyRuns, {
    params: { org_id: org.orgId, policy_id: fromOpaque('policy', policyId) ?? '' },
    query: {},
  });
}

async function expectExactCounters() {
  const { differences } = await createRecounting(testTable(), assets, counters).recount(org.orgId);
  expect(differences).toEqual([]);
}

const BY_SEVERITY = `decision := "accept" if input.finding.severity == "critical"

decision := "reject" if input.finding.severity == "low"

reason := sprintf("it is %s", [input.finding.severity])`;
const THREE = [
  { path: 'critical.ts', score: '9.8' },
  { path: 'medium.ts', score: '5.0' },
  { path: 'low.ts', score: '1.0' },
] as const;

describe('active policies at ingest', () => {
  it('judge every finding before it is written, and say so on it', async () => {
    const triage = await activate('triage', BY_SEVERITY);
    const priority = await activate('priority', 'priority := "p0" if input.finding.severity == "critical"');
    const owner = await activate(
      'ownership',
      'owner := "team-a" if startswith(input.finding.location.path, "c")',
    );
    const scan = await importAll(THREE);
    expect(scan).toMatchObject({ status: 'completed', new_count: 3 });
    const shown = await list();
    expect(shown['critical.ts']).toMatchObject({ status: 'triaged', priority: 'p0', owner: 'team-a' });
    expect(shown['medium.ts']).toMatchObject({ status: 'open', priority: null, owner: null });
    expect(shown['low.ts']).toMatchObject({
      status: 'suppressed',
      suppression: {
        reason: null,
        comment: expect.stringMatching(/^Policy policy .*, version 1: it is low$/),
      },
    });
    const result = { version: 1, reason: null };
    expect(shown['critical.ts']?.policy_results).toEqual([
      { ...result, policy_id: triage, kind: 'triage', decision: 'accept', reason: 'it is critical' },
      { ...result, policy_id: priority, kind: 'priority', decision: 'p0' },
      { ...result, policy_id: owner, kind: 'ownership', decision: 'team-a' },
    ]);
    expect(shown['medium.ts']?.policy_results).toMatchObject([{ decision: null }, { decision: null }, {}]);
    expect(await runsOf(triage)).toMatchObject([
      {
        trigger: 'ingest',
        version: 1,
        evaluated: 3,
        decisions: { accept: 1, reject: 1, none: 1 },
        errors: 0,
        error: null,
      },
      // Of its activation: there was nothing yet.
    ]);
    await expectExactCounters();
  });

  it('see what an evaluation by hand sees', async () => {
    const digest = 'decision := crypto.sha256(json.marshal(input))';
    const id = await activate('triage', digest);
    await importAll(THREE);
    const shown = Object.values(await list());
    const { data } = (await org.client.call(operations.evaluatePolicy, {
      body: { policy_id: id, finding_ids: shown.map((one) => one.id) },
    })) as { data: { decision: unknown }[] };
    expect(data.map(({ decision }) => decision)).toEqual(
      shown.map(({ policy_results: [result] }) => result?.decision),
    );
  });

  it('are asked again about what changed, and about nothing else', async () => {
    const id = await activate('triage', BY_SEVERITY);
    await importAll(THREE.map((one) => ({ ...one, print: one.path })));
    await importAll(
      THREE.map((one) => ({ ...one, print: one.path, ...(one.path === 'medium.ts' && { score: '9.0' }) })),
    );
    expect(await statuses()).toEqual({
      'critical.ts': 'triaged',
      'medium.ts': 'triaged',
      'low.ts': 'suppressed',
    });
    const [last] = await runsOf(id);
    expect(last).toMatchObject({ trigger: 'ingest', evaluated: 1, decisions: { accept: 1 } });
    await importAll([{ path: 'critical.ts', score: '9.8', print: 'critical.ts' }]);
    expect(await statuses()).toMatchObject({ 'medium.ts': 'resolved', 'low.ts': 'resolved' });
    await importAll(THREE.map((one) => ({ ...one, print: one.path })));
    expect(await statuses()).toEqual({
      'critical.ts': 'triaged',
      'medium.ts': 'reopened',
      'low.ts': 'suppressed',
    });
    await expectExactCounters();
  });

  it('decide by the narrowest scope that says something, then by the older policy', async () => {
    const project = await org.client.call(projects.operations.createProject, { body: { name: 'Payments' } });
    const inside = await freshAsset();
    await org.client.call(projects.operations.assignProjectAssets, {
      params: { project_id: project.id },
      body: { asset_ids: [inside] },
    });
    await activate('triage', 'decision := "reject"');
    await activate('triage', 'decision := "accept"');
    await activate('triage', 'decision := "accept" if input.finding.severity == "critical"', {
      scope: 'project',
      scope_target_id: project.id,
    });
    await activate('triage', 'decision := "leave" if input.finding.location.path == "low.ts"', {
      scope: 'asset',
      scope_target_id: inside,
    });
    await Promise.all([importAll(THREE), importAll(THREE, inside)]);
    expect(await statuses()).toEqual({
      'critical.ts': 'suppressed',
      'medium.ts': 'suppressed',
      'low.ts': 'suppressed',
    });
    const shown = await list(inside);
    expect(shown['critical.ts']?.status).toBe('triaged');
    expect(shown['medium.ts']?.status).toBe('suppressed');
    expect(shown['low.ts']?.status).toBe('open');
    expect(shown['low.ts']?.policy_results.map(({ decision }) => decision)).toEqual([
      'leave',
      null,
      'reject',
      'accept',
    ]);
  });

  it('hold nothing up where one fails or runs away: its run says why', async () => {
    // What the samples of a save don't show: the text is nowhere in the source.
    const isMedium = 'upper(input.finding.location.path) == concat("", ["MEDIUM", ".TS"])';
    const conflict = await activate(
      'priority',
      `priority := "p1" if ${isMedium}\n\npriority := "p2" if ${isMedium}`,
    );
    const wrong = await activate('ownership', `owner := 7 if ${isMedium}`);
    const slow = await activate(
      'triage',
      `decision := "accept" if {
  ${isMedium}
  count([x | some x in numbers.range(1, 3000); some y in numbers.range(1, 3000); x == y * -1]) == 1
}`,
    );
    expect(await importAll(THREE)).toMatchObject({ status: 'completed', new_count: 3 });
    expect(await statuses()).toEqual({ 'critical.ts': 'open', 'medium.ts': 'open', 'low.ts': 'open' });
    expect((await runsOf(conflict))[0]).toMatchObject({
      trigger: 'ingest',
      evaluated: 3,
      errors: 1,
      error: { code: 'policy_conflict' },
    });
    expect((await runsOf(wrong))[0]).toMatchObject({
      errors: 1,
      error: { code: 'policy_evaluation_error', message: expect.stringContaining('owner must be a text') },
    });
    const [run] = await runsOf(slow);
    expect(run?.errors).toBeGreaterThanOrEqual(1);
    expect(run?.error?.code).toBe('policy_evaluation_error');
  });
});

describe('a change of the active policies', () => {
  it('judges open findings anew: activated, saved, deactivated', async () => {
    await importAll(THREE);
    const id = await activate('triage', BY_SEVERITY);
    await soon(async () =>
      expect(await statuses()).toEqual({
        'critical.ts': 'triaged',
        'medium.ts': 'open',
        'low.ts': 'suppressed',
      }),
    );
    expect((await runsOf(id))[0]).toMatchObject({
      trigger: 'change',
      evaluated: 3,
      decisions: { accept: 1, reject: 1, none: 1 },
    });
    await expectExactCounters();
    await org.client.call(operations.updatePolicy, {
      params: { policy_id: id },
      body: { rego: rego('triage', 'decision := "accept" if input.finding.severity == "medium"') },
    });
    await soon(async () =>
      expect(await statuses()).toEqual({ 'critical.ts': 'open', 'medium.ts': 'triaged', 'low.ts': 'open' }),
    );
    expect((await list())['low.ts']).toMatchObject({
      suppression: null,
      policy_results: [{ policy_id: id, version: 2, decision: null }],
    });
    await deactivate(id);
    await soon(async () => {
      const shown = await list();
      expect(Object.values(shown).map(({ status }) => status)).toEqual(['open', 'open', 'open']);
      expect(shown['medium.ts']?.policy_results).toEqual([]);
    });
    await expectExactCounters();
  });

  it('of scope, or its end, undoes what it said elsewhere', async () => {
    const other = await freshAsset();
    await Promise.all([importAll(THREE), importAll(THREE, other)]);
    const id = await activate('priority', 'priority := "p2"');
    await soon(async () => expect((await list(other))['low.ts']?.priority).toBe('p2'));
    await org.client.call(operations.updatePolicyScope, {
      params: { policy_id: id },
      body: { scope: 'asset', scope_target_id: asset },
    });
    await soon(async () => {
      expect((await list(other))['low.ts']).toMatchObject({ priority: null, policy_results: [] });
      expect((await list())['low.ts']).toMatchObject({ priority: 'p2', policy_results: [{ version: 2 }] });
    });
    await org.client.call(operations.deletePolicy, { params: { policy_id: id } });
    await soon(async () => expect((await list())['low.ts']?.priority).toBeNull());
  });

  it('leaves what people decided: their status stays, the rest is judged', async () => {
    await importAll(THREE);
    const before = await list();
    const idOf = (path: string) => before[path]?.id ?? '';
    const { suppressFinding, reopenFinding, updateFinding } = findings.operations;
    await org.client.call(updateFinding, {
      params: { finding_id: idOf('critical.ts') },
      body: { status: 'in_progress' },
    });
    await org.client.call(suppressFinding, {
      params: { finding_id: idOf('medium.ts') },
      body: { reason: 'false_positive' },
    });
    await org.client.call(suppressFinding, {
      params: { finding_id: idOf('low.ts') },
      body: { reason: 'mitigating_control' },
    });
    await org.client.call(reopenFinding, { params: { finding_id: idOf('low.ts') } });
    await activate('triage', 'decision := "reject"');
    await activate('priority', 'priority := 7');
    await soon(async () => {
      const shown = await list();
      expect(Object.values(shown).map(({ priority }) => priority)).toEqual([7, 7, 7]);
      expect(shown['critical.ts']).toMatchObject({ status: 'in_progress', suppression: null });
      expect(shown['medium.ts']).toMatchObject({ suppression: { reason: 'false_positive' } });
      expect(shown['low.ts']).toMatchObject({ status: 'reopened' });
      expect(shown['low.ts']?.policy_results).toHaveLength(2);
    });
    await expectExactCounters();
  });

  it('of one that is inactive changes no finding', async () => {
    const { id } = await create('triage', 'decision := "reject"');
    await importAll(THREE);
    await org.client.call(operations.updatePolicy, { params: { policy_id: id }, body: { description: 'x' } });
    const sentinel = await activate('priority', 'priority := "p3"');
    await soon(async () => expect((await list())['low.ts']?.priority).toBe('p3'));
    expect((await list())['low.ts']).toMatchObject({
      status: 'open',
      policy_results: [{ policy_id: sentinel }],
    });
    expect(await runsOf(id)).toEqual([]);
  });
});
