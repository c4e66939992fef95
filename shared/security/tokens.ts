import type { webcrypto } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import { TOKEN_LIFETIMES } from '#contract/limits.ts';
import type { Clock } from '#domain/clock.ts';
import { ServiceError } from '#domain/errors.ts';
import type { SecretReader } from './secrets.ts';

const ISSUER = 'svc';
const ALGORITHM = 'HS256';

/** What a token of ours is for; one kind is never accepted as another. */
type Audience = 'access' | 'refresh' | 'runner';

export interface SessionClaims {
  readonly userId: string;
  readonly sessionId: string;
  /** The organization that the session works in. */
  readonly orgId: string | null;
}

export interface RunnerClaims {
  readonly orgId: string;
  readonly scanId: string;
  readonly assetId: string;
  readonly runId: string;
}

export type Tokens = ReturnType<typeof createTokens>;

/** Signs and verifies our own tokens. All failures are `token_expired` or `token_invalid`. */
export function createTokens(readSecret: SecretReader, clock: Clock) {
  let key: Promise<webcrypto.CryptoKey> | null = null;
  // Imported once: jose would otherwise import the bytes anew for each token.
  const signingKey = () => {
    key ??= importKey(readSecret).catch((error: unknown) => {
      key = null;
      throw error;
    });
    return key;
  };

  async function sign(
    audience: Audience,
    subject: string,
    claims: Record<string, unknown>,
    seconds: number,
  ): Promise<string> {
    const now = Math.floor(clock.now() / 1000);
    return new SignJWT(claims)
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
      .setIssuer(ISSUER)
      .setAudience(audience)
      .setSubject(subject)
      .setIssuedAt(now)
      .setExpirationTime(now + seconds)
      .sign(await signingKey());
  }

  async function verify(audience: Audience, token: string) {
    try {
      const { payload } = await jwtVerify(token, await signingKey(), {
        issuer: ISSUER,
        audience,
        algorithms: [ALGORITHM],
        currentDate: new Date(clock.now()),
        requiredClaims: ['sub', 'exp', 'iat'],
      });
      return payload;
    } catch (error) {
      if (error instanceof errors.JWTExpired)
        throw new ServiceError('token_expired', 'The token has expired');
      if (error instanceof errors.JOSEError)
        throw new ServiceError('token_invalid', 'The token is malformed or its signature is invalid');
      throw error;
    }
  }

  function sessionClaims(payload: Record<string, unknown> & { sub?: string }): SessionClaims {
    const { sub, sid, org } = payload;
    if (typeof sub !== 'string' || typeof sid !== 'string' || (org !== null && typeof org !== 'string'))
      throw new ServiceError('token_invalid', 'The token lacks a claim');
    return { userId: sub, sessionId: sid, orgId: org };
  }

  return {
    signAccess: (claims: SessionClaims) =>
      sign(
        'access',
        claims.userId,
        { sid: claims.sessionId, org: claims.orgId },
        TOKEN_LIFETIMES.accessSeconds,
      ),
    signRefresh: (claims: SessionClaims) =>
      sign(
        'refresh',
        claims.userId,
        { sid: claims.sessionId, org: claims.orgId },
        TOKEN_LIFETIMES.refreshSeconds,
      ),
    verifyAccess: async (token: string): Promise<SessionClaims> =>
      sessionClaims(await verify('access', token)),
    verifyRefresh: async (token: string): Promise<SessionClaims> =>
      sessionClaims(await verify('refresh', token)),

    signRunner: (claims: RunnerClaims, seconds: number) =>
      sign(
        'runner',
        claims.runId,
        { org: claims.orgId, scan: claims.scanId, asset: claims.assetId },
        seconds,
      ),
    async verifyRunner(token: string): Promise<RunnerClaims> {
      const { sub, org, scan, asset } = await verify('runner', token);
      if (
        typeof sub !== 'string' ||
        typeof org !== 'string' ||
        typeof scan !== 'string' ||
        typeof asset !== 'string'
      )
        throw new ServiceError('token_invalid', 'The token lacks a claim');
      return { runId: sub, orgId: org, scanId: scan, assetId: asset };
    },
  };
}

async function importKey(readSecret: SecretReader): Promise<webcrypto.CryptoKey> {
  const bytes = new TextEncoder().encode(await readSecret());
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
}
