import { auth } from '#contract/operations/auth.ts';
import { reference } from '#contract/operations/reference.ts';
import { type Client, createClient } from '#shared/client/client.ts';

/** For the first answer of an address. */
const PATIENCE_MS = 30_000;

/** How commands that use a service find it, and who they are there. */
export const SIGN_IN_USAGE = `ASPM_ADMIN_EMAIL and ASPM_ADMIN_PASSWORD sign in; ASPM_API_KEY is a key instead.`;

/**
 * A client of the service at `url`, signed in as the environment says.
 * @throws Error where the environment holds no credential; ApiError where it is refused
 */
export async function signIn(
  url: string,
  env: NodeJS.ProcessEnv,
): Promise<{ client: Client; orgId: string }> {
  await checkAddress(url);
  const client = createClient({ url, credential: await credentialOf(url, env) });
  const { org_id: orgId } = await client.call(auth.operations.getCurrentUser);
  if (orgId === null) throw new Error('The credential belongs to no organization');
  return { client, orgId };
}

/** @throws Error that names the address where something else answers there, or nothing */
async function checkAddress(url: string): Promise<void> {
  const { path, response } = reference.operations.getHealth;
  const said = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(PATIENCE_MS) })
    .then((answer) => answer.json())
    .catch(() => null);
  if (!response.schema.safeParse(said).success) throw new Error(`This service does not answer at ${url}`);
}

async function credentialOf(url: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { ASPM_ADMIN_EMAIL: email, ASPM_ADMIN_PASSWORD: password, ASPM_API_KEY: key } = env;
  if (email && password) {
    const pair = await createClient({ url }).call(auth.operations.login, { body: { email, password } });
    return pair.access_token;
  }
  if (key) return key;
  throw new Error(`Who are you? ${SIGN_IN_USAGE}`);
}
