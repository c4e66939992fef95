import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect } from 'vitest';
import { systemClock } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import { authOperations } from '#functions/auth/operations.ts';
import type { AuthDependencies } from '#functions/auth/sign-in.ts';
import { authorize } from '#functions/authorizer/authorize.ts';
import { createHomes } from '#functions/authorizer/homes.ts';
import type { OrganizationDependencies } from '#functions/organizations/dependencies.ts';
import { organizationOperations } from '#functions/organizations/organization-operations.ts';
import type { UserCaller } from '#http/caller.ts';
import type { OidcIssuer } from '#shared/config.ts';
import { createOidcVerifier } from '#shared/security/oidc.ts';
import { createTokens } from '#shared/security/tokens.ts';
import { createCredentialStore } from '#store/credentials.ts';
import { createInvitationStore } from '#store/invitations.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createRateCounterStore } from '#store/rate-counters.ts';
import { createSessionStore } from '#store/sessions.ts';
import {
  accept,
  inviteEmail,
  OWN,
  openedBy,
  ownAccount,
  PLANTED,
  plant,
  someEmail,
  tokenOf,
} from '#test/harness/accounts.ts';
import { attack } from '#test/harness/attack.ts';
import { type IdentityProvider, startIdentityProvider } from '#test/harness/identity-provider.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';

const AUDIENCE = 'aspm-attacks';
const table = testTable();
const credentials = createCredentialStore(table);
const clock = systemClock;
const stores = {
  organizations: createOrganizationStore(table),
  invitations: createInvitationStore(table),
  sessions: createSessionStore(table),
  counters: createRateCounterStore(table),
  tokens: createTokens(async () => 'a secret of thirty-two characters', clock),
  credentials,
  clock,
  ids: createIds(clock),
  rateFactor: 1000,
} satisfies AuthDependencies;

/** The provider of organization b, another that is configured too, and two organizations. */
let provider: IdentityProvider;
let other: IdentityProvider;
let a: TestOrganization;
let b: TestOrganization;
beforeAll(async () => {
  [provider, other] = await Promise.all([startIdentityProvider(AUDIENCE), startIdentityProvider(AUDIENCE)]);
});
afterAll(() => Promise.all([provider?.stop(), other?.stop()]));
beforeEach(async () => {
  provider.behave('well');
  provider.keepKeysAt(null);
  [a, b] = await Promise.all([createTestOrganization(), createTestOrganization()]);
});

type Bounds = Omit<Partial<OidcIssuer>, 'issuer' | 'audience'>;

/** An authorizer that has just started, with both providers; the first one has these bounds. */
function startAuthorizer(bounds: Bounds = {}) {
  const configured = [
    { issuer: provider.issuer, audience: AUDIENCE, ...bounds },
    { issuer: other.issuer, audience: AUDIENCE },
  ];
  const oidc = createOidcVerifier(configured, clock, { cooldownMs: 0, timeoutMs: 500 });
  const dependencies = { ...stores, oidc, homes: createHomes() };
  return async (token: string, path = '/api/projects') => {
    const headers = { authorization: `Bearer ${token}` };
    const context = await authorize({ method: 'GET', path, ip: '192.0.2.9', headers }, dependencies);
    const caller = context.caller ? (JSON.parse(context.caller) as UserCaller) : null;
    return { caller, refusal: context.refusal };
  };
}

const tokenFor = (email: string, claims: object = {}, from = provider) =>
  from.token(email, clock.now(), { claims: { ...claims } });
const UNAUTHORIZED = { caller: null, refusal: 'unauthorized' };
const input = (caller: UserCaller) => ({
  caller,
  requestId: 'req_attack',
  ip: '192.0.2.9',
  idempotencyKey: null,
  showRate: () => {},
  params: undefined,
  upload: undefined,
});

describe('an identity', () => {
  attack(
    'identity providers',
    'got through',
    'is its subject: another one with the e-mail is nobody',
    async () => {
      const ask = startAuthorizer();
      const { email, userId } = b.admin;
      expect((await ask(await tokenFor(email))).caller?.id).toBe(userId);
      // An address that somebody else was given later on.
      const heir = await tokenFor(email, { sub: 'the next owner of the address' });
      expect(await ask(heir)).toEqual(UNAUTHORIZED);
      expect(await startAuthorizer()(heir)).toEqual(UNAUTHORIZED);
    },
  );

  attack(
    'identity providers',
    'got through',
    'stays its user, whatever e-mail its provider tells',
    async () => {
      const ask = startAuthorizer();
      await ask(await tokenFor(b.admin.email, { sub: b.admin.userId }));
      const renamed = await tokenFor(a.admin.email, { sub: b.admin.userId });
      for (const authorizer of [ask, startAuthorizer()])
        expect((await authorizer(renamed)).caller).toMatchObject({ id: b.admin.userId, orgId: b.orgId });
    },
  );

  attack(
    'identity providers',
    'got through',
    'is of one provider: another’s word is not enough',
    async () => {
      const ask = startAuthorizer();
      await ask(await tokenFor(b.admin.email, { sub: 'the same subject' }));
      for (const sub of ['the same subject', 'another one'])
        expect(await ask(await tokenFor(b.admin.email, { sub }, other))).toEqual(UNAUTHORIZED);
    },
  );

  attack('identity providers', 'got through', 'is bound once, however many come first at once', async () => {
    const subjects = Array.from({ length: 6 }, () => randomUUID());
    const tokens = await Promise.all(subjects.map((sub) => tokenFor(b.admin.email, { sub })));
    const answers = await Promise.all(tokens.map((token) => startAuthorizer()(token)));
    expect(answers.filter(({ caller }) => caller !== null)).toHaveLength(1);
    const same = await Promise.all(
      Array.from({ length: 6 }, async () => startAuthorizer()(await tokenFor(a.admin.email))),
    );
    expect(new Set(same.map(({ caller }) => caller?.id))).toEqual(new Set([a.admin.userId]));
  });

  attack(
    'identity providers',
    'got through',
    'is not found by letters that only look like the e-mail’s',
    async () => {
      const email = `kay-${randomUUID()}@corp.example.com`;
      await plant(b, email);
      const ask = startAuthorizer();
      for (const alike of [
        email.replace('k', '\u212A'),
        email.replace('a', '\u0430'),
        `${email}\u0000`,
        `${email} `,
        `${email}.`,
        `x@evil.example.com,${email}`,
      ]) {
        const token = await tokenFor(alike, { sub: 'alike' });
        expect([alike, (await ask(token)).refusal]).toEqual([
          alike,
          expect.stringMatching(/^(?:token_invalid|unauthorized)$/),
        ]);
      }
    },
  );
});

describe('a provider with bounds', () => {
  attack('identity providers', 'got through', 'speaks in its organizations alone', async () => {
    const { email, userId } = await ownAccount(a);
    for (const named of [b.orgId, b.orgId.toUpperCase(), `test-${b.orgId}`]) {
      const ask = startAuthorizer({ organizations: [named] });
      // A member elsewhere, and asked there.
      const admin = await tokenFor(b.admin.email);
      expect((await ask(admin)).caller).toMatchObject({ orgId: b.orgId, reach: [b.orgId] });
      expect((await ask(admin, `/api/orgs/${a.orgId}/projects`)).caller?.orgId ?? null).toBeNull();
      for (const path of ['/api/projects', `/api/orgs/${a.orgId}/projects`])
        expect(await ask(await tokenFor(email), path)).toEqual(UNAUTHORIZED);
    }
    expect((await stores.organizations.getUser(userId))?.identity).toBeUndefined();
  });

  attack(
    'identity providers',
    'got through',
    'does not reach the others of a user who is in its own',
    async () => {
      const { email, key } = await ownAccount(a);
      await accept(key, tokenOf(await inviteEmail(b, email, 'Viewer')));
      const ask = startAuthorizer({ organizations: [b.orgId] });
      const { caller } = await ask(await tokenFor(email));
      if (!caller) throw new Error('Nobody was signed in');
      expect(caller.orgId).toBe(b.orgId);
      expect((await ask(await tokenFor(email), `/api/orgs/${a.orgId}`)).caller?.orgId).toBeNull();
      const query = { page: undefined, per_page: undefined };
      const listed = await authOperations.listOwnOrganizations(
        { ...input(caller), query, body: undefined },
        stores,
      );
      expect(listed.map(({ id }) => id)).toEqual([b.orgId]);
    },
  );

  attack('identity providers', 'got through', 'speaks for e-mails of its domains alone', async () => {
    const ask = startAuthorizer({ email_domains: ['corp.example.com'] });
    const outside = `${randomUUID()}@corp.example.com.evil.example.org`;
    const inside = someEmail();
    for (const email of [outside, inside, `${randomUUID()}@notcorp.example.com`]) {
      await plant(b, email, null);
      const { caller } = await ask(await tokenFor(email.toUpperCase()));
      expect([email, caller?.email]).toEqual([email, email === inside ? inside : undefined]);
    }
    // Nor for a user of another domain by a subject that was bound when it had no bounds.
    await startAuthorizer()(await tokenFor(b.admin.email));
    expect(await ask(await tokenFor(someEmail(), { sub: `subject of ${b.admin.email}` }))).toEqual(
      UNAUTHORIZED,
    );
  });

  attack(
    'identity providers',
    'got through',
    'has its users make and accept nothing beyond them',
    async () => {
      const { email } = await plant(b, someEmail(), null);
      const { caller } = await startAuthorizer({ organizations: [b.orgId] })(await tokenFor(email));
      if (!caller) throw new Error('Nobody was signed in');
      const token = tokenOf(await inviteEmail(a, email));
      await expect(
        authOperations.acceptInvitation({ ...input(caller), query: undefined, body: { token } }, stores),
      ).rejects.toMatchObject({ code: 'insufficient_permissions' });
      const creation = { by: 'anyone', most: 10 } as const;
      const dependencies = {
        ...stores,
        creation,
        defaultTier: 'free',
      } as unknown as OrganizationDependencies;
      await expect(
        organizationOperations.createOrganization(
          { ...input(caller), query: undefined, body: { name: 'Beyond', slug: null } },
          dependencies,
        ),
      ).rejects.toMatchObject({ code: 'insufficient_permissions' });
    },
  );
});

describe('who planted an account', () => {
  attack(
    'identity providers',
    'got through',
    'loses the password with its owner’s first sign-in',
    async () => {
      const { email } = await plant(a, someEmail());
      expect(await openedBy(email, PLANTED, [a])).toEqual([a.orgId]);
      expect((await startAuthorizer()(await tokenFor(email))).caller?.orgId).toBe(a.orgId);
      expect(await openedBy(email, PLANTED, [a])).toEqual([]);
    },
  );

  attack(
    'identity providers',
    'got through',
    'gets into nothing that the owner accepts with the identity',
    async () => {
      // Changed by whoever planted it: it looks like the owner's own.
      const { email } = await ownAccount(a);
      const token = tokenOf(await inviteEmail(b, email));
      const ask = startAuthorizer({ email_domains: ['corp.example.com'] });
      const { caller } = await ask(await tokenFor(email));
      if (!caller) throw new Error('Nobody was signed in');
      const accepted = { ...input(caller), query: undefined, body: { token } };
      expect(await authOperations.acceptInvitation(accepted, stores)).toMatchObject({ accepted: true });
      const inB = await ask(await tokenFor(email), `/api/orgs/${b.orgId}`);
      expect(inB.caller).toMatchObject({ orgId: b.orgId, role: 'Admin' });
      expect(await openedBy(email, OWN, [a, b])).toEqual([a.orgId]);
    },
  );
});

describe('the way to a provider’s keys', () => {
  attack('identity providers', 'held', 'follows no redirect', async () => {
    provider.behave('moved');
    const before = provider.asked.discovery;
    expect((await startAuthorizer()(await tokenFor(b.admin.email))).refusal).toBe('service_unavailable');
    expect(provider.asked.discovery).toBe(before + 1);
  });

  attack('identity providers', 'got through', 'leaves this machine by TLS alone', async () => {
    provider.keepKeysAt('http://keys.example.com/jwks');
    expect((await startAuthorizer()(await tokenFor(b.admin.email))).refusal).toBe('token_invalid');
    // Nor does it come back to it from outside by a name that begins alike.
    provider.keepKeysAt('http://127.0.0.1.example.com/jwks');
    expect((await startAuthorizer()(await tokenFor(b.admin.email))).refusal).toBe('token_invalid');
  });
});
