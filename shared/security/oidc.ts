import {
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  errors,
  type JWTPayload,
  jwtVerify,
  type RemoteJWKSet,
} from 'jose';
import * as z from 'zod';
import type { Clock } from '#domain/clock.ts';
import { ServiceError } from '#domain/errors.ts';
import { isOfThisMachine, type OidcIssuer } from '#shared/config.ts';
import { logError } from '#shared/log.ts';

/** Signatures by a private key alone: with HMAC, whoever knows the public key could sign. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const CLOCK_SKEW_SECONDS = 60;
/** What a discovery document says is believed for an hour; keys for jose's ten minutes. */
const DISCOVERY_MS = 3_600_000;
/** An issuer that does not answer, or wrongly, is left alone for this long, so that requests do not queue up for it. */
const REST_MS = 10_000;
/** Documents of issuers are a few kilobytes. */
const MAX_DOCUMENT_CHARACTERS = 1024 * 1024;

interface OidcOptions {
  /** Milliseconds until a request to an issuer is given up; a first token takes two of them. */
  readonly timeoutMs?: number;
  /** Milliseconds after a fetch of keys in which an unknown key asks for no other. */
  readonly cooldownMs?: number;
}

export type OidcVerifier = ReturnType<typeof createOidcVerifier>;

/** What a verified token says of its bearer, and how far its issuer may speak. */
export interface VerifiedToken {
  readonly issuer: string;
  /** Who it is, for good; the e-mail is believed once, to find the user. */
  readonly subject: string;
  /** In lower case. */
  readonly email: string;
  /** Ids or slugs of the only organizations that the issuer speaks for; null: all. */
  readonly organizations: readonly string[] | null;
  /** Domains of the only e-mails that it speaks for; null: all. */
  readonly emailDomains: readonly string[] | null;
}

/** Tokens of identity providers beside our own. */
export function createOidcVerifier(
  issuers: readonly OidcIssuer[],
  clock: Clock,
  { timeoutMs = 3000, cooldownMs = 30_000 }: OidcOptions = {},
) {
  const providers = new Map(
    issuers.map((configured) => [
      configured.issuer,
      createProvider(configured, clock, timeoutMs, cooldownMs),
    ]),
  );

  return {
    /** Whether a token claims to be of a configured issuer. Believed no further than to choose who verifies it. */
    claims(token: string): boolean {
      return providers.size > 0 && providers.has(issuerClaim(token) ?? '');
    },

    /**
     * What a token says.
     * @throws ServiceError token_expired, token_invalid, or service_unavailable where the issuer does not answer
     */
    async verify(token: string): Promise<VerifiedToken> {
      const issuer = issuerClaim(token) ?? '';
      const provider = providers.get(issuer);
      if (!provider) throw invalid('The token is of no known issuer');
      const payload = await provider.verify(token);
      const { organizations = null, email_domains: emailDomains = null } = provider.configured;
      return {
        issuer,
        subject: subjectOf(payload),
        email: verifiedEmail(payload),
        organizations,
        emailDomains,
      };
    },
  };
}

/** The issuer that a token names: nothing is verified here. */
function issuerClaim(token: string): string | null {
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === 'string' ? iss : null;
  } catch {
    return null;
  }
}

/**
 * Only what could be a user's: letters beyond ASCII may become others in lower case (the Kelvin sign a k), and
 * with them somebody else's address.
 */
const Email = z.email().max(254);

function verifiedEmail({ email, email_verified }: JWTPayload): string {
  const address = Email.safeParse(email);
  if (email_verified !== true || !address.success) throw invalid('The token has no verified e-mail');
  return address.data.toLowerCase();
}

function subjectOf({ sub }: JWTPayload): string {
  if (typeof sub !== 'string' || sub === '') throw invalid('The token has no subject');
  return sub;
}

/** One issuer: where its keys are, and what they say of a token. */
function createProvider(configured: OidcIssuer, clock: Clock, timeoutMs: number, cooldownMs: number) {
  const { issuer, audience } = configured;
  const read = createDocumentReader(issuer, clock, timeoutMs);
  let held: { keys: Promise<RemoteJWKSet>; until: number } | null = null;

  function keysOf(): Promise<RemoteJWKSet> {
    if (held && clock.now() < held.until) return held.keys;
    const keys = discover();
    const mine = { keys, until: clock.now() + DISCOVERY_MS };
    held = mine;
    keys.catch(() => {
      mine.until = clock.now() + REST_MS;
    });
    return keys;
  }

  async function discover(): Promise<RemoteJWKSet> {
    const found = await read(
      `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
      AbortSignal.timeout(timeoutMs),
    );
    // Its issuer must be the very one that was asked, or somebody else would answer for it.
    const document = z.object({ issuer: z.literal(issuer), jwks_uri: z.url() }).safeParse(found);
    const wrong = !document.success || !isAsSecure(document.data.jwks_uri, issuer);
    if (wrong) {
      logError('unusable discovery document', document.error ?? new Error('jwks_uri without TLS'), {
        issuer,
      });
      throw invalid('The issuer of the token is not the one that it names');
    }
    return createRemoteJWKSet(new URL(document.data.jwks_uri), {
      timeoutDuration: timeoutMs,
      cooldownDuration: cooldownMs,
      [customFetch]: async (url, { signal }) => Response.json(await read(url, signal)),
    });
  }

  return {
    configured,
    async verify(token: string): Promise<JWTPayload> {
      try {
        const { payload } = await jwtVerify(token, await keysOf(), {
          issuer,
          audience,
          algorithms: ALGORITHMS,
          clockTolerance: CLOCK_SKEW_SECONDS,
          currentDate: new Date(clock.now()),
          requiredClaims: ['exp', 'sub'],
        });
        return payload;
      } catch (error) {
        throw refusalOf(error);
      }
    },
  };
}

/** Reads JSON of an issuer; after a failure it answers with it for a while, instead of asking again. */
function createDocumentReader(issuer: string, clock: Clock, timeoutMs: number) {
  let failedAt = Number.NEGATIVE_INFINITY;
  return async function readDocument(url: string, signal: AbortSignal): Promise<unknown> {
    if (clock.now() - failedAt < REST_MS) throw unavailable();
    try {
      const response = await fetch(url, {
        headers: { accept: 'application/json' },
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      if (response.status !== 200) throw new Error(`The issuer answered ${response.status}`);
      const text = await response.text();
      if (text.length > MAX_DOCUMENT_CHARACTERS) throw new Error('The issuer’s document is too large');
      return JSON.parse(text) as unknown;
    } catch (error) {
      failedAt = clock.now();
      logError('issuer does not answer', error, { issuer });
      throw unavailable();
    }
  };
}

function refusalOf(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return new ServiceError('token_expired', 'The token has expired');
  if (error instanceof errors.JWKSInvalid) return unavailable();
  return error instanceof errors.JOSEError
    ? invalid('The token is malformed, of another audience, or its signature is invalid')
    : error;
}

/** By TLS; or on this very machine, where the issuer is there too. */
function isAsSecure(url: string, issuer: string): boolean {
  return url.startsWith('https:') || (isOfThisMachine(url) && isOfThisMachine(issuer));
}

function invalid(message: string): ServiceError {
  return new ServiceError('token_invalid', message);
}

function unavailable(): ServiceError {
  return new ServiceError('service_unavailable', 'The issuer of the token does not answer', {
    retryAfter: 30,
  });
}
