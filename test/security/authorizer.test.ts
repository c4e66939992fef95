import { SignJWT } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { authorize } from '#functions/authorizer/authorize.ts';
import { createHomes } from '#functions/authorizer/homes.ts';
import { orgOfPath, readCredential } from '#functions/authorizer/identify.ts';
import { createOidcVerifier } from '#shared/security/oidc.ts';
import { createTokens } from '#shared/security/tokens.ts';
import { createCredentialStore } from '#store/credentials.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createRateCounterStore } from '#store/rate-counters.ts';
import { createSessionStore } from '#store/sessions.ts';
import { countedTable } from '#test/harness/counted-table.ts';
import { faultyTable } from '#test/harness/faulty-table.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { testAttribution } from '#test/harness/samples.ts';

const SECRET = 'a secret of sixty-four characters, which no deployment ever uses!';
const NOON = Date.UTC(2027, 5, 1, 12, 0, 10);
const { table, requestsOf } = countedTable();
const clock = { at: NOON, now: () => clock.at };
const credentials = createCredentialStore(table);
const tokens = createTokens(async () => SECRET, clock);
const dependencies = {
  credentials,
  counters: createRateCounterStore(table),
  tokens,
  oidc: createOidcVerifier([], clock),
  homes: createHomes(),
  clock,
  rateFactor: 1,
};

let org: TestOrganization;
let key: string;
const session = { sessionId: '0199c0de-5eed-7000-a000-0000000000bb', userId: '', orgId: '' };

beforeAll(async () => {
  org = await createTestOrganization({ tier: 'free' });
  key = (await org.withKey('projects:read')).key;
  Object.assign(session, { userId: org.admin.userId, orgId: org.orgId });
  const user = await createOrganizationStore(table).getUser(session.userId);
  if (!user) throw new Error('The admin is gone');
  await createSessionStore(table).open(
    { id: session.sessionId, user, orgId: org.orgId, expiresAt: NOON + 3_600_000 },
    [],
    testAttribution(NOON),
  );
});

const ask = async (
  headers: Record<string, string>,
  path = '/api/projects',
  method = 'GET',
  ip = '192.0.2.1',
) => {
  const context = await authorize({ method, path, ip, headers }, dependencies);
  return {
    refusal: context.refusal,
    caller: context.caller ? JSON.parse(context.caller) : null,
    rate: context.rate ? JSON.parse(context.rate) : null,
  };
};
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('who asks', () => {
  it('costs two requests for a key and for a user', async () => {
    await ask({ 'x-api-key': key });
    expect(await requestsOf(() => ask({ 'x-api-key': key }))).toBe(2);
    const token = await tokens.signAccess(session);
    expect(await requestsOf(() => ask(bearer(token)))).toBe(2);
    expect(await requestsOf(() => ask({}))).toBe(1);
  });

  it('is a user with the scopes of the role, in the organization of the path', async () => {
    const token = await tokens.signAccess({ ...session, orgId: null });
    expect((await ask(bearer(token))).caller).toMatchObject({ kind: 'user', orgId: null, scopes: [] });
    const inOrg = await ask(bearer(token), `/api/orgs/${org.orgId}/api-keys`);
    expect(inOrg.caller).toMatchObject({ orgId: org.orgId, role: 'Admin' });
    expect(inOrg.caller.scopes).toContain('admin');
  });

  it('is nobody with a token that is expired, forged, of another kind, or of an ended session', async () => {
    const token = await tokens.signAccess(session);
    clock.at = NOON + 3_600_000;
    expect(await ask(bearer(token))).toMatchObject({ caller: null, refusal: 'token_expired' });
    clock.at = NOON;
    const key64 = new TextEncoder().encode(
      'another secret of sixty-four characters, which is not the right!!',
    );
    const forged = await new SignJWT({ sid: session.sessionId, org: null })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject(session.userId)
      .setIssuer('svc')
      .setAudience('access')
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(key64);
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${token.split('.')[1]}.`;
    const ended = await tokens.signAccess({ ...session, sessionId: '0199c0de-5eed-7000-a000-0000000000cc' });
    for (const wrong of [forged, none, 'x', await tokens.signRefresh(session), ended])
      expect(await ask(bearer(wrong))).toMatchObject({ caller: null, refusal: 'token_invalid' });
  });

  it('is read from the headers in the order of the design', () => {
    const all = { 'x-org-api-key': 'svc_ak_1', 'x-api-key': 'svc_ak_2', authorization: 'Bearer svc_ak_3' };
    expect(readCredential(all, `/api/integrations/orgs/${org.orgId}/scan-all`)?.value).toBe('svc_ak_1');
    expect(readCredential(all, '/api/projects')?.value).toBe('svc_ak_2');
    expect(readCredential({ authorization: all.authorization }, '/api/projects')).toEqual({
      kind: 'api_key',
      value: 'svc_ak_3',
    });
    expect(readCredential({ authorization: 'bearer abc' }, '/api/projects')).toEqual({
      kind: 'token',
      value: 'abc',
    });
    expect(orgOfPath(`/api/integrations/orgs/${org.orgId.toUpperCase()}/scan-all`)).toBe(org.orgId);
    expect(orgOfPath('/api/orgs/')).toBeNull();
  });
});

describe('how often', () => {
  it('lets exactly the tier’s number through, however many come at once', async () => {
    clock.at = NOON + 600_000;
    const fresh = await createTestOrganization({ tier: 'free' });
    const { key: freshKey } = await fresh.withKey('projects:read');
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask({ 'x-api-key': freshKey })));
    const passed = answers.filter(({ rate }) => rate.retryAfter === null);
    expect(passed).toHaveLength(60);
    const refused = answers.find(({ rate }) => rate.retryAfter !== null);
    expect(refused?.rate).toEqual({
      limit: 60,
      remaining: 0,
      reset: Math.floor(clock.at / 60_000) * 60 + 60,
      retryAfter: 50,
    });
    // One pool for all credentials of the organization.
    const { key: second } = await fresh.withKey('projects:read');
    expect((await ask({ 'x-api-key': second })).rate.retryAfter).toBe(50);
    clock.at += 50_000;
    expect((await ask({ 'x-api-key': freshKey })).rate).toMatchObject({ remaining: 59, retryAfter: null });
  });

  it('counts an endpoint on top, and an address where nobody is known', async () => {
    clock.at = NOON + 3 * 3_600_000;
    const fresh = await createTestOrganization({ tier: 'free' });
    const { key: freshKey } = await fresh.withKey('scans:write');
    const post = () => ask({ 'x-api-key': freshKey }, '/api/scans', 'POST');
    const answers = [];
    for (let index = 0; index < 11; index += 1) answers.push(await post());
    expect(answers[0]?.rate).toMatchObject({ limit: 10, remaining: 9 });
    expect(answers.map(({ rate }) => rate.retryAfter !== null)).toEqual([...Array(10).fill(false), true]);
    expect((await ask({ 'x-api-key': freshKey })).rate).toMatchObject({ limit: 60, remaining: 48 });
    expect((await ask({}, '/api/projects', 'GET', '198.51.100.7')).rate).toMatchObject({
      limit: 600,
      remaining: 599,
    });
  });

  it('counts also where the credentials can’t be read', async () => {
    const fault = Object.assign(new Error('down'), { name: 'InternalServerError' });
    const faulty = faultyTable(({ command }) => (command === 'UpdateItemCommand' ? undefined : fault));
    const broken = { ...dependencies, credentials: createCredentialStore(faulty) };
    for (const headers of [
      { 'x-api-key': key },
      { authorization: `Bearer ${await tokens.signAccess(session)}` },
    ]) {
      const request = { method: 'GET', path: '/api/projects', ip: '192.0.2.77', headers };
      const { refusal, rate = '{}' } = await authorize(request, broken);
      expect(refusal).toBe('service_unavailable');
      expect(JSON.parse(rate)).toMatchObject({ limit: 600 });
    }
  });
});
