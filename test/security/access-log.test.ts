import { beforeAll, describe, expect, it } from 'vitest';
import { apiKeys } from '#contract/operations/api-keys.ts';
import { auth } from '#contract/operations/auth.ts';
import { authorize } from '#functions/authorizer/authorize.ts';
import { createHomes } from '#functions/authorizer/homes.ts';
import { apiKeyHandle } from '#shared/security/api-key.ts';
import { createOidcVerifier } from '#shared/security/oidc.ts';
import { createTokens } from '#shared/security/tokens.ts';
import { createCredentialStore } from '#store/credentials.ts';
import { auditKey, keyHandleKey, memberKey, userOrgKey } from '#store/keys.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createRateCounterStore } from '#store/rate-counters.ts';
import { request } from '#test/harness/http.ts';
import {
  connect,
  createTestOrganization,
  type TestOrganization,
  testTable,
} from '#test/harness/organization.ts';
import { testAttribution } from '#test/harness/samples.ts';

const table = testTable();

/** The audit log of an organization, the oldest entry first; of one action where it is named. */
async function entriesOf(orgId: string, action?: string) {
  const items = await table.queryAll({
    KeyConditionExpression: 'pk = :log',
    ExpressionAttributeValues: { ':log': auditKey(orgId, '').pk },
    ConsistentRead: true,
  });
  return items.filter((item) => action === undefined || item.action === action);
}

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const login = (body: unknown) => request('POST', '/api/auth/login', { body });

describe('signing in and out', () => {
  it('is recorded with the session, in every organization of the user', async () => {
    const second = await createTestOrganization();
    const store = createOrganizationStore(table);
    const shared = { id: crypto.randomUUID(), email: `${crypto.randomUUID()}@example.com` };
    const held = await store.getUser(org.admin.userId);
    if (!held) throw new Error('The admin is gone');
    await store.createUser(
      { ...held, ...shared, name: 'Shared' },
      { orgId: org.orgId, role: 'Viewer' },
      testAttribution(),
    );
    await table.transact([
      {
        Put: {
          Item: {
            ...memberKey(second.orgId, shared.id),
            org_id: second.orgId,
            user_id: shared.id,
            role: 'Viewer',
            created_at: new Date().toISOString(),
          },
        },
      },
      { Put: { Item: { ...userOrgKey(shared.id, second.orgId), org_id: second.orgId } } },
    ]);
    const answer = await login({ email: shared.email, password: org.admin.password });
    expect(answer.status).toBe(200);
    const created = (await entriesOf(org.orgId, 'session.create')).at(-1);
    expect(created).toMatchObject({
      actor: { type: 'user', id: shared.id, name: shared.email },
      target: { type: 'session' },
      request_id: answer.headers.get('x-request-id'),
      ip: '127.0.0.1',
    });
    const elsewhere = (await entriesOf(second.orgId, 'session.create')).at(-1);
    expect(elsewhere).toMatchObject({ target: created?.target, actor: created?.actor });

    await request('POST', '/api/auth/logout', { key: String(answer.body.access_token) });
    const ended = await entriesOf(org.orgId, 'session.end');
    expect(ended).toHaveLength(1);
    expect(ended[0]).toMatchObject({ target: created?.target, actor: created?.actor });
  });

  it('is recorded once where a session is ended twice', async () => {
    const own = await createTestOrganization();
    const first = await connect().call(auth.operations.login, { body: own.admin });
    for (let attempt = 0; attempt < 2; attempt += 1)
      await own.client.call(auth.operations.logout, { body: { refresh_token: first.refresh_token } });
    expect(await entriesOf(own.orgId, 'session.end')).toHaveLength(1);
  });

  it('is recorded where it is refused to a known user, with the reason and without the password', async () => {
    const own = await createTestOrganization();
    const wrong = await login({ email: own.admin.email, password: 'not the right password' });
    expect(wrong.status).toBe(401);
    const foreign = await login({ ...own.admin, org_id: org.orgId });
    expect(foreign.status).toBe(404);
    const refused = await entriesOf(own.orgId, 'session.refused');
    expect(refused.map(({ changes }) => changes)).toEqual([
      { reason: { after: 'wrong_password' } },
      { reason: { after: 'not_a_member' } },
    ]);
    expect(refused[0]).toMatchObject({
      actor: { type: 'user', id: own.admin.userId },
      target: { type: 'user', id: own.admin.userId },
      request_id: wrong.headers.get('x-request-id'),
    });
    expect(JSON.stringify(refused)).not.toContain('not the right password');
    // Nothing of it reaches the organization that was asked for in vain.
    expect(await entriesOf(org.orgId, 'session.refused')).toEqual([]);
  });
});

describe('a key that serves no more', () => {
  const clock = { at: Date.now(), now: () => clock.at };
  const dependencies = {
    credentials: createCredentialStore(table),
    counters: createRateCounterStore(table),
    tokens: createTokens(async () => 'a secret of thirty-two characters', clock),
    oidc: createOidcVerifier([], clock),
    homes: createHomes(),
    clock,
    rateFactor: 1000,
  };
  const use = (key: string) =>
    authorize(
      { method: 'GET', path: '/api/projects', ip: '192.0.2.9', headers: { 'x-api-key': key } },
      dependencies,
    );

  it('is recorded when it is used, once a minute, however often and however many at once', async () => {
    const { key, keyId } = await org.withKey('projects:read');
    await org.client.call(apiKeys.operations.revokeApiKey, { params: { org_id: org.orgId, key_id: keyId } });
    const ofKey = async () =>
      (await entriesOf(org.orgId, 'api_key.refused')).filter(
        (entry) => (entry.target as { id: string }).id === keyId,
      );
    const answers = await Promise.all(Array.from({ length: 20 }, () => use(key)));
    expect(new Set(answers.map(({ refusal }) => refusal))).toEqual(new Set(['api_key_revoked']));
    expect(await ofKey()).toHaveLength(1);
    expect((await ofKey())[0]).toMatchObject({
      actor: { type: 'api_key', id: keyId, name: 'key projects:read' },
      changes: { reason: { after: 'api_key_revoked' } },
      ip: '192.0.2.9',
    });
    clock.at += 59_000;
    await use(key);
    expect(await ofKey()).toHaveLength(1);
    clock.at += 2_000;
    await use(key);
    expect(await ofKey()).toHaveLength(2);
  });

  it('is recorded when it has expired, and not where only its name is known', async () => {
    const own = await createTestOrganization();
    const { key } = await own.withKey('projects:read');
    await table.update({
      Key: keyHandleKey(apiKeyHandle(key) ?? ''),
      UpdateExpression: 'SET expires_at = :then',
      ExpressionAttributeValues: { ':then': new Date(clock.at - 1000).toISOString() },
    });
    expect((await use(key)).refusal).toBe('api_key_expired');
    const refused = await entriesOf(own.orgId, 'api_key.refused');
    expect(refused.map(({ changes }) => changes)).toEqual([{ reason: { after: 'api_key_expired' } }]);
    const { key: other } = await own.withKey('projects:read');
    expect((await use(`${key.slice(0, 23)}${other.slice(23)}`)).refusal).toBe('unauthorized');
    expect(await entriesOf(own.orgId, 'api_key.refused')).toHaveLength(1);
  });
});

describe('a change of the password', () => {
  it('is recorded, and so is one that is refused', async () => {
    const own = await createTestOrganization();
    const change = (body: object) => request('POST', '/api/auth/password', { key: own.accessToken, body });
    const wrong = await change({ current_password: 'no', new_password: 'ladder copper violin meadow' });
    expect([wrong.status, wrong.body.error?.code]).toEqual([401, 'unauthorized']);
    const right = await change({
      current_password: own.admin.password,
      new_password: 'ladder copper violin meadow',
    });
    expect(right.status).toBe(200);
    const entries = (await entriesOf(own.orgId)).slice(-2);
    expect(entries.map(({ action }) => action)).toEqual([
      'user.password_change_refused',
      'user.password_change',
    ]);
    expect(entries[1]).toMatchObject({
      actor: { type: 'user', id: own.admin.userId },
      request_id: right.headers.get('x-request-id'),
      changes: {},
    });
    expect(JSON.stringify(entries)).not.toMatch(/ladder|argon2/);
  });
});
