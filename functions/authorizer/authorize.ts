import type { Clock } from '#domain/clock.ts';
import type { AuthorizerContext, RateWindow } from '#http/caller.ts';
import { addressWindow, endpointLimit, organizationWindow } from '#http/rate-windows.ts';
import { logError } from '#shared/log.ts';
import { measure } from '#shared/metrics.ts';
import type { OidcVerifier } from '#shared/security/oidc.ts';
import type { Tokens } from '#shared/security/tokens.ts';
import type { CredentialStore } from '#store/credentials.ts';
import type { RateCounterStore } from '#store/rate-counters.ts';
import type { Homes } from './homes.ts';
import {
  type Identity,
  identifyApiKey,
  identifyUser,
  isRefused,
  orgOfPath,
  readCredential,
  readToken,
} from './identify.ts';
import { identifyExternal } from './identify-external.ts';

export interface AuthorizerDependencies {
  readonly credentials: CredentialStore;
  readonly counters: RateCounterStore;
  readonly tokens: Tokens;
  /** Identity providers beside our own tokens. */
  readonly oidc: OidcVerifier;
  readonly homes: Homes;
  readonly clock: Clock;
  readonly rateFactor: number;
}

export interface AuthorizedRequest {
  readonly method: string;
  readonly path: string;
  readonly ip: string;
  /** Names in lower case. */
  readonly headers: Record<string, string | undefined>;
}

interface Outcome {
  readonly identity: Identity;
  readonly rate: RateWindow | null;
}

/**
 * Identifies the caller and counts the request: two store requests for a known caller, one for an
 * unknown. The first request of an identity provider's user takes up to two more, the very first one five.
 */
export async function authorize(
  request: AuthorizedRequest,
  dependencies: AuthorizerDependencies,
): Promise<AuthorizerContext> {
  try {
    const { identity, rate } = await identifyAndCount(request, dependencies);
    return {
      ...(identity.caller ? { caller: JSON.stringify(identity.caller) } : { refusal: identity.refusal }),
      ...(rate && { rate: JSON.stringify(rate) }),
    };
  } catch (error) {
    // A gateway's own 500 could carry neither our envelope nor our headers.
    logError('authorizer failed', error, { path: request.path });
    measure({ AuthorizerFailed: 1 });
    // Whose pool it would be is not known: it is the address's, so that this answer too has its headers.
    const { rate } = await count(request, null, dependencies);
    return { refusal: 'service_unavailable', ...(rate && { rate: JSON.stringify(rate) }) };
  }
}

async function identifyAndCount(
  request: AuthorizedRequest,
  dependencies: AuthorizerDependencies,
): Promise<Outcome> {
  const { credentials, tokens, oidc, homes, clock } = dependencies;
  const credential = readCredential(request.headers, request.path);
  if (!credential) return refused(request, 'unauthorized', dependencies);

  if (credential.kind === 'api_key') {
    const identity = await identifyApiKey(credential.value, request.ip, credentials, clock);
    return settle(identity, await count(request, identity.caller?.orgId ?? null, dependencies));
  }

  const pathOrgId = orgOfPath(request.path);
  if (oidc.claims(credential.value)) {
    const token = await readToken(() => oidc.verify(credential.value));
    if (isRefused(token)) return refused(request, token.refusal, dependencies);
    const asked = { pathOrgId, ip: request.ip, at: clock.now() };
    const identity = await identifyExternal(token, asked, { credentials, homes });
    return settle(identity, await count(request, identity.caller?.orgId ?? null, dependencies));
  }

  const claims = await readToken(() => tokens.verifyAccess(credential.value));
  if (isRefused(claims)) return refused(request, claims.refusal, dependencies);
  if (claims.orgId !== null && (pathOrgId === null || pathOrgId === claims.orgId)) {
    // The usual case: whose pool it is, is known from the token, so both requests run side by side.
    const [identity, counted] = await Promise.all([
      identifyUser(claims, pathOrgId, credentials),
      count(request, claims.orgId, dependencies),
    ]);
    return settle(identity, counted);
  }
  const identity = await identifyUser(claims, pathOrgId, credentials);
  return settle(identity, await count(request, identity.caller?.orgId ?? null, dependencies));
}

async function refused(
  request: AuthorizedRequest,
  refusal: NonNullable<Identity['refusal']>,
  dependencies: AuthorizerDependencies,
): Promise<Outcome> {
  return settle({ caller: null, refusal }, await count(request, null, dependencies));
}

interface Counted {
  readonly rate: RateWindow | null;
  /** The organization was deleted, though what leads to it may still be there for a moment. */
  readonly gone: boolean;
}

/** A deleted organization has neither keys nor members from the next request on. */
function settle(identity: Identity, { rate, gone }: Counted): Outcome {
  if (!gone || !identity.caller) return { identity, rate };
  if (identity.caller.kind === 'api_key')
    return { identity: { caller: null, refusal: 'unauthorized' }, rate };
  return { identity: { caller: { ...identity.caller, orgId: null, role: null, scopes: [] } }, rate };
}

/** Counts in the organization's pool, or by address. Fails open: a fault of the store lets requests pass (design 4). */
async function count(
  request: AuthorizedRequest,
  orgId: string | null,
  dependencies: AuthorizerDependencies,
): Promise<Counted> {
  const { counters, clock, rateFactor } = dependencies;
  const now = clock.now();
  try {
    if (orgId === null) {
      const counts = await counters.countAddress(request.ip, now);
      return { rate: addressWindow(counts, rateFactor, now), gone: false };
    }
    const endpoint = endpointLimit(request.method, request.path);
    const counts = await counters.countOrganization(orgId, now, endpoint);
    return { rate: organizationWindow(counts, endpoint, rateFactor, now), gone: counts.tier === null };
  } catch (error) {
    logError('rate counting failed', error, { org_id: orgId });
    // Nobody feels it, and nobody is limited any more.
    measure({ AuthorizerFailed: 1 });
    return { rate: null, gone: false };
  }
}
