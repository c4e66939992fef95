import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { assets } from '#contract/operations/assets.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { projects } from '#contract/operations/projects.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { auditPartition } from '#store/keys.ts';
import { request } from '#test/harness/http.ts';
import {
  connect,
  createTestOrganization,
  type TestOrganization,
  testTable,
} from '#test/harness/organization.ts';

const { operations } = projects;
let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const inOrg = () => ({ org_id: org.orgId });
const at = (project_id: string) => ({ org_id: org.orgId, project_id });
const create = (name: string, team_id?: string) =>
  org.client.call(operations.createOrgProject, {
    params: inOrg(),
    body: { name, ...(team_id && { team_id }) },
  });

async function addTeam({ client, orgId }: TestOrganization): Promise<string> {
  const body = { name: randomUUID() };
  return (await client.call(organizations.operations.createTeam, { params: { org_id: orgId }, body })).id;
}

/** Audit entries of the organization, the newest first. */
async function audited(orgId: string) {
  return testTable().queryAll({
    KeyConditionExpression: 'pk = :audit',
    ExpressionAttributeValues: { ':audit': auditPartition(orgId) },
    ScanIndexForward: false,
  });
}

describe('projects of an organization', () => {
  it('are created, read, changed and deleted with status 200 and UUIDs', async () => {
    const made = await create('Payments');
    expect(made).toMatchObject({
      name: 'Payments',
      description: null,
      parent_id: null,
      team_id: null,
      asset_count: 0,
      finding_count: 0,
    });
    expect(await org.client.call(operations.getOrgProject, { params: at(made.id) })).toEqual(made);
    const changed = await org.client.call(operations.updateOrgProject, {
      params: at(made.id),
      body: { name: 'Billing', description: 'Money' },
    });
    expect(changed).toMatchObject({ id: made.id, name: 'Billing', description: 'Money' });
    const same = await org.client.call(operations.updateOrgProject, { params: at(made.id), body: {} });
    expect(same).toEqual(changed);
    expect(await org.client.call(operations.deleteOrgProject, { params: at(made.id) })).toEqual({
      id: made.id,
      deleted: true,
    });
    await expect(org.client.call(operations.getOrgProject, { params: at(made.id) })).rejects.toMatchObject({
      status: 404,
      code: 'not_found',
    });
  });

  it('are the projects of the flat family, with the same names', async () => {
    const own = await createTestOrganization();
    const params = { org_id: own.orgId };
    const a = await own.client.call(operations.createOrgProject, { params, body: { name: 'From A' } });
    const b = await own.client.call(operations.createProject, { body: { name: 'From B' } });
    const flat = await own.client.call(operations.listProjects);
    expect(flat.data.map(({ id }) => id)).toEqual([toOpaque('project', a.id), b.id]);
    const listed = await own.client.call(operations.listOrgProjects, { params });
    expect(listed.map(({ id }) => id)).toEqual([a.id, fromOpaque('project', b.id)]);
    await expect(
      own.client.call(operations.createProject, { body: { name: 'from a' } }),
    ).rejects.toMatchObject({ status: 409, code: 'already_exists' });
    await own.client.call(operations.updateProject, {
      params: { project_id: toOpaque('project', a.id) },
      body: { name: 'Renamed in B' },
    });
    const read = await own.client.call(operations.getOrgProject, {
      params: { ...params, project_id: a.id },
    });
    expect(read.name).toBe('Renamed in B');
  });

  it('have sub-projects, which keep their parent from being deleted', async () => {
    const parent = await create('Parent');
    const sub = await org.client.call(operations.createOrgSubProject, {
      params: at(parent.id),
      body: { name: 'Child' },
    });
    expect(sub.parent_id).toBe(parent.id);
    const listed = await org.client.call(operations.listOrgSubProjects, { params: at(parent.id) });
    expect(listed).toEqual([sub]);
    const top = await org.client.call(operations.listOrgProjects, { params: inOrg() });
    expect(top.map(({ id }) => id)).not.toContain(sub.id);
    await expect(
      org.client.call(operations.createOrgSubProject, { params: at(sub.id), body: { name: 'Grandchild' } }),
    ).rejects.toMatchObject({ status: 409, code: 'conflict' });
    await expect(
      org.client.call(operations.createOrgSubProject, { params: at(parent.id), body: { name: 'CHILD' } }),
    ).rejects.toMatchObject({ status: 409, code: 'already_exists' });
    await expect(
      org.client.call(operations.deleteOrgProject, { params: at(parent.id) }),
    ).rejects.toMatchObject({ status: 409, code: 'cannot_delete' });
    await org.client.call(operations.deleteOrgProject, { params: at(sub.id) });
    await org.client.call(operations.deleteOrgProject, { params: at(parent.id) });
  });

  it('stay while assets remain', async () => {
    const made = await create('Not empty');
    const asset = await org.client.call(assets.operations.addRepository, {
      params: inOrg(),
      body: { name: 'kept', url: `https://git.example.com/${made.id}.git`, project_id: made.id },
    });
    expect(asset.project_id).toBe(made.id);
    await expect(org.client.call(operations.deleteOrgProject, { params: at(made.id) })).rejects.toMatchObject(
      { status: 409, code: 'cannot_delete' },
    );
  });

  it('are listed whole, or by page', async () => {
    const own = await createTestOrganization();
    const params = { org_id: own.orgId };
    const names = Array.from({ length: 23 }, (_, index) => `p${String(index).padStart(2, '0')}`);
    await Promise.all(
      names.map((name) => own.client.call(operations.createOrgProject, { params, body: { name } })),
    );
    const list = async (query: { page?: number; per_page?: number }) =>
      (await own.client.call(operations.listOrgProjects, { params, query })).map(({ name }) => name);
    expect(await list({})).toEqual(names);
    expect(await list({ page: 1 })).toEqual(names.slice(0, 20));
    expect(await list({ page: 2 })).toEqual(names.slice(20));
    expect(await list({ per_page: 5 })).toEqual(names.slice(0, 5));
    expect(await list({ page: 2, per_page: 5 })).toEqual(names.slice(5, 10));
  });

  it('let exactly one of many equal creations through, over both families', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) =>
        index % 2 === 0
          ? create('Contended')
          : org.client.call(operations.createProject, { body: { name: 'contended' } }),
      ),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'already_exists' });
  });

  it('lose their description to nothing, as to null', async () => {
    const own = await createTestOrganization();
    const path = `/api/orgs/${own.orgId}/projects`;
    const made = await request('POST', path, {
      key: own.accessToken,
      body: { name: 'Described', description: '' },
    });
    expect([made.status, made.body.description]).toEqual([200, null]);
    for (const [description, kept] of [
      ['Text', 'Text'],
      ['', null],
    ]) {
      const answer = await request('PATCH', `${path}/${made.body.id}`, {
        key: own.accessToken,
        body: { description },
      });
      expect([answer.status, answer.body.description]).toEqual([200, kept]);
    }
  });

  it('leave an audit entry for each change, with before and after', async () => {
    const own = await createTestOrganization();
    const team = await addTeam(own);
    const params = { org_id: own.orgId };
    const made = await own.client.call(operations.createOrgProject, { params, body: { name: 'Old' } });
    const own_project = { ...params, project_id: made.id };
    await own.client.call(operations.updateOrgProject, {
      params: own_project,
      body: { name: 'New', team_id: team },
    });
    await own.client.call(operations.deleteOrgProject, { params: own_project });
    const [deleted, updated, created] = await audited(own.orgId);
    const target = { type: 'project', id: made.id };
    expect(created).toMatchObject({ action: 'project.create', target, changes: { name: { after: 'Old' } } });
    expect(updated).toMatchObject({
      action: 'project.update',
      target,
      changes: { name: { before: 'Old', after: 'New' }, team_id: { before: null, after: team } },
      actor: { type: 'user', id: own.admin.userId },
    });
    expect(deleted).toMatchObject({ action: 'project.delete', target });
  });
});

describe('identifiers in upper case', () => {
  it('are the same ones, in path, query and body', async () => {
    const own = await createTestOrganization();
    const team = await addTeam(own);
    const send = (method: string, path: string, body?: object) =>
      request(method, `/api/orgs/${own.orgId.toUpperCase()}${path}`, {
        key: own.accessToken,
        ...(body && { body }),
      });
    const made = await send('POST', '/projects', { name: 'Shouted', team_id: team.toUpperCase() });
    expect([made.status, made.body.team_id]).toEqual([200, team]);
    const id = String(made.body.id);
    const read = await send('GET', `/projects/${id.toUpperCase()}`);
    expect([read.status, read.body]).toEqual([200, made.body]);
    const listed = await send('GET', `/projects?team_id=${team.toUpperCase()}`);
    expect(listed.body).toMatchObject([{ id }]);
    const member = await send('POST', `/teams/${team.toUpperCase()}/members`, {
      user_id: own.admin.userId.toUpperCase(),
    });
    expect(member.body).toMatchObject({ team_id: team, user_id: own.admin.userId });
    const again = await send('POST', `/members?user_id=${own.admin.userId.toUpperCase()}`);
    expect([again.status, again.body.error?.code]).toEqual([409, 'already_exists']);
    const asset = await send('POST', '/repositories/add', {
      name: 'shouted',
      url: `https://git.example.com/${id}.git`,
    });
    const linked = await send('POST', `/repositories/${String(asset.body.id).toUpperCase()}/link`, {
      project_id: id.toUpperCase(),
    });
    expect([linked.status, linked.body.project_id]).toEqual([200, id]);
    expect((await send('DELETE', `/projects/${id.toUpperCase()}`)).status).toBe(409);
    expect((await send('POST', `/repositories/${asset.body.id}/unlink`)).status).toBe(200);
    const deleted = await send('DELETE', `/projects/${id.toUpperCase()}`);
    expect(deleted.body).toEqual({ id, deleted: true });
  });
});

describe('the team of a project', () => {
  it('is set, changed, cleared, and what lists are filtered by', async () => {
    const own = await createTestOrganization();
    const params = { org_id: own.orgId };
    const [red, blue] = [await addTeam(own), await addTeam(own)];
    const listed = async (team_id: string) =>
      (await own.client.call(operations.listOrgProjects, { params, query: { team_id } })).map(({ id }) => id);
    const flat = async (team: string) =>
      (
        await own.client.call(operations.listProjects, { query: { team_id: toOpaque('team', team) } })
      ).data.map(({ id }) => id);

    const made = await own.client.call(operations.createOrgProject, {
      params,
      body: { name: 'Owned', team_id: red },
    });
    await own.client.call(operations.createProject, { body: { name: 'Of nobody' } });
    expect(made.team_id).toBe(red);
    expect(await listed(red)).toEqual([made.id]);
    expect(await flat(red)).toEqual([toOpaque('project', made.id)]);
    expect(await listed(blue)).toEqual([]);

    const moved = await own.client.call(operations.updateProject, {
      params: { project_id: toOpaque('project', made.id) },
      body: { team_id: toOpaque('team', blue) },
    });
    expect(moved.team_id).toBe(toOpaque('team', blue));
    expect([await listed(red), await listed(blue)]).toEqual([[], [made.id]]);

    const project = { ...params, project_id: made.id };
    await own.client.call(operations.updateOrgProject, { params: project, body: { name: 'Renamed' } });
    expect(await listed(blue)).toEqual([made.id]);
    const cleared = await own.client.call(operations.updateOrgProject, {
      params: project,
      body: { team_id: null },
    });
    expect(cleared).toMatchObject({ name: 'Renamed', team_id: null });
    expect(await listed(blue)).toEqual([]);
  });

  it('cannot be deleted while projects belong to it', async () => {
    const team = await addTeam(org);
    const [kept, moved] = [await create('Kept by a team', team), await create('Moved to a team')];
    await org.client.call(operations.updateOrgProject, { params: at(moved.id), body: { team_id: team } });
    const deleteTeam = () =>
      org.client.call(organizations.operations.deleteTeam, { params: { ...inOrg(), team_id: team } });
    await expect(deleteTeam()).rejects.toMatchObject({ status: 409, code: 'cannot_delete' });
    await org.client.call(operations.deleteOrgProject, { params: at(kept.id) });
    await expect(deleteTeam()).rejects.toMatchObject({ code: 'cannot_delete' });
    await org.client.call(operations.updateOrgProject, { params: at(moved.id), body: { team_id: null } });
    await deleteTeam();
    await expect(create('Too late', team)).rejects.toMatchObject({ status: 422 });
  });

  it('must be one of the organization: the field’s 422 in A, 404 in B', async () => {
    const other = await createTestOrganization();
    const foreign = await addTeam(other);
    const made = await create('Teamless');
    const paths = [
      ['POST', `/api/orgs/${org.orgId}/projects`],
      ['PATCH', `/api/orgs/${org.orgId}/projects/${made.id}`],
      ['POST', `/api/orgs/${org.orgId}/projects/${made.id}/sub-projects`],
    ] as const;
    for (const team_id of [foreign, randomUUID()]) {
      for (const [method, path] of paths) {
        const answer = await request(method, path, { key: org.accessToken, body: { name: 'x', team_id } });
        expect([answer.status, answer.body.detail]).toEqual([
          422,
          [
            {
              loc: ['body', 'team_id'],
              msg: 'team_id must name a team of the organization',
              type: 'value_error',
            },
          ],
        ]);
      }
      for (const path of ['/api/projects', `/api/projects/${toOpaque('project', made.id)}/sub-projects`]) {
        const answer = await request('POST', path, {
          key: org.accessToken,
          body: { name: 'x', team_id: toOpaque('team', team_id) },
        });
        expect([answer.status, answer.body.error?.code]).toEqual([404, 'not_found']);
        expect(answer.body.error?.details).toMatchObject([{ field: 'team_id' }]);
      }
    }
    expect(await org.client.call(operations.listOrgSubProjects, { params: at(made.id) })).toEqual([]);
  });
});

describe('access to projects of an organization', () => {
  it('needs projects:read to look, and projects:write to change', async () => {
    const made = await create('Guarded');
    const reader = (await org.withKey('projects:read')).client;
    const writer = (await org.withKey('projects:write')).client;
    expect(await reader.call(operations.getOrgProject, { params: at(made.id) })).toEqual(made);
    for (const client of [reader, await org.withRole('Editor')])
      await expect(
        client.call(operations.updateOrgProject, { params: at(made.id), body: { name: 'y' } }),
      ).rejects.toMatchObject({ status: 403, code: 'insufficient_permissions' });
    for (const client of [writer, await org.withRole('Project Admin')])
      await client.call(operations.updateOrgProject, { params: at(made.id), body: { description: 'x' } });
    await expect(connect().call(operations.listOrgProjects, { params: inOrg() })).rejects.toMatchObject({
      status: 401,
      code: 'unauthorized',
    });
  });

  it('hides the projects of another organization', async () => {
    const other = await createTestOrganization();
    const foreign = await other.client.call(operations.createOrgProject, {
      params: { org_id: other.orgId },
      body: { name: 'Foreign' },
    });
    for (const orgId of [org.orgId, other.orgId])
      for (const [method, suffix, body] of [
        ['GET', '', undefined],
        ['PATCH', '', { name: 'Mine' }],
        ['DELETE', '', undefined],
        ['GET', '/sub-projects', undefined],
        ['POST', '/sub-projects', { name: 'Mine' }],
      ] as const) {
        const answer = await request(method, `/api/orgs/${orgId}/projects/${foreign.id}${suffix}`, {
          key: org.accessToken,
          ...(body && { body }),
        });
        expect([answer.status, answer.body.error?.code]).toEqual([404, 'not_found']);
      }
  });

  it.each([
    ['POST', '', { body: {} }, ['body', 'name'], 'name is required'],
    ['POST', '', { body: { name: ' ' } }, ['body', 'name'], 'name must not be empty'],
    ['POST', '', { body: { name: 'x', team_id: 'red' } }, ['body', 'team_id'], 'team_id must be a UUID'],
    ['POST', '', { body: [] }, ['body'], 'body must be a JSON object'],
    ['POST', '', { text: '{"name":' }, ['body'], 'The request body is not valid JSON'],
    ['GET', '?team_id=red', {}, ['query', 'team_id'], 'team_id must be a UUID'],
    ['GET', '?per_page=101', {}, ['query', 'per_page'], 'per_page must be a whole number from 1 to 100'],
    ['GET', '/proj_1', {}, ['path', 'project_id'], 'project_id must be a UUID'],
    ['PATCH', '/nope', { body: { name: 3 } }, ['path', 'project_id'], 'project_id must be a UUID'],
  ])('answers 422 to %s %s %j', async (method, suffix, options, loc, msg) => {
    const answer = await request(method, `/api/orgs/${org.orgId}/projects${suffix}`, {
      key: org.accessToken,
      ...options,
    });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toContainEqual(expect.objectContaining({ loc, msg }));
  });
});
