import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { auth } from '#contract/operations/auth.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { sessionKey } from '#store/keys.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { request } from '#test/harness/http.ts';
import {
  connect,
  createTestOrganization,
  join,
  type TestOrganization,
  testTable,
} from '#test/harness/organization.ts';

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const login = (body: unknown) => request('POST', '/api/auth/login', { body });

describe('login', () => {
  it('answers a token pair that works', async () => {
    const pair = await connect().call(auth.operations.login, { body: org.admin });
    expect(pair).toMatchObject({ expires_in: 3600, token_type: 'Bearer' });
    const access = decodeJwt(pair.access_token);
    expect((access.exp ?? 0) - (access.iat ?? 0)).toBe(3600);
    const refresh = decodeJwt(pair.refresh_token);
    expect((refresh.exp ?? 0) - (refresh.iat ?? 0)).toBe(7 * 24 * 3600);
    const me = await connect(pair.access_token).call(auth.operations.getCurrentUser);
    expect(me).toMatchObject({ type: 'user', email: org.admin.email, org_id: org.orgId, role: 'Admin' });
    expect(me.last_login_at).not.toBeNull();
  });

  it('refuses a wrong password and an unknown e-mail alike', async () => {
    const wrong = await login({ email: org.admin.email, password: 'nope' });
    const unknown = await login({ email: 'nobody@example.com', password: 'nope' });
    expect(wrong.status).toBe(401);
    expect(wrong.body).toEqual(unknown.body);
    expect(wrong.body.error?.code).toBe('unauthorized');
  });

  it('reads the e-mail in any case, and signs in to another organization only as a member', async () => {
    const other = await createTestOrganization();
    const upper = await login({ email: org.admin.email.toUpperCase(), password: org.admin.password });
    expect(upper.status).toBe(200);
    const foreign = await login({ ...org.admin, org_id: other.orgId });
    expect([foreign.status, foreign.body.error?.code]).toEqual([404, 'not_found']);
    for (const org_id of [org.orgId, org.orgId.toUpperCase(), toOpaque('organization', org.orgId)]) {
      const own = await login({ ...org.admin, org_id });
      expect(own.status).toBe(200);
      const { refresh_token } = own.body;
      const renewed = await request('POST', '/api/auth/refresh', { body: { refresh_token, org_id } });
      const me = await request('GET', '/api/auth/me', { key: String(renewed.body.access_token) });
      expect(me.body.org_id).toBe(org.orgId);
    }
  });

  it.each([
    [{}, 'missing_field'],
    [{ email: 'a@example.com' }, 'missing_field'],
    [{ email: 3, password: 'x' }, 'validation_error'],
    [{ email: 'a@example.com', password: '' }, 'validation_error'],
  ])('refuses %j with %s', async (body, code) => {
    const answer = await login(body);
    expect([answer.status, answer.body.error?.code]).toEqual([400, code]);
  });
});

describe('refresh and logout', () => {
  it('answers the same refresh token beside a new access token', async () => {
    const pair = await connect().call(auth.operations.login, { body: org.admin });
    const renewed = await connect().call(auth.operations.refresh, {
      body: { refresh_token: pair.refresh_token },
    });
    expect(renewed.refresh_token).toBe(pair.refresh_token);
    const me = await connect(renewed.access_token).call(auth.operations.getCurrentUser);
    expect(me.email).toBe(org.admin.email);
  });

  it('ends the session with its access token alone, or with the refresh token', async () => {
    for (const withToken of [false, true]) {
      const pair = await connect().call(auth.operations.login, { body: org.admin });
      const body = withToken ? { refresh_token: pair.refresh_token } : undefined;
      const out = await request('POST', '/api/auth/logout', { key: pair.access_token, body });
      expect(out.status).toBe(200);
      const again = await request('POST', '/api/auth/refresh', {
        body: { refresh_token: pair.refresh_token },
      });
      expect([again.status, again.body.error?.code]).toEqual([401, 'token_invalid']);
      const me = await request('GET', '/api/auth/me', { key: pair.access_token });
      expect([me.status, me.body.error?.code]).toEqual([401, 'token_invalid']);
    }
  });

  it('accepts neither an access token for refresh, nor a refresh token as a credential', async () => {
    const pair = await connect().call(auth.operations.login, { body: org.admin });
    const refresh = await request('POST', '/api/auth/refresh', {
      body: { refresh_token: pair.access_token },
    });
    expect([refresh.status, refresh.body.error?.code]).toEqual([401, 'token_invalid']);
    const me = await request('GET', '/api/auth/me', { key: pair.refresh_token });
    expect([me.status, me.body.error?.code]).toEqual([401, 'token_invalid']);
  });
});

describe('a session over several organizations', () => {
  const refuse = [401, 'token_invalid'];
  const use = async (key: string, path = '/api/projects') => {
    const answer = await request('GET', path, { key });
    return [answer.status, answer.body.error?.code];
  };
  const refresh = async (refresh_token: string, org_id?: string) => {
    const answer = await request('POST', '/api/auth/refresh', {
      body: { refresh_token, ...(org_id && { org_id }) },
    });
    return { token: String(answer.body.access_token), outcome: [answer.status, answer.body.error?.code] };
  };
  const leave = (own: TestOrganization, member_user_id: string) =>
    own.client.call(organizations.operations.removeMember, {
      params: { org_id: own.orgId, member_user_id },
    });

  it('goes on in the others when its user is removed from the one that it was opened in', async () => {
    const [x, y, home] = [
      await createTestOrganization(),
      await createTestOrganization(),
      await createTestOrganization(),
    ];
    const { userId } = home.admin;
    for (const own of [x, y]) await join(own, { userId, client: home.client }, 'Viewer');
    const inX = await connect().call(auth.operations.login, { body: { ...home.admin, org_id: x.orgId } });
    const inY = await refresh(inX.refresh_token, y.orgId);
    expect(await use(inY.token)).toEqual([200, undefined]);

    await leave(x, userId);
    expect(await use(inY.token)).toEqual([200, undefined]);
    expect(await use(inX.access_token)).toEqual(refuse);
    expect(await use(inX.access_token, '/api/auth/me')).toEqual(refuse);
    // The refresh token serves no more in X, and for what is not X it does.
    expect((await refresh(inX.refresh_token)).outcome).toEqual(refuse);
    expect((await refresh(inX.refresh_token, x.orgId)).outcome).toEqual([404, 'not_found']);
    const again = await refresh(inX.refresh_token, y.orgId);
    expect(await use(again.token)).toEqual([200, undefined]);

    await leave(y, userId);
    for (const { token } of [inY, again]) expect(await use(token)).toEqual(refuse);
    const inHome = await refresh(inX.refresh_token, home.orgId);
    expect(await use(inHome.token)).toEqual([200, undefined]);
  });

  it('ends with the last of them', async () => {
    const [x, y] = [await createTestOrganization(), await createTestOrganization()];
    const leaver = { email: `${randomUUID()}@example.com`, password: 'ladder copper violin meadow' };
    const { id } = await x.client.call(organizations.operations.createUser, {
      body: { ...leaver, name: 'Leaver' },
    });
    const userId = fromOpaque('user', id ?? '') ?? '';
    // Nobody gets anywhere else with a password that an admin chose.
    const given = await connect().call(auth.operations.login, { body: leaver });
    const own = { email: leaver.email, password: 'marble otter lantern quilt' };
    await connect(given.access_token).call(auth.operations.changePassword, {
      body: { current_password: leaver.password, new_password: own.password },
    });
    const inX = await connect().call(auth.operations.login, { body: { ...own, org_id: x.orgId } });
    await join(y, { userId, client: connect(inX.access_token) });
    const sessions = () =>
      testTable().count({
        KeyConditionExpression: 'pk = :user AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: { ':user': sessionKey(userId, '').pk, ':prefix': 'SESSION#' },
      });
    await leave(x, userId);
    expect(await sessions()).toBe(1);
    await leave(y, userId);
    expect(await sessions()).toBe(0);
    expect((await refresh(inX.refresh_token)).outcome).toEqual(refuse);
  });
});

describe('a change of the password', () => {
  const NEW = 'ladder copper violin meadow';
  const change = (key: string, current_password: string, new_password: string) =>
    request('POST', '/api/auth/password', { key, body: { current_password, new_password } });

  it('ends every session of the user, the calling one included, and no one else’s', async () => {
    const own = await createTestOrganization();
    const member = await own.signInAs('Viewer');
    // More than one transaction can end.
    const pairs = [];
    for (let index = 0; index < 3; index += 1)
      pairs.push(await connect().call(auth.operations.login, { body: own.admin }));
    const user = await createOrganizationStore(testTable()).getUser(own.admin.userId);
    if (!user) throw new Error('The admin is gone');
    await Promise.all(
      Array.from({ length: 120 }, (_, index) =>
        testTable().update({
          Key: sessionKey(user.id, `old-${index}`),
          UpdateExpression: 'SET user_id = :user',
          ExpressionAttributeValues: { ':user': user.id },
        }),
      ),
    );

    const answer = await change(own.accessToken, own.admin.password, NEW);
    expect([answer.status, answer.body]).toEqual([200, { changed: true }]);
    expect(answer.headers.get('x-ratelimit-limit')).toBe('10000');
    for (const token of [own.accessToken, ...pairs.map((pair) => pair.access_token)]) {
      const me = await request('GET', '/api/auth/me', { key: token });
      expect([me.status, me.body.error?.code]).toEqual([401, 'token_invalid']);
    }
    for (const pair of pairs) {
      const again = await request('POST', '/api/auth/refresh', {
        body: { refresh_token: pair.refresh_token },
      });
      expect([again.status, again.body.error?.code]).toEqual([401, 'token_invalid']);
    }
    const left = await testTable().count({
      KeyConditionExpression: 'pk = :user AND begins_with(sk, :prefix)',
      ExpressionAttributeValues: { ':user': sessionKey(user.id, '').pk, ':prefix': 'SESSION#' },
    });
    expect(left).toBe(0);
    expect((await request('GET', '/api/auth/me', { key: member })).status).toBe(200);

    expect((await login(own.admin)).status).toBe(401);
    const signedIn = await login({ email: own.admin.email, password: NEW });
    const me = await request('GET', '/api/auth/me', { key: String(signedIn.body.access_token) });
    expect(me.status).toBe(200);
  });

  it('lets one of two at once through', async () => {
    const own = await createTestOrganization();
    const answers = await Promise.all(
      [NEW, `${NEW} again`].map((password) => change(own.accessToken, own.admin.password, password)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, expect.toBeOneOf([401, 409])]);
  });

  it('names what is wrong with the new password', async () => {
    for (const [password, why] of [
      ['too short', 'new_password must have at least 15 characters'],
      ['x'.repeat(129), 'new_password must have at most 128 characters'],
      ['correct horse battery staple', 'new_password must not be one of the passwords that many people use'],
      [org.admin.email, 'new_password must be more than an e-mail address'],
    ] as const) {
      const answer = await change(org.accessToken, org.admin.password, password);
      expect([answer.status, answer.body.error?.code]).toEqual([400, 'validation_error']);
      expect(answer.body.error?.message).toContain(why);
      expect(answer.body.error?.details).toEqual([
        { field: 'new_password', message: expect.stringContaining(why) },
      ]);
    }
    expect((await login(org.admin)).status).toBe(200);
  });

  it('needs the current password, and a user', async () => {
    const wrong = await change(org.accessToken, 'not the current one', NEW);
    expect([wrong.status, wrong.body.error?.code]).toEqual([401, 'unauthorized']);
    const { key } = await org.withKey('admin');
    const asKey = await change(key, org.admin.password, NEW);
    expect([asKey.status, asKey.body.error?.code]).toEqual([403, 'insufficient_permissions']);
    expect((await request('POST', '/api/auth/password', { body: {} })).status).toBe(401);
  });
});

describe('who am I', () => {
  it('tells a user and a key who they are', async () => {
    const { client } = await org.withKey('findings:read');
    expect(await client.call(auth.operations.getCurrentUser)).toMatchObject({
      type: 'api_key',
      email: null,
      org_id: org.orgId,
      scopes: ['findings:read'],
    });
    const organizations = await client.call(auth.operations.listOwnOrganizations);
    expect(organizations.map(({ id }) => id)).toEqual([org.orgId]);
    expect((await org.client.call(auth.operations.listOwnOrganizations)).map(({ id }) => id)).toEqual([
      org.orgId,
    ]);
  });

  it.each([
    ['no credential', {}, 'unauthorized'],
    ['a token of nobody', { authorization: 'Bearer abc.def.ghi' }, 'token_invalid'],
    ['an unknown key', { 'x-api-key': `svc_ak_${'a'.repeat(16)}_${'b'.repeat(38)}` }, 'unauthorized'],
    ['another scheme', { authorization: 'Basic YTpi' }, 'unauthorized'],
  ])('answers 401 to %s', async (_, headers: Record<string, string>, code) => {
    const answer = await request('GET', '/api/auth/me', { headers });
    expect([answer.status, answer.body.error?.code]).toEqual([401, code]);
  });
});
