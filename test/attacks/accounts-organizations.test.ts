import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auth } from '#contract/operations/auth.ts';
import { organizations } from '#contract/operations/organizations.ts';
import type { EmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { createClient } from '#shared/client/client.ts';
import { readConfig } from '#shared/config.ts';
import { attack } from '#test/harness/attack.ts';
import { request } from '#test/harness/http.ts';
import { startTestCloud } from '#test/harness/test-cloud.ts';

let cloud: EmbeddedCloud;
let key: string;
beforeAll(async () => {
  const password = 'ladder copper violin meadow';
  cloud = await startTestCloud({
    port: 0,
    inMemory: true,
    env: {
      ASPM_ORG_CREATION: 'admins',
      ASPM_ORG_CREATION_CAP: '3',
      ASPM_RATE_LIMIT_FACTOR: '1000',
      ASPM_ADMIN_PASSWORD: password,
    },
  });
  const client = createClient({ url: cloud.url, strict: true });
  const body = { email: cloud.admin.email, password };
  key = (await client.call(auth.operations.login, { body })).access_token;
});
afterAll(() => cloud?.stop());

const create = (by: string) =>
  request('POST', '/api/orgs/', { url: cloud.url, key: by, body: { name: 'Another' } });

describe('making organizations', () => {
  attack('accounts', 'got through', 'is refused to whom the setting leaves out', async () => {
    const client = createClient({ url: cloud.url, strict: true, credential: key });
    const someone = { email: 'someone@example.com', password: 'marble otter lantern quilt' };
    await client.call(organizations.operations.createUser, {
      body: { ...someone, name: 'Someone', role: 'Project Admin' },
    });
    const pair = await client.call(auth.operations.login, { body: someone });
    const refused = await create(pair.access_token);
    expect([refused.status, refused.body.error?.code]).toEqual([403, 'insufficient_permissions']);
  });

  attack('accounts', 'got through', 'ends at the cap, however many are made at once', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => create(key)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    for (const { status, body } of answers.filter((answer) => answer.status !== 200))
      expect([status, body.error?.code]).toEqual([409, 'conflict']);
  });

  test('is the operator’s where nothing is set', () => {
    expect(readConfig(['ASPM_ORG_CREATION', 'ASPM_ORG_CREATION_CAP'], {})).toEqual({
      ASPM_ORG_CREATION: 'operator',
      ASPM_ORG_CREATION_CAP: 10,
    });
  });
});
