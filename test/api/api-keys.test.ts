import { beforeAll, describe, expect, it } from 'vitest';
import { apiKeys } from '#contract/operations/api-keys.ts';
import { projects } from '#contract/operations/projects.ts';
import { apiKeyHandle } from '#shared/security/api-key.ts';
import { keyHandleKey } from '#store/keys.ts';
import { request } from '#test/harness/http.ts';
import {
  connect,
  createTestOrganization,
  type TestOrganization,
  testTable,
} from '#test/harness/organization.ts';

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const params = () => ({ org_id: org.orgId });

describe('API keys', () => {
  it('are shown once, kept as a hash, and used in any of their headers', async () => {
    const made = await org.client.call(apiKeys.operations.createApiKey, {
      params: params(),
      body: { name: 'CI', scopes: ['projects:read', 'projects:read'] },
    });
    expect(made.key).toMatch(/^svc_ak_[0-9A-Za-z]{16}_[0-9A-Za-z]{38}$/);
    expect(made.key.startsWith(`${made.prefix}_`)).toBe(true);
    expect(made.scopes).toEqual(['projects:read']);
    const listed = await org.client.call(apiKeys.operations.listApiKeys, { params: params() });
    expect(listed.map(({ id }) => id)).toContain(made.id);
    const stored = await testTable().get(keyHandleKey(apiKeyHandle(made.key) ?? ''));
    expect(JSON.stringify([listed, stored])).not.toContain(made.key.slice(-38));

    for (const headers of [{ 'x-api-key': made.key }, { authorization: `Bearer ${made.key}` }])
      expect((await request('GET', '/api/projects', { headers })).status).toBe(200);
    // Elsewhere than on machine endpoints it is no credential (design 3).
    expect((await request('GET', '/api/projects', { headers: { 'x-org-api-key': made.key } })).status).toBe(
      401,
    );
    const [used] = (await org.client.call(apiKeys.operations.listApiKeys, { params: params() })).filter(
      ({ id }) => id === made.id,
    );
    expect(used?.last_used_at).not.toBeNull();
  });

  it('are listed whole, or by page, the oldest first', async () => {
    const own = await createTestOrganization();
    const inOwn = { org_id: own.orgId };
    const made = [];
    for (const name of ['one', 'two', 'three'])
      made.push(
        await own.client.call(apiKeys.operations.createApiKey, {
          params: inOwn,
          body: { name, scopes: ['projects:read'] },
        }),
      );
    const list = async (query: { page?: number; per_page?: number }) =>
      (await own.client.call(apiKeys.operations.listApiKeys, { params: inOwn, query })).map(({ id }) => id);
    const ids = made.map(({ id }) => id);
    expect(await list({})).toEqual(ids);
    expect(await list({ per_page: 2 })).toEqual(ids.slice(0, 2));
    expect(await list({ page: 2, per_page: 2 })).toEqual(ids.slice(2));
    for (const query of ['page=0', 'per_page=101', 'per_page=many']) {
      const answer = await request('GET', `/api/orgs/${own.orgId}/api-keys?${query}`, {
        key: own.accessToken,
      });
      expect(answer.status).toBe(422);
    }
  });

  it('are refused from the very next request on when revoked', async () => {
    const { client, keyId, key } = await org.withKey('projects:read');
    await client.call(projects.operations.listProjects);
    const revoked = await org.client.call(apiKeys.operations.revokeApiKey, {
      params: { ...params(), key_id: keyId },
    });
    expect(revoked.revoked_at).not.toBeNull();
    const answer = await request('GET', '/api/projects', { key });
    expect([answer.status, answer.body.error?.code]).toEqual([401, 'api_key_revoked']);
    const again = await org.client.call(apiKeys.operations.revokeApiKey, {
      params: { ...params(), key_id: keyId },
    });
    expect(again).toEqual(revoked);
  });

  it('are refused when expired', async () => {
    const made = await org.client.call(apiKeys.operations.createApiKey, {
      params: params(),
      body: {
        name: 'short',
        scopes: ['projects:read'],
        expires_at: new Date(Date.now() + 1500).toISOString(),
      },
    });
    await expect
      .poll(async () => (await request('GET', '/api/projects', { key: made.key })).body.error?.code, {
        timeout: 5000,
      })
      .toBe('api_key_expired');
  });

  it('have the scopes that they were made with, and no other', async () => {
    const { key } = await org.withKey('projects:read');
    const refused = await request('POST', '/api/projects', { key, body: { name: 'x' } });
    expect([refused.status, refused.body.error?.code]).toEqual([403, 'insufficient_permissions']);
    expect(refused.body.error?.message).toContain('projects:write');
    const { client } = await org.withKey('admin');
    await client.call(projects.operations.createProject, { body: { name: 'by an admin key' } });
  });

  it.each([
    [{ name: 'x', scopes: [] }, 'scopes must contain at least one scope'],
    [{ name: 'x', scopes: ['root'] }, 'must be one of scans:read'],
    [{ scopes: ['admin'] }, 'name is required'],
    [{ name: 'x', scopes: ['admin'], expires_at: '2020-01-01T00:00:00Z' }, 'must be in the future'],
    [{ name: 'x', scopes: ['admin'], expires_at: 'tomorrow' }, 'must be an ISO 8601 time'],
  ])('refuses %j', async (body, message) => {
    const answer = await request('POST', `/api/orgs/${org.orgId}/api-keys`, { key: org.accessToken, body });
    expect(answer.status).toBe(422);
    expect(JSON.stringify(answer.body.detail)).toContain(message);
  });

  it('answers 422 to a malformed id, 404 to an unknown one and to another organization', async () => {
    const other = await createTestOrganization();
    const at = (path: string) => request('DELETE', path, { key: org.accessToken });
    expect((await at(`/api/orgs/${org.orgId}/api-keys/zzz`)).status).toBe(422);
    expect((await at(`/api/orgs/${org.orgId}/api-keys/${other.orgId}`)).status).toBe(404);
    expect((await at(`/api/orgs/${other.orgId}/api-keys/${other.orgId}`)).status).toBe(404);
    expect((await at('/api/orgs/zzz/api-keys/zzz')).status).toBe(422);
    const viewer = connect((await org.withKey('projects:read')).key);
    await expect(viewer.call(apiKeys.operations.listApiKeys, { params: params() })).rejects.toMatchObject({
      status: 403,
    });
  });
});
