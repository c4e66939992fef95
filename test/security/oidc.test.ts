import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { authorize } from '#functions/authorizer/authorize.ts';
import { createHomes } from '#functions/authorizer/homes.ts';
import { readConfig } from '#shared/config.ts';
import { createOidcVerifier } from '#shared/security/oidc.ts';
import { createTokens } from '#shared/security/tokens.ts';
import { createCredentialStore } from '#store/credentials.ts';
import { memberKey } from '#store/keys.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createRateCounterStore } from '#store/rate-counters.ts';
import { plant, someEmail } from '#test/harness/accounts.ts';
import { countedTable } from '#test/harness/counted-table.ts';
import { type IdentityProvider, startIdentityProvider } from '#test/harness/identity-provider.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { testAttribution } from '#test/harness/samples.ts';

const AUDIENCE = 'aspm-tests';
const { table, requestsOf } = countedTable();
const clock = { at: Date.now(), now: () => clock.at };
const EXPIRED = { caller: null, refusal: 'token_expired' };
const INVALID = { caller: null, refusal: 'token_invalid' };
const UNAVAILABLE = { caller: null, refusal: 'service_unavailable' };

let provider: IdentityProvider;
let org: TestOrganization;
let email: string;

beforeAll(async () => {
  provider = await startIdentityProvider(AUDIENCE);
  org = await createTestOrganization();
  email = org.admin.email;
});
afterAll(() => provider.stop());

/** An authorizer that has just started: nothing is remembered from the test before. */
function startAuthorizer(options: Parameters<typeof createOidcVerifier>[2] = { cooldownMs: 0 }) {
  const dependencies = {
    credentials: createCredentialStore(table),
    counters: createRateCounterStore(table),
    tokens: createTokens(async () => 'a secret of thirty-two characters', clock),
    oidc: createOidcVerifier([{ issuer: provider.issuer, audience: AUDIENCE }], clock, options),
    homes: createHomes(),
    clock,
    rateFactor: 1000,
  };
  return async (token: string, path = '/api/projects') => {
    const headers = { authorization: `Bearer ${token}` };
    const context = await authorize({ method: 'GET', path, ip: '192.0.2.3', headers }, dependencies);
    return { caller: context.caller ? JSON.parse(context.caller) : null, refusal: context.refusal };
  };
}

let ask: ReturnType<typeof startAuthorizer>;
beforeEach(() => {
  clock.at = Date.now();
  provider.behave('well');
  ask = startAuthorizer();
});

describe('a token of an identity provider', () => {
  it('stands for the user of its verified e-mail, without a session', async () => {
    const token = await provider.token(email.toUpperCase(), clock.at);
    expect((await ask(token)).caller).toEqual({
      kind: 'user',
      id: org.admin.userId,
      name: 'Test user',
      email,
      sessionId: null,
      orgId: org.orgId,
      role: 'Admin',
      scopes: expect.arrayContaining(['admin']),
    });
  });

  it.each(['PS256', 'ES256', 'ES384', 'EdDSA'])('may be signed by %s', async (alg) => {
    await provider.rotate(alg);
    expect((await ask(await provider.token(email, clock.at))).caller?.email).toBe(email);
    await provider.rotate();
  });

  it('works in the organization joined first, or in that of the path, with the role of each', async () => {
    const store = createOrganizationStore(table);
    const [first, second, third] = [org, await createTestOrganization(), await createTestOrganization()];
    const shared = { id: crypto.randomUUID(), email: `${crypto.randomUUID()}@example.com`, name: 'Shared' };
    const record = { ...shared, password_hash: null, created_at: '', last_login_at: null };
    await store.createUser(record, { orgId: second.orgId, role: 'Editor' }, testAttribution(1000));
    const created_at = new Date(2000).toISOString();
    await table.transact([
      {
        Put: {
          Item: {
            ...memberKey(first.orgId, shared.id),
            org_id: first.orgId,
            user_id: shared.id,
            role: 'Viewer',
            created_at,
          },
        },
      },
      { Put: { Item: { pk: `USER#${shared.id}`, sk: `ORG#${first.orgId}`, org_id: first.orgId } } },
    ]);
    const token = await provider.token(shared.email, clock.at);
    expect((await ask(token)).caller).toMatchObject({ orgId: second.orgId, role: 'Editor' });
    const inFirst = await ask(token, `/api/orgs/${first.orgId}/projects`);
    expect(inFirst.caller).toMatchObject({ orgId: first.orgId, role: 'Viewer' });
    const inThird = await ask(token, `/api/orgs/${third.orgId}/projects`);
    expect(inThird.caller).toMatchObject({ orgId: null, role: null, scopes: [] });

    // Removed from the first: what was remembered does not hold, and is looked up anew.
    await table.transact([{ Delete: { Key: memberKey(second.orgId, shared.id) } }]);
    expect((await ask(token)).caller).toMatchObject({ orgId: first.orgId, role: 'Viewer' });
  });

  it('costs few requests: two for a user who was here before', async () => {
    const token = await provider.token(email, clock.at);
    expect(await requestsOf(() => ask(token, `/api/orgs/${org.orgId}/projects`))).toBe(3);
    expect(await requestsOf(() => ask(token))).toBe(3);
    expect(await requestsOf(() => ask(token))).toBe(2);
    expect(await requestsOf(() => ask(token, `/api/orgs/${org.orgId}/projects`))).toBe(2);
    expect(provider.asked.discovery).toBeGreaterThan(0);
    const { discovery, keys } = provider.asked;
    await Promise.all(Array.from({ length: 20 }, () => ask(token)));
    expect(provider.asked).toEqual({ discovery, keys });
  });

  it('costs more once: when its identity is bound', async () => {
    const newcomer = await plant(org, someEmail(), null);
    const token = await provider.token(newcomer.email, clock.at);
    expect(await requestsOf(() => ask(token))).toBe(8);
    expect(await requestsOf(() => ask(token))).toBe(2);
  });

  it('is unauthorized where nobody has its e-mail', async () => {
    const token = await provider.token(`${crypto.randomUUID()}@example.com`, clock.at);
    expect(await ask(token)).toEqual({ caller: null, refusal: 'unauthorized' });
  });
});

describe('is refused', () => {
  it.each([
    ['for another audience', { aud: 'somebody-else' }],
    ['with an e-mail that nobody verified', { email_verified: false }],
    ['with a claim that only looks like true', { email_verified: 'true' }],
    ['without saying whether the e-mail is verified', { email_verified: undefined }],
    ['without an e-mail', { email: undefined }],
    ['without an end', { exp: undefined }],
    ['without a subject', { sub: undefined }],
  ])('%s', async (_, claims) => {
    expect(await ask(await provider.token(email, clock.at, { claims }))).toEqual(INVALID);
  });

  it('of another issuer, configured or not', async () => {
    const elsewhere = await startIdentityProvider(AUDIENCE);
    try {
      expect(await ask(await elsewhere.token(email, clock.at))).toEqual(INVALID);
      // It names ours, but the key is not of ours.
      const claims = { iss: provider.issuer };
      expect(await ask(await elsewhere.token(email, clock.at, { claims }))).toEqual(INVALID);
      expect(elsewhere.asked).toEqual({ discovery: 0, keys: 0 });
    } finally {
      await elsewhere.stop();
    }
  });

  it('signed with HMAC by the public key', async () => {
    const key = await provider.rotate();
    const [, payload = ''] = (await provider.token(email, clock.at)).split('.');
    for (const secret of [key.publicPem, JSON.stringify(key.publicJwk), key.publicJwk.n ?? '']) {
      const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: key.kid })).toString('base64url');
      const signature = createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url');
      expect(await ask(`${header}.${payload}.${signature}`)).toEqual(INVALID);
    }
  });

  it('not signed at all', async () => {
    const [, payload = ''] = (await provider.token(email, clock.at)).split('.');
    for (const alg of ['none', 'None', 'NONE']) {
      const header = Buffer.from(JSON.stringify({ alg })).toString('base64url');
      expect(await ask(`${header}.${payload}.`)).toEqual(INVALID);
    }
  });

  it('changed after it was signed', async () => {
    const [header, payload = '', signature] = (await provider.token('x@example.com', clock.at)).split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const forged = Buffer.from(JSON.stringify({ ...claims, email })).toString('base64url');
    expect(await ask(`${header}.${forged}.${signature}`)).toEqual(INVALID);
  });

  it('before and after its time, but for a minute of skew', async () => {
    const seconds = Math.floor(clock.at / 1000);
    const token = await provider.token(email, clock.at, { claims: { nbf: seconds } });
    clock.at = (seconds + 300 + 59) * 1000;
    expect((await ask(token)).caller?.email).toBe(email);
    clock.at = (seconds + 300 + 61) * 1000;
    expect(await ask(token)).toEqual(EXPIRED);
    clock.at = (seconds - 59) * 1000;
    expect((await ask(token)).caller?.email).toBe(email);
    clock.at = (seconds - 61) * 1000;
    expect(await ask(token)).toEqual(INVALID);
  });
});

describe('the issuer’s keys', () => {
  it('are fetched anew for a key that is not known, and forgotten with the rotation', async () => {
    const before = await provider.rotate();
    expect((await ask(await provider.token(email, clock.at))).caller).not.toBeNull();
    await provider.rotate();
    expect((await ask(await provider.token(email, clock.at))).caller).not.toBeNull();
    expect(await ask(await provider.token(email, clock.at, { key: before }))).toEqual(INVALID);
  });

  it('are not fetched again and again for keys that nobody has', async () => {
    ask = startAuthorizer({});
    const unknown = await provider.makeKey();
    await ask(await provider.token(email, clock.at));
    const { keys } = provider.asked;
    for (let attempt = 0; attempt < 5; attempt += 1)
      expect(await ask(await provider.token(email, clock.at, { key: unknown }))).toEqual(INVALID);
    expect(provider.asked.keys).toBe(keys);
  });

  it('are those of the issuer itself: its document must name it', async () => {
    provider.behave('impostor');
    const { discovery } = provider.asked;
    for (let attempt = 0; attempt < 3; attempt += 1)
      expect(await ask(await provider.token(email, clock.at))).toEqual(INVALID);
    expect(provider.asked.discovery).toBe(discovery + 1);
  });
});

describe('an issuer that does not answer', () => {
  it.each(['broken', 'silent'] as const)(
    'is unavailable while it is %s, and asked again later',
    async (mood) => {
      ask = startAuthorizer({ timeoutMs: 200 });
      provider.behave(mood);
      const token = await provider.token(email, clock.at);
      expect(await ask(token)).toEqual(UNAVAILABLE);
      // It is let alone for a while: nobody waits for it in vain.
      const { discovery } = provider.asked;
      expect(await ask(token)).toEqual(UNAVAILABLE);
      expect(provider.asked.discovery).toBe(discovery);
      provider.behave('well');
      clock.at += 10_000;
      expect((await ask(token)).caller?.email).toBe(email);
      // Keys that are known go on working without it.
      provider.behave(mood);
      expect((await ask(token)).caller?.email).toBe(email);
    },
  );

  it('is unavailable where there is none', async () => {
    const gone = await startIdentityProvider(AUDIENCE);
    await gone.stop();
    const oidc = createOidcVerifier([{ issuer: gone.issuer, audience: AUDIENCE }], clock);
    const token = await gone.token(email, clock.at);
    expect(oidc.claims(token)).toBe(true);
    await expect(oidc.verify(token)).rejects.toMatchObject({ code: 'service_unavailable' });
  });
});

describe('the setting', () => {
  const read = (value?: string) =>
    readConfig(['ASPM_OIDC_ISSUERS'], value === undefined ? {} : { ASPM_OIDC_ISSUERS: value })
      .ASPM_OIDC_ISSUERS;

  it('is a list of issuers with their audiences, empty by default', () => {
    expect(read()).toEqual([]);
    const one = { issuer: 'https://id.example.com', audience: 'aspm' };
    expect(read(JSON.stringify([one]))).toEqual([one]);
    expect(read('[{"issuer":"http://127.0.0.1:8080","audience":"a"}]')).toHaveLength(1);
    const bound = { ...one, organizations: ['default'], email_domains: ['corp.example.com'] };
    expect(read(JSON.stringify([bound]))).toEqual([bound]);
  });

  it.each([
    'x',
    '{}',
    '[{"issuer":"https://id.example.com"}]',
    '[{"issuer":"http://id.example.com","audience":"a"}]',
    '[{"issuer":"http://localhost.example.com","audience":"a"}]',
    '[{"issuer":"id.example.com","audience":"a"}]',
    '[{"issuer":"https://id.example.com","audience":"a"},{"issuer":"https://id.example.com","audience":"b"}]',
    '[{"issuer":"https://id.example.com","audience":"a","organizations":[]}]',
    '[{"issuer":"https://id.example.com","audience":"a","email_domains":[]}]',
    '[{"issuer":"https://id.example.com","audience":"a","email_domains":["Example.com"]}]',
    '[{"issuer":"https://id.example.com","audience":"a","email_domains":["@example.com"]}]',
  ])('is refused as %s', (value) => {
    expect(() => read(value)).toThrow('ASPM_OIDC_ISSUERS');
  });
});
