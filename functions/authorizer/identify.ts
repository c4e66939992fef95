import type { ErrorCode } from '#contract/errors.ts';
import type { Clock } from '#domain/clock.ts';
import { ServiceError } from '#domain/errors.ts';
import { scopesOfRole } from '#domain/permissions.ts';
import type { MemberRole } from '#domain/vocabulary.ts';
import type { Caller, UserCaller } from '#http/caller.ts';
import { logError } from '#shared/log.ts';
import { apiKeyHandle, looksLikeApiKey, matchesHash } from '#shared/security/api-key.ts';
import type { SessionClaims } from '#shared/security/tokens.ts';
import type { CredentialStore, HeldApiKey } from '#store/credentials.ts';

/** A credential as it was sent, before anything is known of it. */
export type Credential = { readonly kind: 'api_key' | 'token'; readonly value: string };

export type Identity =
  | { readonly caller: Caller; readonly refusal?: undefined }
  | { readonly caller: null; readonly refusal: ErrorCode };

/**
 * Picks the credential: `X-Org-Api-Key` (machine endpoints alone), `X-API-Key`, `Authorization`,
 * in this order. Spec silent: design 3.
 */
export function readCredential(headers: Record<string, string | undefined>, path: string): Credential | null {
  const machineKey = path.startsWith('/api/integrations/orgs/') ? headers['x-org-api-key'] : undefined;
  const key = machineKey ?? headers['x-api-key'];
  if (key !== undefined) return { kind: 'api_key', value: key.trim() };
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization?.trim() ?? '')?.[1];
  if (bearer === undefined) return null;
  return { kind: looksLikeApiKey(bearer) ? 'api_key' : 'token', value: bearer };
}

/** The organization that a path of Family A is about, or null. */
export function orgOfPath(path: string): string | null {
  return (
    /^\/api\/(?:integrations\/)?orgs\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/|$)/i
      .exec(path)?.[1]
      ?.toLowerCase() ?? null
  );
}

/** The caller behind an API key; one request. What was refused to a key that was good once is recorded. */
export async function identifyApiKey(
  value: string,
  ip: string,
  store: CredentialStore,
  clock: Clock,
): Promise<Identity> {
  const handle = apiKeyHandle(value);
  const record = handle === null ? null : await store.findApiKey(handle);
  if (!record || !matchesHash(value, record.secret_hash)) return { caller: null, refusal: 'unauthorized' };
  const refusal = refusalOf(record, clock);
  if (refusal) {
    await recordRefusal(record, refusal, ip, store, clock);
    return { caller: null, refusal };
  }
  const caller: Caller = {
    kind: 'api_key',
    id: record.id,
    name: record.name,
    orgId: record.org_id,
    scopes: record.scopes,
  };
  await touch(record.last_used_at, record.handle, store, clock);
  return { caller };
}

function refusalOf(key: HeldApiKey, clock: Clock): 'api_key_revoked' | 'api_key_expired' | null {
  if (key.revoked_at !== null) return 'api_key_revoked';
  return key.expires_at !== null && Date.parse(key.expires_at) <= clock.now() ? 'api_key_expired' : null;
}

/** The request has no id yet: the function gives it one. A log that can't be written changes no refusal. */
async function recordRefusal(
  key: HeldApiKey,
  reason: string,
  ip: string,
  store: CredentialStore,
  clock: Clock,
): Promise<void> {
  const actor = { type: 'api_key', id: key.id, name: key.name } as const;
  try {
    await store.recordKeyRefusal(key, reason, { actor, requestId: null, ip, at: clock.now() });
  } catch (error) {
    logError('refused key not recorded', error, { org_id: key.org_id, key_id: key.id });
  }
}

/** `last_used_at` is written at most once a minute (design 3). */
async function touch(
  lastUsedAt: string | null,
  handle: string,
  store: CredentialStore,
  clock: Clock,
): Promise<void> {
  if (lastUsedAt !== null && clock.now() - Date.parse(lastUsedAt) < 60_000) return;
  await store.recordKeyUse(handle, clock.now());
}

/** What a verified token says, or the code of its refusal. */
export async function readToken<Claims>(verify: () => Promise<Claims>): Promise<Claims | Refused> {
  try {
    return await verify();
  } catch (error) {
    if (error instanceof ServiceError) return { refusal: error.code };
    throw error;
  }
}

interface Refused {
  readonly refusal: ErrorCode;
}

export function isRefused(read: unknown): read is Refused {
  return typeof read === 'object' && read !== null && 'refusal' in read;
}

/**
 * The user behind a token, as a member of the organization of the path, else of the session's.
 * Role and membership are read anew, so that a removal or demotion counts at once; one request. A token
 * that names an organization is over with the membership in it, whatever else its session is good for.
 */
export async function identifyUser(
  claims: SessionClaims,
  pathOrgId: string | null,
  store: CredentialStore,
): Promise<Identity> {
  const wanted = [...new Set([pathOrgId, claims.orgId].filter((id) => id !== null))];
  const held = await store.readSession(claims.userId, claims.sessionId, wanted);
  if (!held) return { caller: null, refusal: 'token_invalid' };
  const membership = wanted
    .map((orgId) => held.memberships.find((candidate) => candidate.org_id === orgId))
    .find((candidate) => candidate !== undefined);
  if (!membership && claims.orgId !== null) return { caller: null, refusal: 'token_invalid' };
  const caller = userCaller(held.user, membership ?? null, claims.sessionId);
  return { caller: held.password === undefined ? caller : { ...caller, password: held.password } };
}

export function userCaller(
  user: { readonly id: string; readonly name: string; readonly email: string },
  membership: { readonly org_id: string; readonly role: MemberRole } | null,
  sessionId: string | null,
): UserCaller {
  return {
    kind: 'user',
    id: user.id,
    name: user.name,
    email: user.email,
    sessionId,
    orgId: membership?.org_id ?? null,
    role: membership?.role ?? null,
    scopes: membership ? scopesOfRole(membership.role) : [],
  };
}
