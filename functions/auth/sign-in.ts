import { LOGIN_LIMITS, TOKEN_LIFETIMES } from '#contract/limits.ts';
import type { Clock } from '#domain/clock.ts';
import { ServiceError } from '#domain/errors.ts';
import type { Ids } from '#domain/ids.ts';
import type { RateWindow } from '#http/caller.ts';
import { rateLimited } from '#http/middleware/rate-limit.ts';
import { tightest, windowOf } from '#http/rate-windows.ts';
import { verifyPassword } from '#shared/security/passwords.ts';
import type { SessionClaims, Tokens } from '#shared/security/tokens.ts';
import type { CredentialStore } from '#store/credentials.ts';
import type { OrganizationStore, UserRecord } from '#store/organizations.ts';
import type { RateCounterStore } from '#store/rate-counters.ts';

export interface AuthDependencies {
  readonly organizations: OrganizationStore;
  readonly credentials: CredentialStore;
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

/** The user of an e-mail and password. A wrong e-mail takes as long as a wrong password. */
export async function checkPassword(
  email: string,
  password: string,
  { organizations }: AuthDependencies,
): Promise<UserRecord> {
  const user = await organizations.findUserByEmail(email);
  const fits = await verifyPassword(password, user?.password_hash ?? null);
  if (!user || !fits) throw new ServiceError('unauthorized', 'Wrong e-mail or password');
  return user;
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

/** The organization that a session works in: the one asked for, else the earliest joined; null without any. */
export async function chooseOrganization(
  userId: string,
  wanted: string | undefined,
  { organizations }: AuthDependencies,
): Promise<string | null> {
  const memberships = await organizations.listMemberships(userId);
  if (wanted === undefined) return memberships[0]?.organization.id ?? null;
  const chosen = memberships.find(({ organization }) => organization.id === wanted);
  if (!chosen) throw new ServiceError('not_found', 'organization not found');
  return chosen.organization.id;
}

/** Opens a session and answers its token pair. */
export async function openSession(
  userId: string,
  orgId: string | null,
  dependencies: AuthDependencies,
): Promise<TokenPair> {
  const { credentials, organizations, clock, ids, tokens } = dependencies;
  const claims: SessionClaims = { userId, sessionId: ids.next(), orgId };
  const at = clock.now();
  await Promise.all([
    credentials.createSession({
      id: claims.sessionId,
      userId,
      orgId,
      at,
      expiresAt: at + TOKEN_LIFETIMES.refreshSeconds * 1000,
    }),
    organizations.recordLogin(userId, at),
  ]);
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
  const held = await credentials.readSession(claims.userId, claims.sessionId, []);
  if (!held) throw new ServiceError('token_invalid', 'The refresh token was revoked');
  const orgId =
    wantedOrgId === undefined
      ? claims.orgId
      : await chooseOrganization(claims.userId, wantedOrgId, dependencies);
  return tokenPair(await tokens.signAccess({ ...claims, orgId }), refreshToken);
}

function tokenPair(access_token: string, refresh_token: string): TokenPair {
  return { access_token, refresh_token, expires_in: TOKEN_LIFETIMES.accessSeconds, token_type: 'Bearer' };
}
