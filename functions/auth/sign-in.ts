import { setTimeout } from 'node:timers/promises';
import { LOGIN_LIMITS, TOKEN_LIFETIMES } from '#contract/limits.ts';
import { FIRST_PASSWORD, isOpenTo } from '#domain/account-passwords.ts';
import type { Attribution } from '#domain/actor.ts';
import type { Clock } from '#domain/clock.ts';
import { ServiceError } from '#domain/errors.ts';
import type { Ids } from '#domain/ids.ts';
import type { RateWindow } from '#http/caller.ts';
import { rateLimited } from '#http/middleware/rate-limit.ts';
import { tightest, windowOf } from '#http/rate-windows.ts';
import { verifyPassword } from '#shared/security/passwords.ts';
import type { SessionClaims, Tokens } from '#shared/security/tokens.ts';
import type { CredentialStore } from '#store/credentials.ts';
import type { InvitationStore } from '#store/invitations.ts';
import type { MembershipRecord } from '#store/memberships.ts';
import type { OrganizationStore } from '#store/organizations.ts';
import type { RateCounterStore } from '#store/rate-counters.ts';
import type { SessionStore } from '#store/sessions.ts';
import { type Password, passwordsOf, type UserRecord } from '#store/users.ts';

export interface AuthDependencies {
  readonly organizations: OrganizationStore;
  readonly credentials: CredentialStore;
  readonly sessions: SessionStore;
  readonly invitations: InvitationStore;
  readonly counters: RateCounterStore;
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly rateFactor: number;
}

export interface TokenPair {
  access_token: string;
  refresh_token: string;
  expires_in: number;
  token_type: 'Bearer';
}

/** A refused sign-in answers no earlier than this: longer than it takes to record one. */
const REFUSAL_MS = 300;

/** Passwords of one account that are tried where no organization is named: each takes 50 ms. */
const MOST_TRIED = 8;

interface SignIn {
  readonly email: string;
  readonly password: string;
  readonly org_id?: string | undefined;
}

/**
 * Checks e-mail and password, and opens a session. A wrong e-mail takes as long as a wrong password,
 * of which an entry is written: both answer after the same time.
 * @throws ServiceError unauthorized, or not_found where the user is no member of the organization asked for
 */
export async function signIn(
  body: SignIn,
  request: { readonly requestId: string; readonly ip: string },
  dependencies: AuthDependencies,
): Promise<TokenPair> {
  const { organizations, sessions, clock } = dependencies;
  const answerAt = clock.now() + REFUSAL_MS;
  const user = await organizations.findUserByEmail(body.email);
  const memberships = user ? await membershipsOf(user.id, dependencies) : [];
  const orgIds = memberships.map(({ org_id }) => org_id);
  const password = await findPassword(body, user, memberships);
  const record = async (known: UserRecord, reason: string) => {
    const attribution = attributionOfUser(known, request, clock);
    await sessions.recordRefusal(orgIds, attribution, {
      action: 'session.refused',
      userId: known.id,
      reason,
    });
  };
  if (!user || !password) {
    if (user) await record(user, passwordsOf(user).length === 0 ? 'no_password' : 'wrong_password');
    await setTimeout(Math.max(0, answerAt - clock.now()));
    throw new ServiceError('unauthorized', 'Wrong e-mail or password');
  }
  const open = memberships.filter((one) => isOpenTo(one, password.id)).map(({ org_id }) => org_id);
  if (body.org_id !== undefined && !open.includes(body.org_id)) {
    await record(user, 'not_a_member');
    throw new ServiceError('not_found', 'organization not found');
  }
  return openSession({ user, password, orgId: body.org_id ?? open[0] ?? null }, open, request, dependencies);
}

/**
 * Of the account's passwords the one that was sent. Who names an organization is asked for its password
 * alone: however many others an account has, that one is tried.
 */
async function findPassword(
  { password, org_id }: SignIn,
  user: UserRecord | null,
  memberships: readonly MembershipRecord[],
): Promise<Password | null> {
  const all = user ? passwordsOf(user) : [];
  const named = memberships.find((membership) => membership.org_id === org_id);
  const tried = named ? all.filter(({ id }) => isOpenTo(named, id)) : all.slice(0, MOST_TRIED);
  // As much work as for a wrong password.
  if (tried.length === 0) await verifyPassword(password, null);
  for (const candidate of tried) if (await verifyPassword(password, candidate.hash)) return candidate;
  return null;
}

async function membershipsOf(
  userId: string,
  { organizations }: Pick<AuthDependencies, 'organizations'>,
): Promise<MembershipRecord[]> {
  return (await organizations.listMemberships(userId)).map(({ membership }) => membership);
}

/**
 * Organizations that are open to a user who is signed in with this password (null: by an identity provider),
 * the earliest joined first: those whose logs tell of the user's sessions.
 */
export async function organizationsOf(
  userId: string,
  password: string | null,
  dependencies: Pick<AuthDependencies, 'organizations'>,
): Promise<string[]> {
  const memberships = await membershipsOf(userId, dependencies);
  return memberships.filter((one) => isOpenTo(one, password)).map(({ org_id }) => org_id);
}

function attributionOfUser(
  user: UserRecord,
  request: { readonly requestId: string; readonly ip: string },
  clock: Clock,
): Attribution {
  const actor = { type: 'user', id: user.id, name: user.email } as const;
  return { actor, requestId: request.requestId, ip: request.ip, at: clock.now() };
}

/**
 * Counts an attempt to sign in: by address and e-mail together, and by address alone.
 * @throws ServiceError rate_limited
 */
export async function countLogin(
  ip: string,
  email: string,
  showRate: (window: RateWindow) => void,
  { counters, clock, rateFactor }: AuthDependencies,
): Promise<void> {
  const now = clock.now();
  const [both, address] = await Promise.all([
    counters.countAddress(`LOGIN#${ip}#${email.toLowerCase()}`, now),
    counters.countAddress(`LOGIN#${ip}`, now),
  ]);
  const window = tightest([
    windowOf(LOGIN_LIMITS.perAddressAndEmail * rateFactor, both.minute, 60_000, now),
    windowOf(LOGIN_LIMITS.perAddress * rateFactor, address.minute, 60_000, now),
  ]);
  showRate(window);
  if (window.retryAfter !== null) throw rateLimited(window);
}

/** Opens a session and answers its token pair. */
async function openSession(
  { user, password, orgId }: { user: UserRecord; password: Password; orgId: string | null },
  orgIds: readonly string[],
  request: { readonly requestId: string; readonly ip: string },
  dependencies: AuthDependencies,
): Promise<TokenPair> {
  const { sessions, clock, ids, tokens } = dependencies;
  const claims: SessionClaims = { userId: user.id, sessionId: ids.next(), orgId };
  const attribution = attributionOfUser(user, request, clock);
  const expiresAt = attribution.at + TOKEN_LIFETIMES.refreshSeconds * 1000;
  await sessions.open({ id: claims.sessionId, user, orgId, expiresAt, password }, orgIds, attribution);
  return tokenPair(await tokens.signAccess(claims), await tokens.signRefresh(claims));
}

/** A refresh token serves for its seven days: refresh answers it again beside the new access token (design 4). */
export async function renewSession(
  refreshToken: string,
  wantedOrgId: string | undefined,
  dependencies: AuthDependencies,
): Promise<TokenPair> {
  const { credentials, tokens } = dependencies;
  const claims = await tokens.verifyRefresh(refreshToken);
  const orgId = wantedOrgId ?? claims.orgId;
  const asked = wantedOrgId === undefined && claims.orgId !== null ? [claims.orgId] : [];
  const held = await credentials.readSession(claims.userId, claims.sessionId, asked);
  // Removed from the organization that it was signed for, it serves only to go on in another one.
  if (!held || held.memberships.length < asked.length)
    throw new ServiceError('token_invalid', 'The refresh token was revoked');
  if (
    wantedOrgId !== undefined &&
    !(await organizationsOf(claims.userId, held.password ?? FIRST_PASSWORD, dependencies)).includes(
      wantedOrgId,
    )
  )
    throw new ServiceError('not_found', 'organization not found');
  return tokenPair(await tokens.signAccess({ ...claims, orgId }), refreshToken);
}

function tokenPair(access_token: string, refresh_token: string): TokenPair {
  return { access_token, refresh_token, expires_in: TOKEN_LIFETIMES.accessSeconds, token_type: 'Bearer' };
}
