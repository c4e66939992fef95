import type { VerifiedToken } from '#shared/security/oidc.ts';
import type { Bearer, CredentialStore } from '#store/credentials.ts';
import type { UserRecord } from '#store/users.ts';
import type { Homes } from './homes.ts';
import { type Identity, userCaller } from './identify.ts';

interface Dependencies {
  readonly credentials: CredentialStore;
  readonly homes: Homes;
}

interface Asked {
  /** The organization of the path. */
  readonly pathOrgId: string | null;
  readonly ip: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

const UNKNOWN: Identity = { caller: null, refusal: 'unauthorized' };

/**
 * The user whom a token of an identity provider is about: no session of ours, as a member of the
 * organization of the path, else of the one joined first, where its issuer speaks for it. One request where
 * `homes` knows the user.
 */
export async function identifyExternal(
  token: VerifiedToken,
  asked: Asked,
  dependencies: Dependencies,
): Promise<Identity> {
  const { credentials, homes } = dependencies;
  const { pathOrgId } = asked;
  const name = JSON.stringify([token.issuer, token.subject]);
  const reach = await reachOf(token, dependencies);
  const hint = homes.find(name);
  const userId =
    hint?.userId ??
    (await credentials.findIdentityUser(token)) ??
    (await bindFirst(token, reach, asked, credentials));
  if (userId === null) return UNKNOWN;
  const orgId = pathOrgId ?? hint?.orgId ?? null;
  const held = await (orgId === null
    ? credentials.readFirstMember(userId, reach)
    : credentials.readMember(userId, orgId));
  const homeIsGone = pathOrgId === null && orgId !== null && held?.membership === null;
  if (!held || !isOf(held.user, token) || homeIsGone) {
    if (!hint) return UNKNOWN;
    homes.forget(name);
    return identifyExternal(token, asked, dependencies);
  }
  const home = pathOrgId === null ? held.membership?.org_id : hint?.orgId;
  homes.remember(name, { userId, orgId: home ?? null });
  if (!speaksFor(token, held.user.email)) return UNKNOWN;
  const caller = userCaller(held.user, within(reach, held), null);
  return { caller: reach === null ? caller : { ...caller, reach: [...reach] } };
}

/** Ids of the organizations that the issuer speaks for; null: all. A slug that nobody has names none. */
async function reachOf(
  { organizations }: VerifiedToken,
  { credentials, homes }: Dependencies,
): Promise<ReadonlySet<string> | null> {
  if (organizations === null) return null;
  const ids = await Promise.all(
    organizations.map((named) =>
      isId(named) ? named.toLowerCase() : homes.ofSlug(named, credentials.findOrganizationId),
    ),
  );
  return new Set(ids.filter((id) => id !== null));
}

function isId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

function within(reach: ReadonlySet<string> | null, { membership }: Bearer): Bearer['membership'] {
  return membership && (reach === null || reach.has(membership.org_id)) ? membership : null;
}

function speaksFor({ emailDomains }: VerifiedToken, email: string): boolean {
  return emailDomains === null || emailDomains.includes(email.slice(email.lastIndexOf('@') + 1));
}

function isOf({ identity }: UserRecord, { issuer, subject }: VerifiedToken): boolean {
  return identity?.issuer === issuer && identity.subject === subject;
}

/**
 * The first sign-in of an identity: bound to the user of its verified e-mail, for good. Neither is bound to
 * another one. An issuer that speaks for some organizations, and says nothing of domains, is believed of
 * their members alone.
 */
async function bindFirst(
  token: VerifiedToken,
  reach: ReadonlySet<string> | null,
  { ip, at }: Asked,
  credentials: CredentialStore,
): Promise<string | null> {
  if (!speaksFor(token, token.email)) return null;
  const userId = await credentials.findUserId(token.email);
  const held = userId === null ? null : await credentials.readFirstMember(userId, reach);
  if (userId === null || !held) return null;
  // Bound to another identity, or to this very one a moment ago.
  if (held.user.identity) return isOf(held.user, token) ? userId : null;
  if (reach !== null && token.emailDomains === null && !held.membership) return null;
  const { issuer, subject, email } = token;
  const bound = await credentials.bindIdentity(
    held.user,
    { issuer, subject },
    held.membership?.org_id ?? null,
    { actor: { type: 'user', id: userId, name: email }, requestId: null, ip, at },
  );
  // Of several first requests at once one binds; the others find what it bound.
  return bound ? userId : credentials.findIdentityUser(token);
}
