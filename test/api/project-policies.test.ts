import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { assets as assetContract } from '#contract/operations/assets.ts';
import { findings } from '#contract/operations/findings.ts';
import { imports } from '#contract/operations/imports.ts';
import { policies } from '#contract/operations/policies.ts';
import { projects } from '#contract/operations/projects.ts';
import { fromOpaque } from '#domain/ids.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { assetCountersKey, findingsPartition, reevaluationKey } from '#store/keys.ts';
import { createRecounting } from '#store/recount.ts';
import { freshAsset, importReport } from '#test/harness/importing.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import { sarifLog } from '#test/harness/sarif.ts';

let org: TestOrganization;
let asset: string;
beforeEach(async () => {
  org = await createTestOrganization();
  asset = await freshAsset(org);
});

const soon = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 100 });

async function makeProject(name: string): Promise<string> {
  return (await org.client.call(projects.operations.createProject, { body: { name } })).id;
}

async function activate(rules: string): Promise<string> {
  const { createPolicy, activatePolicy } = policies.operations;
  const rego = `package svc.project\n\nimport rego.v1\n\n${rules}\n`;
  const body = { name: `policy ${randomUUID()}`, kind: 'project', rego };
  const { id } = await org.client.call(createPolicy, { body });
  await org.client.call(activatePolicy, { params: { policy_id: id } });
  return id;
}
const deactivate = (id: string) =>
  org.client.call(policies.operations.deactivatePolicy, { params: { policy_id: id } });

const report = (...paths: string[]) => sarifLog(paths.map((path) => ({ path })));

type Query = Parameters<typeof findings.operations.listFindings.query.parse>[0] & object;
/** Paths of a list, in order, whose total must be their number and the summary's. */
async function pathsIn(query: Query): Promise<string[]> {
  const { data, pagination } = await org.client.call(findings.operations.listFindings, {
    query: { ...query, per_page: 100 },
  });
  expect(pagination.total).toBe(data.length);
  const { cve_id: _, ...scope } = query as Record<string, unknown>;
  const summary = await org.client.call(findings.operations.getFindingSummary, { query: scope });
  expect(summary.total).toBe(data.length);
  return data.map(({ location }) => location.path).sort();
}

async function expectExactCounters(): Promise<void> {
  const counters = createCounterStore(testTable(), 8);
  const recounting = createRecounting(testTable(), createAssetStore(testTable(), counters), counters);
  expect((await recounting.recount(org.orgId)).differences).toEqual([]);
}

const BY_FOLDER = `project := "Payments" if startswith(input.finding.location.path, "services/pay/")

project := "Shop/Web" if startswith(input.finding.location.path, "web/")`;

async function openMonorepo() {
  const [home, payments, shop] = [
    await makeProject('Monorepo'),
    await makeProject('Payments'),
    await makeProject('Shop'),
  ];
  const web = await org.client.call(projects.operations.createSubProject, {
    params: { project_id: shop },
    body: { name: 'Web' },
  });
  const move = (project: string) =>
    org.client.call(assetContract.operations.linkRepository, {
      params: { org_id: org.orgId, repo_id: fromOpaque('asset', asset) ?? '' },
      body: { project_id: fromOpaque('project', project) ?? '' },
    });
  await move(home);
  return { home, payments, shop, web: web.id, move };
}

describe('a policy of projects', () => {
  it('puts findings of one asset into projects, at ingest: lists, summaries and counts agree', async () => {
    const { home, payments, shop, web } = await openMonorepo();
    await activate(BY_FOLDER);
    await importReport(org, asset, report('services/pay/a.ts', 'web/b.ts', 'web/c.ts', 'tools/d.ts'));
    expect(await pathsIn({ project_id: payments })).toEqual(['services/pay/a.ts']);
    expect(await pathsIn({ project_id: shop })).toEqual(['web/b.ts', 'web/c.ts']);
    expect(await pathsIn({ sub_project_id: web })).toEqual(['web/b.ts', 'web/c.ts']);
    expect(await pathsIn({ project_id: shop, sub_project_id: web })).toHaveLength(2);
    expect(await pathsIn({ project_id: payments, sub_project_id: web })).toEqual([]);
    expect(await pathsIn({ project_id: home })).toEqual(['tools/d.ts']);
    expect(await pathsIn({ asset_id: asset })).toHaveLength(4);
    expect(await pathsIn({ asset_id: asset, project_id: shop })).toEqual(['web/b.ts', 'web/c.ts']);
    expect(await pathsIn({ asset_id: asset, project_id: home })).toEqual(['tools/d.ts']);
    const { data } = await org.client.call(findings.operations.listFindings, { query: { project_id: shop } });
    expect(data[0]).toMatchObject({
      project_id: shop,
      sub_project_id: web,
      policy_results: [{ kind: 'project', decision: 'Shop/Web', version: 1 }],
    });
    const shown = await org.client.call(projects.operations.getProject, { params: { project_id: shop } });
    expect(shown.finding_count).toBe(2);
    const page = await org.client.call(findings.operations.listFindings, {
      query: { project_id: shop, sort: 'created_at', per_page: 1, page: 2 },
    });
    expect(page.data).toHaveLength(1);
    await expectExactCounters();
  });

  it('moves what is there when it is activated, and back when it says so no more', async () => {
    const { home, payments } = await openMonorepo();
    await importReport(org, asset, report('services/pay/a.ts', 'tools/d.ts'));
    expect(await pathsIn({ project_id: home })).toHaveLength(2);
    const id = await activate(BY_FOLDER);
    await soon(async () => expect(await pathsIn({ project_id: payments })).toEqual(['services/pay/a.ts']));
    expect(await pathsIn({ project_id: home })).toEqual(['tools/d.ts']);
    await expectExactCounters();
    await deactivate(id);
    await soon(async () => expect(await pathsIn({ project_id: payments })).toEqual([]));
    expect(await pathsIn({ project_id: home })).toHaveLength(2);
    await expectExactCounters();
  });

  it('leaves what is closed to the asset’s project', async () => {
    const { home, payments } = await openMonorepo();
    await activate(BY_FOLDER);
    await importReport(org, asset, report('services/pay/a.ts', 'services/pay/b.ts'));
    await importReport(org, asset, report('services/pay/a.ts'));
    expect(await pathsIn({ project_id: payments })).toEqual(['services/pay/a.ts']);
    const { data } = await org.client.call(findings.operations.listFindings, {
      query: { project_id: home, status: 'resolved' },
    });
    expect(data.map(({ location }) => location.path)).toEqual(['services/pay/b.ts']);
    const [open] = (
      await org.client.call(findings.operations.listFindings, { query: { project_id: payments } })
    ).data;
    await org.client.call(findings.operations.updateFinding, {
      params: { finding_id: open?.id ?? '' },
      body: { status: 'resolved' },
    });
    expect(await pathsIn({ project_id: payments })).toEqual([]);
    await expectExactCounters();
    // Reported again, it is reopened where the policy says.
    await importReport(org, asset, report('services/pay/b.ts', 'services/pay/c.ts'));
    expect(await pathsIn({ project_id: payments })).toEqual(['services/pay/b.ts', 'services/pay/c.ts']);
    await expectExactCounters();
  });

  it('names projects by id of either family, and by name in any case; nothing where the asset is already', async () => {
    const { home, payments } = await openMonorepo();
    const uuid = fromOpaque('project', payments);
    const [long, longer] = ['P'.repeat(150), 'S'.repeat(150)];
    const parent = await makeProject(long);
    await org.client.call(projects.operations.createSubProject, {
      params: { project_id: parent },
      body: { name: longer },
    });
    await activate(`project := {
  "a": "${payments}", "b": "${uuid}", "c": " PAYMENTS ", "d": "Monorepo", "e": "${long}/${longer}",
}[input.finding.location.path]`);
    await importReport(org, asset, report('a', 'b', 'c', 'd', 'e'));
    expect(await pathsIn({ project_id: parent })).toEqual(['e']);
    expect(await pathsIn({ project_id: payments })).toEqual(['a', 'b', 'c']);
    expect(await pathsIn({ project_id: home })).toEqual(['d']);
    await expectExactCounters();
  });

  it('that names no project of the organization is an error of its own, and the finding stays', async () => {
    const { home } = await openMonorepo();
    const stranger = await createTestOrganization();
    const foreign = await stranger.client.call(projects.operations.createProject, {
      body: { name: 'Foreign' },
    });
    const id = await activate(
      `project := {"a": "Nowhere", "b": "${foreign.id}", "c": "Foreign"}[input.finding.location.path]`,
    );
    await importReport(org, asset, report('a', 'b', 'c'));
    expect(await pathsIn({ project_id: home })).toEqual(['a', 'b', 'c']);
    const [run] = await org.client.call(policies.operations.listOpenPolicyRuns, {
      params: { org_id: org.orgId, policy_id: fromOpaque('policy', id) ?? '' },
      query: {},
    });
    expect(run).toMatchObject({
      errors: 3,
      error: { code: 'policy_evaluation_error', message: expect.stringContaining('must name a project') },
    });
  });

  it('is asked again where a project is made or renamed, and no policy where there is none', async () => {
    const pending = () => testTable().get(reevaluationKey(org.orgId, null));
    const early = await makeProject('Early');
    expect(await pending()).toBeNull();
    await activate('project := "Late"');
    await soon(async () => expect(await pending()).toBeNull());
    await makeProject('Late');
    expect(await pending()).toMatchObject({ wanted: 1 });
    await org.client.call(projects.operations.updateProject, {
      params: { project_id: early },
      body: { name: 'Earliest' },
    });
    expect(await pending()).toMatchObject({ wanted: 2 });
  });

  it('keeps its project from being deleted while it puts findings there', async () => {
    const { payments } = await openMonorepo();
    const id = await activate(BY_FOLDER);
    await importReport(org, asset, report('services/pay/a.ts'));
    const remove = () =>
      org.client.call(projects.operations.deleteProject, { params: { project_id: payments } });
    await expect(remove()).rejects.toMatchObject({
      code: 'cannot_delete',
      message: 'The project still has findings that policies put there',
    });
    await deactivate(id);
    await soon(async () => expect(await pathsIn({ project_id: payments })).toEqual([]));
    await remove();
    await expectExactCounters();
  });

  it('goes with findings when their asset moves, and when it is deleted', async () => {
    const { home, payments, shop, move } = await openMonorepo();
    await activate(BY_FOLDER);
    await importReport(org, asset, report('services/pay/a.ts', 'web/b.ts', 'tools/d.ts'));
    await move(payments);
    expect(await pathsIn({ project_id: payments })).toEqual(['services/pay/a.ts', 'tools/d.ts']);
    expect(await pathsIn({ project_id: home })).toEqual([]);
    expect(await pathsIn({ project_id: shop })).toEqual(['web/b.ts']);
    await expectExactCounters();
    await org.client.call(assetContract.operations.deleteAsset, { params: { asset_id: asset } });
    expect(await pathsIn({ project_id: payments })).toEqual([]);
    expect(await pathsIn({ project_id: shop })).toEqual([]);
    expect(await pathsIn({})).toEqual([]);
    const keys = () =>
      testTable().queryAll({
        IndexName: 'gsi1',
        KeyConditionExpression: 'gsi1pk = :partition',
        ExpressionAttributeValues: { ':partition': findingsPartition(org.orgId) },
      });
    await soon(async () => expect(await keys()).toEqual([]));
  });

  it('may know many projects, more than one transaction could count', async () => {
    const names = Array.from({ length: 95 }, (_, number) => `Project ${number}`);
    const made = await Promise.all(names.map(makeProject));
    await activate('project := sprintf("Project %s", [input.finding.location.path])');
    const scan = await importReport(org, asset, report(...names.map((_, number) => `${number}`)));
    expect(scan).toMatchObject({ status: 'completed', new_count: 95 });
    expect(await pathsIn({ project_id: made[7] })).toEqual(['7']);
    await expectExactCounters();
    // People decide about all of them at once.
    const done = await org.client.call(findings.operations.bulkUpdateFindings, {
      body: { filter: { asset_id: asset }, update: { status: 'in_progress' } },
    });
    expect(done.updated).toBe(95);
    await expectExactCounters();
    expect(await pathsIn({ project_id: made[7] })).toEqual(['7']);
    // And the asset goes with all of them.
    await org.client.call(assetContract.operations.deleteAsset, { params: { asset_id: asset } });
    expect(await pathsIn({ project_id: made[7] })).toEqual([]);
    const shown = await org.client.call(projects.operations.listProjects, { query: { per_page: 100 } });
    expect(shown.data.map(({ finding_count }) => finding_count)).toEqual(names.map(() => 0));
    await expectExactCounters();
  });

  it('counts what it puts elsewhere by place, however long that goes on', async () => {
    const names = Array.from({ length: 12 }, (_, number) => `Project ${number}`);
    await Promise.all(names.map(makeProject));
    await activate('project := sprintf("Project %s", [input.finding.location.path])');
    await importReport(org, asset, report(...names.map((_, number) => `${number}`)));
    const size = async () => {
      const key = assetCountersKey(org.orgId, fromOpaque('asset', asset) ?? '');
      return Object.keys((await testTable().get(key)) ?? {}).length;
    };
    const before = await size();
    for (const status of ['triaged', 'confirmed', 'in_progress', 'open'] as const)
      await org.client.call(findings.operations.bulkUpdateFindings, {
        body: { filter: { asset_id: asset }, update: { status } },
      });
    // One for each status, and one for those elsewhere: it does not grow with the number of projects.
    expect((await size()) - before).toBeLessThanOrEqual(6);
    await expectExactCounters();
  });

  it('of a CVE’s findings too', async () => {
    const { home, payments } = await openMonorepo();
    await activate('project := "Payments" if input.finding.package.name == "lodash"');
    const match = (name: string) => ({
      vulnerability: { id: 'CVE-2021-23337', severity: 'High' },
      artifact: {
        name,
        version: '4.17.20',
        type: 'npm',
        purl: `pkg:npm/${name}@4.17.20`,
        locations: [{ path: '/package-lock.json' }],
      },
    });
    const { id } = await org.client.call(imports.operations.importFindings, {
      params: { asset_id: asset },
      query: { scanner: 'grype' },
      upload: new Uint8Array(gzipSync(JSON.stringify({ matches: [match('lodash'), match('underscore')] }))),
      headers: { 'content-type': 'application/gzip' },
    });
    await soon(async () => expect(await pathsIn({ asset_id: asset })).toHaveLength(2));
    expect(id).toBeDefined();
    for (const project_id of [home, payments]) {
      const { data, pagination } = await org.client.call(findings.operations.listFindings, {
        query: { project_id, cve_id: 'CVE-2021-23337' },
      });
      expect(pagination.total).toBe(1);
      expect(data[0]?.package?.name).toBe(project_id === payments ? 'lodash' : 'underscore');
    }
  });
});
