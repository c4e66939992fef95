import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { assets } from '#contract/operations/assets.ts';
import { projects } from '#contract/operations/projects.ts';
import { toOpaque } from '#domain/ids.ts';
import { countedPlace, createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createFindingWriteStore } from '#store/finding-writes.ts';
import { auditPartition } from '#store/keys.ts';
import { request } from '#test/harness/http.ts';
import {
  connect,
  createTestOrganization,
  type TestOrganization,
  testTable,
} from '#test/harness/organization.ts';
import { sampleFinding } from '#test/harness/samples.ts';

const { linkRepository, unlinkRepository } = assets.operations;
let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const inOrg = () => ({ org_id: org.orgId });
const project = async (parent?: string) => {
  const body = { name: randomUUID() };
  const made = parent
    ? await org.client.call(projects.operations.createOrgSubProject, {
        params: { ...inOrg(), project_id: parent },
        body,
      })
    : await org.client.call(projects.operations.createOrgProject, { params: inOrg(), body });
  return made.id;
};
const repository = async (project_id?: string) => {
  const name = randomUUID();
  const made = await org.client.call(assets.operations.addRepository, {
    params: inOrg(),
    body: { name, url: `https://git.example.com/${name}.git`, ...(project_id && { project_id }) },
  });
  return made.id;
};
const link = (repo_id: string, project_id: string, sub_project_id?: string | null) =>
  org.client.call(linkRepository, {
    params: { ...inOrg(), repo_id },
    body: { project_id, ...(sub_project_id !== undefined && { sub_project_id }) },
  });
const unlink = (repo_id: string) => org.client.call(unlinkRepository, { params: { ...inOrg(), repo_id } });
const countsOf = async (...ids: string[]) =>
  Promise.all(
    ids.map(async (project_id) => {
      const read = await org.client.call(projects.operations.getOrgProject, {
        params: { ...inOrg(), project_id },
      });
      return [read.asset_count, read.finding_count];
    }),
  );

/** Findings of a repository, counted wherever it is. */
async function addFindings(repoId: string, count: number): Promise<void> {
  const table = testTable();
  const counters = createCounterStore(table, 1);
  const asset = await createAssetStore(table, counters).require(org.orgId, repoId);
  const findings = Array.from({ length: count }, () => sampleFinding(org.orgId, repoId));
  await createFindingWriteStore(table, counters).createAll(
    { orgId: org.orgId, place: countedPlace(asset), guards: [] },
    findings,
  );
}

describe('a repository', () => {
  it('is linked, moved and unlinked, and its counts go with it', async () => {
    const [first, second] = [await project(), await project()];
    const sub = await project(second);
    const repo = await repository();
    await addFindings(repo, 3);

    const linked = await link(repo, first);
    expect(linked).toMatchObject({
      id: repo,
      project_id: first,
      sub_project_id: null,
      finding_counts: { high: 3 },
    });
    expect(await countsOf(first, second, sub)).toEqual([
      [1, 3],
      [0, 0],
      [0, 0],
    ]);
    // Again: nothing moves.
    expect(await link(repo, first, null)).toEqual(linked);
    expect(await countsOf(first)).toEqual([[1, 3]]);

    expect(await link(repo, second, sub)).toMatchObject({ project_id: second, sub_project_id: sub });
    await addFindings(repo, 1);
    expect(await countsOf(first, second, sub)).toEqual([
      [0, 0],
      [1, 4],
      [1, 4],
    ]);

    // Out of the sub-project alone.
    expect(await link(repo, second)).toMatchObject({ project_id: second, sub_project_id: null });
    expect(await countsOf(second, sub)).toEqual([
      [1, 4],
      [0, 0],
    ]);

    const unlinked = await unlink(repo);
    expect(unlinked).toMatchObject({ project_id: null, sub_project_id: null, finding_counts: { high: 4 } });
    expect(await countsOf(first, second, sub)).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
    expect(await unlink(repo)).toEqual(unlinked);
  });

  it('is in the project that both families show', async () => {
    const parent = await project();
    const sub = await project(parent);
    const repo = await repository();
    // A sub-project's own id is as good as both.
    expect(await link(repo, sub)).toMatchObject({ project_id: parent, sub_project_id: sub });
    const flat = await org.client.call(projects.operations.listProjectAssets, {
      params: { project_id: toOpaque('project', parent) },
    });
    expect(flat.data.map(({ id }) => id)).toEqual([toOpaque('asset', repo)]);
    const listed = await org.client.call(assets.operations.listRepositories, {
      params: inOrg(),
      query: { project_id: sub },
    });
    expect(listed.map(({ id }) => id)).toEqual([repo]);
  });

  it('keeps its project from being deleted until it is unlinked', async () => {
    const home = await project();
    const repo = await repository(home);
    const params = { ...inOrg(), project_id: home };
    await expect(org.client.call(projects.operations.deleteOrgProject, { params })).rejects.toMatchObject({
      status: 409,
      code: 'cannot_delete',
    });
    await unlink(repo);
    await org.client.call(projects.operations.deleteOrgProject, { params });
  });

  it('is counted once, however many link it at the same time', async () => {
    const homes = await Promise.all(Array.from({ length: 8 }, () => project()));
    const repo = await repository();
    await addFindings(repo, 2);
    const outcomes = await Promise.allSettled(homes.map((home) => link(repo, home)));
    expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        expect(outcome.reason).toMatchObject({ status: 409, code: 'conflict' });
    const counts = await countsOf(...homes);
    const sum = (index: number) => counts.reduce((total, pair) => total + (pair[index] ?? 0), 0);
    expect([sum(0), sum(1)]).toEqual([1, 2]);
  });

  it('leaves an audit entry each time that it moves', async () => {
    const home = await project();
    const repo = await repository();
    await link(repo, home);
    await link(repo, home);
    await unlink(repo);
    const entries = await testTable().queryAll({
      KeyConditionExpression: 'pk = :audit',
      ExpressionAttributeValues: { ':audit': auditPartition(org.orgId) },
    });
    const own = entries.filter((entry) => (entry.target as { id: string }).id === repo);
    expect(own.slice(1)).toMatchObject([
      { action: 'asset.assign', changes: { project_id: { before: null, after: home } } },
      { action: 'asset.unassign', changes: { project_id: { before: home, after: null } } },
    ]);
    expect(own).toHaveLength(3);
  });
});

describe('what cannot be linked', () => {
  const at = (repo: string, verb: string, orgId = org.orgId) =>
    `/api/orgs/${orgId}/repositories/${repo}/${verb}`;

  it('a sub-project of another project, or one that is none', async () => {
    const [home, other] = [await project(), await project()];
    const sub = await project(other);
    const repo = await repository();
    for (const sub_project_id of [sub, other, home, randomUUID()]) {
      const answer = await request('POST', at(repo, 'link'), {
        key: org.accessToken,
        body: { project_id: home, sub_project_id },
      });
      expect([answer.status, answer.body.detail]).toEqual([
        422,
        [
          {
            loc: ['body', 'sub_project_id'],
            msg: 'sub_project_id must be a sub-project of the project',
            type: 'value_error',
          },
        ],
      ]);
    }
    expect(await countsOf(home, other)).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it('what another organization has, or nobody', async () => {
    const other = await createTestOrganization();
    const foreignProject = await other.client.call(projects.operations.createOrgProject, {
      params: { org_id: other.orgId },
      body: { name: 'Foreign' },
    });
    const foreignRepo = await other.client.call(assets.operations.addRepository, {
      params: { org_id: other.orgId },
      body: { name: 'foreign', url: 'https://git.example.com/foreign.git' },
    });
    const [home, repo] = [await project(), await repository()];
    const answers = await Promise.all([
      request('POST', at(repo, 'link'), { key: org.accessToken, body: { project_id: foreignProject.id } }),
      request('POST', at(repo, 'link'), { key: org.accessToken, body: { project_id: randomUUID() } }),
      request('POST', at(foreignRepo.id, 'link'), { key: org.accessToken, body: { project_id: home } }),
      request('POST', at(foreignRepo.id, 'link', other.orgId), {
        key: org.accessToken,
        body: { project_id: foreignProject.id },
      }),
      request('POST', at(foreignRepo.id, 'unlink'), { key: org.accessToken }),
      request('POST', at(foreignRepo.id, 'unlink', other.orgId), { key: org.accessToken }),
    ]);
    for (const answer of answers)
      expect([answer.status, answer.body.error?.code]).toEqual([404, 'not_found']);
  });

  it('anything malformed', async () => {
    const repo = await repository();
    for (const [path, body, loc] of [
      [at(repo, 'link'), {}, ['body', 'project_id']],
      [at(repo, 'link'), { project_id: 'proj_1' }, ['body', 'project_id']],
      [at(repo, 'link'), { project_id: repo, sub_project_id: 3 }, ['body', 'sub_project_id']],
      [at('nope', 'link'), { project_id: repo }, ['path', 'repo_id']],
      [at('nope', 'unlink'), undefined, ['path', 'repo_id']],
    ] as const) {
      const answer = await request('POST', path, { key: org.accessToken, ...(body && { body }) });
      expect([answer.status, answer.body.detail]).toMatchObject([422, [{ loc }]]);
    }
  });

  it('anything, without projects:write', async () => {
    const [home, repo] = [await project(), await repository()];
    const params = { ...inOrg(), repo_id: repo };
    const reader = (await org.withKey('projects:read')).client;
    for (const client of [reader, await org.withRole('Viewer')]) {
      const refusal = { status: 403, code: 'insufficient_permissions' };
      await expect(client.call(linkRepository, { params, body: { project_id: home } })).rejects.toMatchObject(
        refusal,
      );
      await expect(client.call(unlinkRepository, { params })).rejects.toMatchObject(refusal);
    }
    await expect(connect().call(unlinkRepository, { params })).rejects.toMatchObject({ status: 401 });
    const writer = (await org.withKey('projects:write')).client;
    await writer.call(linkRepository, { params, body: { project_id: home } });
    await (await org.withRole('Project Admin')).call(unlinkRepository, { params });
  });
});
