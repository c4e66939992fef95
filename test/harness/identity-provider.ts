import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';

interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];
  readonly publicJwk: JWK;
  /** What an attacker may know: the public key as text. */
  readonly publicPem: string;
}

/** What a token says where a test says nothing else. */
interface TokenOptions {
  readonly key?: SigningKey;
  readonly header?: Record<string, unknown>;
  readonly claims?: Record<string, unknown>;
}

export type IdentityProvider = Awaited<ReturnType<typeof startIdentityProvider>>;

/** A small OpenID provider on this machine: discovery, keys, and tokens signed by them. */
export async function startIdentityProvider(audience: string) {
  const asked = { discovery: 0, keys: 0 };
  /** Where its document says that the keys are, where that is not here. */
  let keysAt: string | null = null;
  let published: SigningKey[] = [];
  /** How it answers: well, with another issuer's document, with an error, from another address, or not at all. */
  let mood: 'well' | 'impostor' | 'broken' | 'moved' | 'silent' = 'well';
  const waiting = new Set<ServerResponse>();

  const server = createServer((request, response) => {
    if (mood === 'silent') {
      waiting.add(response);
      return;
    }
    const isDiscovery = request.url?.startsWith('/.well-known/openid-configuration') ?? false;
    if (isDiscovery) asked.discovery += 1;
    else asked.keys += 1;
    if (mood === 'moved' && !request.url?.endsWith('?moved')) {
      response.writeHead(302, { location: `${issuer}${request.url}?moved` }).end();
      return;
    }
    if (mood === 'broken') {
      response.writeHead(503).end('<html>down for maintenance</html>');
      return;
    }
    const body = isDiscovery
      ? {
          issuer: mood === 'impostor' ? 'https://elsewhere.example.com' : issuer,
          jwks_uri: keysAt ?? `${issuer}/keys`,
        }
      : { keys: published.map(({ publicJwk }) => publicJwk) };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function makeKey(alg = 'RS256'): Promise<SigningKey> {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const kid = crypto.randomUUID();
    const publicJwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
    return { kid, alg, privateKey, publicJwk, publicPem: await exportSPKI(publicKey) };
  }

  /** Signs with this key alone from now on; the ones before are gone. */
  async function rotate(alg?: string): Promise<SigningKey> {
    const key = await makeKey(alg);
    published = [key];
    return key;
  }
  await rotate();

  return {
    issuer,
    asked,
    makeKey,
    rotate,
    keepKeysAt(url: string | null) {
      keysAt = url;
    },
    behave(next: typeof mood) {
      mood = next;
    },
    /** A token for an e-mail, good for five minutes from `now`. */
    async token(email: string, now: number, options: TokenOptions = {}): Promise<string> {
      const key = options.key ?? published[0];
      if (!key) throw new Error('The provider has no key');
      const seconds = Math.floor(now / 1000);
      return new SignJWT({
        iss: issuer,
        aud: audience,
        sub: `subject of ${email.toLowerCase()}`,
        iat: seconds,
        exp: seconds + 300,
        email,
        email_verified: true,
        ...options.claims,
      })
        .setProtectedHeader({ alg: key.alg, kid: key.kid, ...options.header })
        .sign(key.privateKey);
    },
    async stop(): Promise<void> {
      for (const response of waiting) response.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
