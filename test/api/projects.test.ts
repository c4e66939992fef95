import { beforeAll, describe, expect, inject, it } from 'vitest';
import { assets } from '#contract/operations/assets.ts';
import { projects } from '#contract/operations/projects.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const create = (name: string, description?: string) =>
  org.client.call(projects.operations.createProject, { body: { name, ...(description && { description }) } });
const addAsset = async (name: string) => {
  const made = await org.client.call(assets.operations.addRepository, {
    params: { org_id: org.orgId },
    body: { name, url: `https://git.example.com/${org.orgId}/${name}.git` },
  });
  return toOpaque('asset', made.id);
};

/** A body of so many levels, with a name of its own. */
function nested(levels: number): string {
  const inside = levels - 1;
  return `{"name":"nested ${levels}","deep":${'['.repeat(inside)}${']'.repeat(inside)}}`;
}

describe('projects', () => {
  it('are created, read, changed and deleted', async () => {
    const made = await create('Payments', 'Everything about money');
    expect(made.id).toMatch(/^proj_[0-9a-f]{32}$/);
    const params = { project_id: made.id };
    expect(await org.client.call(projects.operations.getProject, { params })).toEqual(made);
    const renamed = await org.client.call(projects.operations.updateProject, {
      params,
      body: { name: 'Billing', description: null },
    });
    expect(renamed).toMatchObject({
      id: made.id,
      name: 'Billing',
      description: null,
      asset_count: 0,
      finding_count: 0,
    });
    const described = await org.client.call(projects.operations.updateProject, {
      params,
      body: { description: 'Again' },
    });
    expect(described.description).toBe('Again');
    for (const blank of ['', '  ']) {
      const cleared = await org.client.call(projects.operations.updateProject, {
        params,
        body: { description: blank },
      });
      expect(cleared.description).toBeNull();
    }
    // The old name is free again.
    await create('Payments');
    expect(await org.client.call(projects.operations.deleteProject, { params })).toEqual({
      id: made.id,
      deleted: true,
    });
    await expect(org.client.call(projects.operations.getProject, { params })).rejects.toMatchObject({
      status: 404,
      code: 'not_found',
    });
  });

  it('have names that are unique within their parent, in any case', async () => {
    const made = await create('Unique');
    await expect(create('unique ')).rejects.toMatchObject({ status: 409, code: 'already_exists' });
    const params = { project_id: made.id };
    const sub = await org.client.call(projects.operations.createSubProject, {
      params,
      body: { name: 'Unique' },
    });
    expect(sub.parent_id).toBe(made.id);
    await expect(
      org.client.call(projects.operations.createSubProject, { params, body: { name: 'UNIQUE' } }),
    ).rejects.toMatchObject({ code: 'already_exists' });
    const cased = await org.client.call(projects.operations.updateProject, {
      params,
      body: { name: 'UNIQUE' },
    });
    expect(cased.name).toBe('UNIQUE');
  });

  it('let exactly one of many equal creations through', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => create('Contended')));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('have one level of sub-projects, which keep their parent from being deleted', async () => {
    const parent = await create('Parent');
    const params = { project_id: parent.id };
    const sub = await org.client.call(projects.operations.createSubProject, {
      params,
      body: { name: 'Child' },
    });
    const listed = await org.client.call(projects.operations.listSubProjects, { params });
    expect(listed.data.map(({ id }) => id)).toEqual([sub.id]);
    const top = await org.client.call(projects.operations.listProjects, { query: { per_page: 100 } });
    expect(top.data.map(({ id }) => id)).not.toContain(sub.id);
    await expect(
      org.client.call(projects.operations.createSubProject, {
        params: { project_id: sub.id },
        body: { name: 'Grandchild' },
      }),
    ).rejects.toMatchObject({ code: 'conflict' });
    await expect(org.client.call(projects.operations.deleteProject, { params })).rejects.toMatchObject({
      status: 409,
      code: 'cannot_delete',
    });
    await org.client.call(projects.operations.deleteProject, { params: { project_id: sub.id } });
    await org.client.call(projects.operations.deleteProject, { params });
  });

  it('are listed by page, sorted, with the exact total', async () => {
    const own = await createTestOrganization();
    for (const name of ['beta', 'Alpha', 'gamma'])
      await own.client.call(projects.operations.createProject, { body: { name } });
    const list = (query: { page?: number; per_page?: number; sort?: 'name' | '-name' | '-created_at' }) =>
      own.client.call(projects.operations.listProjects, { query });
    expect((await list({})).data.map(({ name }) => name)).toEqual(['Alpha', 'beta', 'gamma']);
    expect((await list({ sort: '-name' })).data.map(({ name }) => name)).toEqual(['gamma', 'beta', 'Alpha']);
    expect((await list({ sort: '-created_at' })).data.map(({ name }) => name)).toEqual([
      'gamma',
      'Alpha',
      'beta',
    ]);
    expect(await list({ page: 2, per_page: 2 })).toMatchObject({
      data: [{ name: 'gamma' }],
      pagination: { page: 2, per_page: 2, total: 3 },
    });
    expect((await list({ page: 9 })).data).toEqual([]);
  });
});

describe('assets of projects', () => {
  it('are assigned, counted, moved, and keep their project from being deleted', async () => {
    const [first, second] = [await create('First home'), await create('Second home')];
    const sub = await org.client.call(projects.operations.createSubProject, {
      params: { project_id: second.id },
      body: { name: 'Corner' },
    });
    const assetId = await addAsset('movable');
    const assign = (project_id: string) =>
      org.client.call(projects.operations.assignProjectAssets, {
        params: { project_id },
        body: { asset_ids: [assetId, assetId] },
      });
    const count = async (project_id: string) =>
      (await org.client.call(projects.operations.getProject, { params: { project_id } })).asset_count;

    expect((await assign(first.id)).data).toMatchObject([
      { id: assetId, project_id: first.id, sub_project_id: null },
    ]);
    await assign(first.id);
    expect(await count(first.id)).toBe(1);
    await expect(
      org.client.call(projects.operations.deleteProject, { params: { project_id: first.id } }),
    ).rejects.toMatchObject({ code: 'cannot_delete' });

    expect((await assign(sub.id)).data).toMatchObject([{ project_id: second.id, sub_project_id: sub.id }]);
    expect([await count(first.id), await count(second.id), await count(sub.id)]).toEqual([0, 1, 1]);
    for (const project_id of [second.id, sub.id]) {
      const listed = await org.client.call(projects.operations.listProjectAssets, { params: { project_id } });
      expect(listed.data.map(({ id }) => id)).toEqual([assetId]);
    }
  });

  it('are assigned all or none where one is unknown', async () => {
    const project = await create('Careful');
    const known = await addAsset('known');
    const unknown = toOpaque('asset', org.orgId);
    const params = { project_id: project.id };
    await expect(
      org.client.call(projects.operations.assignProjectAssets, {
        params,
        body: { asset_ids: [known, unknown] },
      }),
    ).rejects.toMatchObject({ status: 404 });
    expect((await org.client.call(projects.operations.listProjectAssets, { params })).data).toEqual([]);
  });
});

describe('bad input', () => {
  it('refuses half a surrogate pair, which no store takes', async () => {
    const half = '{"name":"\\ud800"}';
    const B = await request('POST', '/api/projects', { key: org.accessToken, text: half });
    expect([B.status, B.body.error?.code]).toEqual([400, 'validation_error']);
    const A = await request('POST', `/api/orgs/${org.orgId}/projects`, { key: org.accessToken, text: half });
    expect(A.status).toBe(422);
    const login = await request('POST', '/api/auth/login', { text: '{"email":"\\ud800@x","password":"x"}' });
    expect(login.status).toBe(400);
  });

  it.each([
    ['POST', '/api/projects', { body: {} }, 400, 'missing_field'],
    ['POST', '/api/projects', { body: { name: '' } }, 400, 'validation_error'],
    ['POST', '/api/projects', { body: { name: 'x'.repeat(201) } }, 400, 'validation_error'],
    ['POST', '/api/projects', { body: { name: 'a\u0000b' } }, 400, 'validation_error'],
    ['POST', '/api/projects', { body: [] }, 400, 'validation_error'],
    ['POST', '/api/projects', { text: '{"name":' }, 400, 'invalid_json'],
    [
      'POST',
      '/api/projects',
      { text: '{"name":"x"}', headers: { 'content-type': 'text/plain' } },
      400,
      'invalid_json',
    ],
    ['POST', '/api/projects', {}, 400, 'invalid_json'],
    ['POST', '/api/projects', { text: `{"name":"${'x'.repeat(1_100_000)}"}` }, 413, 'payload_too_large'],
    ['GET', '/api/projects?per_page=101', {}, 400, 'invalid_parameter'],
    ['GET', '/api/projects?page=0', {}, 400, 'invalid_parameter'],
    ['GET', '/api/projects?sort=size', {}, 400, 'invalid_parameter'],
    ['GET', '/api/projects/proj_1', {}, 404, 'not_found'],
    ['GET', `/api/projects/proj_${'0'.repeat(32)}`, {}, 404, 'not_found'],
    ['GET', `/api/projects/asset_${'0'.repeat(32)}`, {}, 404, 'not_found'],
    ['PUT', '/api/projects', { body: {} }, 405, 'method_not_allowed'],
    ['GET', '/api/projects/', {}, 404, 'not_found'],
    ['GET', '/api/nothing', {}, 404, 'not_found'],
  ])('%s %s %j answers %i %s', async (method, path, options, status, code) => {
    const answer = await request(method, path, { key: org.accessToken, ...options });
    expect([answer.status, answer.body.error?.code]).toEqual([status, code]);
  });

  it.each([
    ['The request body is not valid JSON', '{"name":'],
    ['The request has no body: send a JSON object', ''],
    ['The request body has a member that is not allowed: __proto__', '{"name":"x","__proto__":{"a":1}}'],
    [
      'The request body has a member that is not allowed: prototype within constructor',
      '{"name":"x","a":{"constructor":{"prototype":{}}}}',
    ],
    ['The request body is nested more than 100 levels deep', nested(101)],
    ['The request body is nested more than 100 levels deep', nested(400_000)],
  ])('%s', async (message, text) => {
    const B = await request('POST', '/api/projects', { key: org.accessToken, text });
    expect([B.status, B.body.error]).toMatchObject([400, { code: 'invalid_json', message }]);
    const path = `/api/orgs/${org.orgId}/projects`;
    const A = await request('POST', path, { key: org.accessToken, text });
    expect([A.status, A.body.detail]).toEqual([422, [{ loc: ['body'], msg: message, type: 'json_invalid' }]]);
  });

  it('takes what is nested as deep as is allowed', async () => {
    const answer = await request('POST', '/api/projects', { key: org.accessToken, text: nested(100) });
    expect(answer.status).toBe(201);
  });

  it('refuses bytes that are no UTF-8, whether the gateway passes them on as they are or as text', async () => {
    const send = async (type: string, ...bytes: number[]) => {
      const body = Buffer.concat([Buffer.from('{"name":"bytes '), Buffer.from(bytes), Buffer.from('"}')]);
      const response = await fetch(`${inject('service').url}/api/projects`, {
        method: 'POST',
        headers: { 'content-type': type, authorization: `Bearer ${org.accessToken}` },
        body,
      });
      return [response.status, await response.json()];
    };
    const refusal = [
      400,
      { error: { code: 'invalid_json', message: 'The request body is not valid UTF-8' } },
    ];
    expect(await send('application/json', 0xff)).toEqual(refusal);
    expect(await send('application/vnd.example+json', 0xff)).toEqual(refusal);
    // Half of a character, of which the replacement is as long: told only where the bytes arrive.
    expect(await send('application/vnd.example+json', 0xf0, 0x9f, 0x98)).toEqual(refusal);
    // The replacement character itself is a character like any other.
    for (const [type, letter] of [
      ['application/json', 0x61],
      ['application/vnd.example+json', 0x62],
    ] as const)
      expect(await send(type, 0xef, 0xbf, 0xbd, letter)).toMatchObject([201, {}]);
  });

  it('names every wrong field by its path', async () => {
    const project = await create('Details');
    const answer = await request('POST', `/api/projects/${project.id}/assets`, {
      key: org.accessToken,
      body: { asset_ids: ['nope', 3] },
    });
    expect(answer.body.error?.details).toEqual([
      { field: 'asset_ids.0', message: 'asset_ids.0 must be an identifier of the shape asset_<id>' },
      { field: 'asset_ids.1', message: 'asset_ids.1 must be a string' },
    ]);
    expect(fromOpaque('project', project.id)).not.toBeNull();
  });
});
