import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auth } from '#contract/operations/auth.ts';
import { projects } from '#contract/operations/projects.ts';
import type { EmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { createClient } from '#shared/client/client.ts';
import { type IdentityProvider, startIdentityProvider } from '#test/harness/identity-provider.ts';
import { startTestCloud } from '#test/harness/test-cloud.ts';

let provider: IdentityProvider;
/** Configured, and not there. */
let gone: IdentityProvider;
let cloud: EmbeddedCloud;

beforeAll(async () => {
  provider = await startIdentityProvider('aspm');
  gone = await startIdentityProvider('aspm');
  await gone.stop();
  const issuers = [provider, gone].map(({ issuer }) => ({ issuer, audience: 'aspm' }));
  cloud = await startTestCloud({
    port: 0,
    inMemory: true,
    env: { ASPM_OIDC_ISSUERS: JSON.stringify(issuers) },
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

  it('says so where the provider is not there, in the envelope and with its headers', async () => {
    const token = await gone.token(cloud.admin.email, Date.now());
    const answer = await fetch(`${cloud.url}/api/projects`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('30');
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
    expect(answer.headers.get('x-ratelimit-limit')).toMatch(/^\d+$/);
    expect(await answer.json()).toMatchObject({ error: { code: 'service_unavailable', retry_after: 30 } });
    // Those who need no credential are none the worse.
    expect((await fetch(`${cloud.url}/api/health`)).status).toBe(200);
  });
});
