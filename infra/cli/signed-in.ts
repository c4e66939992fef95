import { auth } from '#contract/operations/auth.ts';
import { type Client, createClient } from '#shared/client/client.ts';

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
  const client = createClient({ url, credential: await credentialOf(url, env) });
  const { org_id: orgId } = await client.call(auth.operations.getCurrentUser);
  if (orgId === null) throw new Error('The credential belongs to no organization');
  return { client, orgId };
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
