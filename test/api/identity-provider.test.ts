import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auth } from '#contract/operations/auth.ts';
import { projects } from '#contract/operations/projects.ts';
import { type EmbeddedCloud, startEmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { createClient } from '#shared/client/client.ts';
import { type IdentityProvider, startIdentityProvider } from '#test/harness/identity-provider.ts';

let provider: IdentityProvider;
let cloud: EmbeddedCloud;

beforeAll(async () => {
  provider = await startIdentityProvider('aspm');
  cloud = await startEmbeddedCloud({
    port: 0,
    inMemory: true,
    env: { ASPM_OIDC_ISSUERS: JSON.stringify([{ issuer: provider.issuer, audience: 'aspm' }]) },
  });
});
afterAll(async () => {
  await cloud?.stop();
  await provider?.stop();
});

const clientOf = (credential: string) => createClient({ url: cloud.url, strict: true, credential });

describe('a service with an identity provider', () => {
  it('takes its tokens from the door to the record', async () => {
    const client = clientOf(await provider.token(cloud.admin.email, Date.now()));
    const me = await client.call(auth.operations.getCurrentUser);
    expect(me).toMatchObject({ type: 'user', email: cloud.admin.email, role: 'Admin' });
    const project = await client.call(projects.operations.createProject, { body: { name: 'Theirs' } });
    expect(project.name).toBe('Theirs');
    await expect(client.call(auth.operations.logout)).rejects.toMatchObject({
      code: 'validation_error',
      message: 'A token of the identity provider has no session to end',
    });
  });

  it('refuses what they do not say, in the service’s own words', async () => {
    const past = clientOf(await provider.token(cloud.admin.email, Date.now() - 3_600_000));
    await expect(past.call(auth.operations.getCurrentUser)).rejects.toMatchObject({
      status: 401,
      code: 'token_expired',
    });
    const claims = { email_verified: false };
    const unverified = clientOf(await provider.token(cloud.admin.email, Date.now(), { claims }));
    await expect(unverified.call(auth.operations.getCurrentUser)).rejects.toMatchObject({
      status: 401,
      code: 'token_invalid',
    });
  });
});
