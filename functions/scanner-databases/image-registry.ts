import * as z from 'zod';

/** Something to download, and what it has to be. */
export interface Artifact {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
}

const TIMEOUT_MS = 60_000;

const Manifest = z.object({
  layers: z.array(z.object({ mediaType: z.string(), digest: z.string().regex(/^sha256:[0-9a-f]{64}$/) })),
});
const Token = z.union([
  z.object({ token: z.string() }).transform(({ token }) => token),
  z.object({ access_token: z.string() }).transform(({ access_token: token }) => token),
]);

/**
 * Finds the layer of a media type in a registry of container images, as anybody may read it: without credentials,
 * with the token that the registry gives to whoever asks.
 * @param source `https://HOST/REPOSITORY:TAG`
 * @throws Error where the registry has no such layer, or lets nobody read it
 */
export async function findImageLayer(source: string, mediaType: string): Promise<Artifact> {
  const { origin, pathname } = new URL(source);
  const [, repository = '', tag = 'latest'] = /^\/(.+?)(?::([\w.-]+))?$/.exec(pathname) ?? [];
  const manifest = `${origin}/v2/${repository}/manifests/${tag}`;
  const accept = { accept: 'application/vnd.oci.image.manifest.v1+json' };
  let headers: Record<string, string> = {};
  let answer = await get(manifest, accept);
  if (answer.status === 401) {
    headers = { authorization: `Bearer ${await askForToken(answer.headers.get('www-authenticate') ?? '')}` };
    answer = await get(manifest, { ...accept, ...headers });
  }
  if (!answer.ok) throw new Error(`${new URL(source).host} answered ${answer.status}`);
  const { layers } = Manifest.parse(await answer.json());
  const layer = layers.find((candidate) => candidate.mediaType === mediaType);
  if (!layer) throw new Error(`${new URL(source).host} has no layer of the type ${mediaType}`);
  return { url: `${origin}/v2/${repository}/blobs/${layer.digest}`, headers, digest: layer.digest };
}

/** @param challenge `Bearer realm="…",service="…",scope="…"` */
async function askForToken(challenge: string): Promise<string> {
  const parts = Object.fromEntries(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );
  const { realm, service, scope } = parts;
  if (!challenge.startsWith('Bearer ') || !realm) throw new Error('The registry wants credentials');
  const address = new URL(realm);
  if (service) address.searchParams.set('service', service);
  if (scope) address.searchParams.set('scope', scope);
  const answer = await get(address.href, {});
  if (!answer.ok) throw new Error(`${address.host} answered ${answer.status}`);
  return Token.parse(await answer.json());
}

function get(url: string, headers: Record<string, string>): Promise<Response> {
  return fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
}
