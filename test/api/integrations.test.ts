import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { integrations } from '#contract/operations/integrations.ts';
import { systemClock } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import { integrationOperations } from '#functions/integrations/operations.ts';
import { createHostCheck } from '#shared/network/named-hosts.ts';
import { createVault } from '#shared/security/vault.ts';
import { createIntegrationStore } from '#store/integrations.ts';
import { auditPartition, integrationSecretsKey } from '#store/keys.ts';
import { request } from '#test/harness/http.ts';
import {
  connect,
  createTestOrganization,
  type TestOrganization,
  testTable,
} from '#test/harness/organization.ts';
import { storedItems } from '#test/harness/stored-items.ts';

const { operations } = integrations;
let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const inOrg = () => ({ org_id: org.orgId });
const at = (integration_id: string) => ({ org_id: org.orgId, integration_id });
const jira = (name: string, api_token = 'a-token') => ({
  type: 'jira' as const,
  name,
  config: { base_url: 'https://team.atlassian.example.com', project_key: 'SEC' },
  secrets: { api_token },
});
const webhook = (name: string) => ({
  type: 'webhook' as const,
  name,
  config: { url: 'https://hooks.example.com/x?y=1', events: ['scan.completed' as const] },
});
const github = (name: string) => ({ type: 'github' as const, name, config: {} });
const create = (body: ReturnType<typeof jira> | ReturnType<typeof webhook> | ReturnType<typeof github>) =>
  org.client.call(operations.createIntegration, { params: inOrg(), body });

/** Every item of the table, as text: only a test reads it whole. */
async function wholeTable(): Promise<string> {
  return JSON.stringify(await storedItems());
}

async function audited(orgId: string) {
  return testTable().queryAll({
    KeyConditionExpression: 'pk = :audit',
    ExpressionAttributeValues: { ':audit': auditPartition(orgId) },
    ScanIndexForward: false,
  });
}

describe('integrations', () => {
  it('are created for Jira, read, listed, changed and deleted', async () => {
    const made = await create(jira('Tracker'));
    expect(made).toMatchObject({
      type: 'jira',
      name: 'Tracker',
      status: 'active',
      config: {
        base_url: 'https://team.atlassian.example.com',
        project_key: 'SEC',
        issue_type: null,
        email: null,
      },
    });
    expect(Object.keys(made).sort()).toEqual(
      ['config', 'created_at', 'id', 'name', 'status', 'type', 'updated_at'].sort(),
    );
    expect(await org.client.call(operations.getIntegration, { params: at(made.id) })).toEqual(made);
    expect(await org.client.call(operations.listIntegrations, { params: inOrg() })).toContainEqual(made);
    const changed = await org.client.call(operations.updateIntegration, {
      params: at(made.id),
      body: { name: 'Issues', config: { issue_type: 'Bug', url: 'https://other.example.com' } },
    });
    expect(changed).toMatchObject({
      id: made.id,
      name: 'Issues',
      config: { ...made.config, issue_type: 'Bug' },
    });
    expect(changed.config).not.toHaveProperty('url');
    const same = await org.client.call(operations.updateIntegration, { params: at(made.id), body: {} });
    expect(same).toEqual(changed);
    const cleared = await org.client.call(operations.updateIntegration, {
      params: at(made.id),
      body: { config: { issue_type: null } },
    });
    expect(cleared.config).toEqual(made.config);
    expect(await org.client.call(operations.deleteIntegration, { params: at(made.id) })).toEqual({
      id: made.id,
      deleted: true,
    });
    await expect(org.client.call(operations.getIntegration, { params: at(made.id) })).rejects.toMatchObject({
      status: 404,
      code: 'not_found',
    });
    expect(await testTable().get(integrationSecretsKey(org.orgId, made.id))).toBeNull();
    // Its name is free again.
    await create(jira('Issues'));
  });

  it('are created for GitHub, with or without an account', async () => {
    expect((await create(github('Code'))).config).toEqual({ account: null });
    const named = await org.client.call(operations.createIntegration, {
      params: inOrg(),
      body: { ...github('Code of a team'), config: { account: 'team' } },
    });
    expect(named.config).toEqual({ account: 'team' });
  });

  it('are created for webhooks, whose secret is in that answer alone', async () => {
    const made = await create({ ...webhook('Chat'), secrets: { secret: 'ignored' } } as never);
    if (made.type !== 'webhook') throw new Error('no webhook');
    expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const { secret, ...shown } = made;
    expect(await org.client.call(operations.getIntegration, { params: at(made.id) })).toEqual(shown);
    const changed = await org.client.call(operations.updateIntegration, {
      params: at(made.id),
      body: { config: { events: ['scan.failed', 'scan.failed', 'finding.created'] } },
    });
    expect(changed.config).toMatchObject({ events: ['scan.failed', 'finding.created'] });
    expect(JSON.stringify(changed)).not.toContain(secret);
    expect(await wholeTable()).not.toContain(secret);
  });

  it('are listed by name, whole or by page', async () => {
    const own = await createTestOrganization();
    const params = { org_id: own.orgId };
    for (const name of ['gamma', 'Alpha', 'beta'])
      await own.client.call(operations.createIntegration, { params, body: github(name) });
    const list = async (query: { page?: number; per_page?: number }) =>
      (await own.client.call(operations.listIntegrations, { params, query })).map(({ name }) => name);
    expect(await list({})).toEqual(['Alpha', 'beta', 'gamma']);
    expect(await list({ page: 2, per_page: 2 })).toEqual(['gamma']);
  });

  it('have names that are unique in the organization, in any case and type', async () => {
    const made = await create(jira('Unique'));
    await expect(create(webhook('UNIQUE '))).rejects.toMatchObject({ status: 409, code: 'already_exists' });
    const second = await create(github('Second'));
    await expect(
      org.client.call(operations.updateIntegration, { params: at(second.id), body: { name: 'unique' } }),
    ).rejects.toMatchObject({ status: 409, code: 'already_exists' });
    const cased = await org.client.call(operations.updateIntegration, {
      params: at(made.id),
      body: { name: 'uNIQUE' },
    });
    expect(cased.name).toBe('uNIQUE');
  });

  it('let exactly one of many equal creations through', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => create(jira('Contended'))));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'already_exists' });
  });

  it('answer conflict where two change or delete the same at once', async () => {
    const store = createIntegrationStore(testTable());
    const made = await create(github('Raced'));
    const held = await store.require(org.orgId, made.id);
    await org.client.call(operations.updateIntegration, { params: at(made.id), body: { name: 'Raced 2' } });
    const late = {
      actor: { type: 'system' as const, id: null, name: 'test' },
      requestId: null,
      ip: null,
      at: 0,
    };
    await expect(store.update(org.orgId, held, { name: 'Late' }, late)).rejects.toMatchObject({
      code: 'conflict',
    });
    await expect(store.delete(org.orgId, held, late)).rejects.toMatchObject({ code: 'conflict' });
  });
});

describe('secrets of integrations', () => {
  const open = async (integrationId: string) => {
    const item = await testTable().get(integrationSecretsKey(org.orgId, integrationId));
    return item?.sealed;
  };

  it('are in no answer, no item of the table, and no audit entry', async () => {
    const own = await createTestOrganization();
    const params = { org_id: own.orgId };
    const [token, inbound, renewed] = [randomUUID(), randomUUID(), randomUUID()];
    const answers: unknown[] = [];
    const made = await own.client.call(operations.createIntegration, {
      params,
      body: { ...jira('Sealed'), secrets: { api_token: token, webhook_secret: inbound } },
    });
    const integration = { ...params, integration_id: made.id };
    answers.push(made);
    answers.push(
      await own.client.call(operations.updateIntegration, {
        params: integration,
        body: { secrets: { api_token: renewed } },
      }),
    );
    answers.push(await own.client.call(operations.listIntegrations, { params }));
    // A refusal does not repeat what it was given either.
    const path = `/api/orgs/${own.orgId}/integrations`;
    const body = { ...jira('Sealed', token), config: { base_url: token, project_key: 'SEC' } };
    const refused = await request('POST', `${path}?verbose=true`, { key: own.accessToken, body });
    expect(refused.status).toBe(422);
    const twice = await request('POST', `${path}?verbose=true`, {
      key: own.accessToken,
      body: jira('Sealed', token),
    });
    expect(twice.status).toBe(409);
    const entries = await audited(own.orgId);
    expect(entries.slice(0, 2)).toMatchObject([
      { action: 'integration.update', changes: { secrets: { after: 'set' } } },
      { action: 'integration.create', changes: { type: { after: 'jira' }, secrets: { after: 'set' } } },
    ]);
    const everything = JSON.stringify([answers, refused.body, twice.body, entries]) + (await wholeTable());
    for (const secret of [token, inbound, renewed]) {
      expect(everything).not.toContain(secret);
      expect(everything).not.toContain(Buffer.from(secret).toString('base64').slice(0, -4));
    }
  });

  it('are sealed anew by a change of them, and left alone by any other', async () => {
    const made = await create(jira('Rotated'));
    const before = await open(made.id);
    expect(before).toEqual(expect.any(String));
    await org.client.call(operations.updateIntegration, {
      params: at(made.id),
      body: { config: { project_key: 'OPS' }, secrets: {} },
    });
    expect(await open(made.id)).toBe(before);
    await org.client.call(operations.updateIntegration, {
      params: at(made.id),
      body: { secrets: { webhook_secret: 'hush' } },
    });
    expect(await open(made.id)).not.toBe(before);
  });

  it('keep what a change does not name, and drop what it clears', async () => {
    const vault = createVault(
      async () => 'a secret of sixty-four characters, which no deployment ever uses!',
    );
    const store = createIntegrationStore(testTable());
    const dependencies = {
      integrations: store,
      vault,
      clock: systemClock,
      ids: createIds(systemClock),
      mayUseHost: createHostCheck('public'),
    };
    const asked = { ...asAdmin(), query: undefined, upload: undefined };
    const made = await integrationOperations.createIntegration(
      {
        ...asked,
        params: inOrg(),
        body: {
          ...jira('Kept'),
          config: { ...jira('').config, issue_type: null, email: null },
          secrets: { api_token: 'first', webhook_secret: 'hush' },
        },
      },
      dependencies,
    );
    const read = async () =>
      vault.open(org.orgId, made.id, (await store.readSealed(org.orgId, made.id)) ?? '');
    const change = (secrets: { api_token?: string; webhook_secret?: string | null }) =>
      integrationOperations.updateIntegration(
        { ...asked, params: at(made.id), body: { secrets } },
        dependencies,
      );
    expect(await read()).toEqual({ api_token: 'first', webhook_secret: 'hush' });
    await change({ api_token: 'second' });
    expect(await read()).toEqual({ api_token: 'second', webhook_secret: 'hush' });
    await change({ webhook_secret: null });
    expect(await read()).toEqual({ api_token: 'second' });
  });
});

describe('the URL of a webhook', () => {
  const withUrl = (name: string, url: string) => ({
    type: 'webhook' as const,
    name,
    config: { url, events: ['scan.completed' as const] },
  });
  const patch = (id: string, body: object) =>
    request('PATCH', `/api/orgs/${org.orgId}/integrations/${id}`, { key: org.accessToken, body });

  it('shows none of the values of its query, anywhere', async () => {
    const own = await createTestOrganization();
    const params = { org_id: own.orgId };
    const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
    const made = await own.client.call(operations.createIntegration, {
      params,
      body: withUrl('Hook', `https://hooks.example.com/x?v=1&sig=${first}`),
    });
    const shown = 'https://hooks.example.com/x?v=REDACTED&sig=REDACTED';
    expect(made.config).toMatchObject({ url: shown });
    const update = (config: object) =>
      own.client.call(operations.updateIntegration, {
        params: { ...params, integration_id: made.id },
        body: { config },
      });
    const changed = await update({ url: `https://hooks.example.com/x?v=1&sig=${second}` });
    expect(changed.config).toMatchObject({ url: shown });
    expect((await update({ url: `https://hooks.example.com/y?${third}` })).config).toMatchObject({
      url: 'https://hooks.example.com/y?REDACTED',
    });
    const entries = await audited(own.orgId);
    expect(entries.slice(0, 3)).toMatchObject([
      {
        action: 'integration.update',
        changes: {
          config: {
            before: { url: shown },
            after: { url: 'https://hooks.example.com/y?REDACTED' },
          },
          secrets: { after: 'set' },
        },
      },
      // The values alone: what is shown stays as it is.
      { action: 'integration.update', changes: { secrets: { after: 'set' } } },
      { action: 'integration.create', changes: { config: { after: { url: shown } } } },
    ]);
    expect(entries[1]?.changes).toEqual({ secrets: { after: 'set' } });
    const { client: reader } = await own.withKey('projects:read');
    const read = [
      await reader.call(operations.listIntegrations, { params }),
      await reader.call(operations.getIntegration, { params: { ...params, integration_id: made.id } }),
    ];
    const everything = JSON.stringify([made, changed, entries, read]) + (await wholeTable());
    for (const secret of [first, second, third]) expect(everything).not.toContain(secret);
  });

  it('is kept whole with the secrets, and stays where it is sent back as it is shown', async () => {
    const vault = createVault(
      async () => 'a secret of sixty-four characters, which no deployment ever uses!',
    );
    const store = createIntegrationStore(testTable());
    const dependencies = {
      integrations: store,
      vault,
      clock: systemClock,
      ids: createIds(systemClock),
      mayUseHost: createHostCheck('public'),
    };
    const asked = { ...asAdmin(), query: undefined, upload: undefined };
    const url = 'https://hooks.example.com/x?sig=hush';
    const made = await integrationOperations.createIntegration(
      { ...asked, params: inOrg(), body: withUrl('Whole', url) },
      dependencies,
    );
    const read = async () =>
      vault.open(org.orgId, made.id, (await store.readSealed(org.orgId, made.id)) ?? '');
    const change = (config: { url?: string; events?: 'scan.failed'[] }) =>
      integrationOperations.updateIntegration(
        { ...asked, params: at(made.id), body: { config } },
        dependencies,
      );
    const { secret } = await read();
    expect(secret).toMatch(/^whsec_/);
    const { updated_at } = await store.require(org.orgId, made.id);
    for (const same of [url, 'https://hooks.example.com/x?sig=REDACTED']) {
      expect(await change({ url: same })).toMatchObject({ updated_at });
      expect(await read()).toEqual({ secret, url });
    }
    await change({ url: 'https://hooks.example.com/x?sig=REDACTED', events: ['scan.failed'] });
    expect(await read()).toEqual({ secret, url });
    const next = 'https://hooks.example.com/x?sig=other';
    await change({ url: next });
    expect(await read()).toEqual({ secret, url: next });
  });

  it('is hidden and kept as well in records that are older than its seal', async () => {
    const made = await create(webhook('Older'));
    const store = createIntegrationStore(testTable());
    const url = 'https://hooks.example.com/old?sig=hush';
    const at0 = { actor: { type: 'system' as const, id: null, name: 'test' }, requestId: null, ip: null };
    const held = await store.require(org.orgId, made.id);
    await store.update(org.orgId, held, { config: { url } }, { ...at0, at: Date.now() });
    const renamed = await patch(made.id, { name: 'Older still' });
    expect(renamed.body.config).toMatchObject({ url: 'https://hooks.example.com/old?sig=REDACTED' });
    expect((await store.require(org.orgId, made.id)).config).toMatchObject({ url });
    expect(JSON.stringify(await audited(org.orgId))).not.toContain('hush');
  });

  it('must be whole where it changes, and when it is made', async () => {
    const made = await create(withUrl('Moved', 'https://hooks.example.com/x?sig=hush') as never);
    const moved = { url: 'https://elsewhere.example.com/x?sig=REDACTED' };
    const refusal = {
      loc: ['body', 'config', 'url'],
      msg: 'config.url must be whole: REDACTED stands for what is never shown',
    };
    const answer = await patch(made.id, { config: moved });
    expect([answer.status, answer.body.detail]).toMatchObject([422, [refusal]]);
    const copied = await request('POST', `/api/orgs/${org.orgId}/integrations`, {
      key: org.accessToken,
      body: { ...withUrl('Copied', ''), config: { ...moved, events: ['scan.failed'] } },
    });
    expect([copied.status, copied.body.detail]).toMatchObject([422, [refusal]]);
  });
});

describe('the token of Jira', () => {
  const move = async (name: string, body: object) => {
    const made = await create(jira(name));
    return request('PATCH', `/api/orgs/${org.orgId}/integrations/${made.id}`, {
      key: org.accessToken,
      body,
    });
  };

  it.each([
    ['another host', 'https://evil.example.com'],
    ['another port', 'https://team.atlassian.example.com:8443'],
    ['plain HTTP', 'http://team.atlassian.example.com'],
  ])('goes to %s only where it is sent along', async (name, base_url) => {
    const refused = await move(`Token to ${name}`, { config: { base_url } });
    expect([refused.status, refused.body.detail]).toMatchObject([
      422,
      [
        {
          loc: ['body', 'secrets', 'api_token'],
          msg: 'secrets.api_token is required where config.base_url moves to another origin',
        },
      ],
    ]);
    const other = await move(`Other secret to ${name}`, {
      config: { base_url },
      secrets: { webhook_secret: 'x' },
    });
    expect(other.status).toBe(422);
    const moved = await move(`Along to ${name}`, { config: { base_url }, secrets: { api_token: 'new' } });
    expect([moved.status, moved.body.config]).toMatchObject([200, { base_url }]);
  });

  it('stays where the origin does', async () => {
    const base_url = 'https://TEAM.atlassian.example.com:443/jira';
    const moved = await move('Same origin', { config: { base_url } });
    expect([moved.status, moved.body.config]).toMatchObject([200, { base_url }]);
  });

  it.each([
    ['http://169.254.169.254/latest', 422],
    ['http://2852039166', 422],
    ['http://169.254.1.1.', 422],
    ['http://[::ffff:169.254.169.254]', 422],
    ['http://[64:ff9b::a9fe:a9fe]', 422],
    ['http://[fe80::1]', 422],
    ['http://[fd00:ec2::254]', 422],
    ['http://metadata.google.internal', 422],
    ['http://10.0.0.1', 200],
    ['http://127.0.0.1:8080', 200],
    ['http://[fd00::1]', 200],
    ['http://jira.internal', 200],
  ])('to %s answers %i', async (base_url, status) => {
    const config = { base_url, project_key: 'SEC' };
    const made = await request('POST', `/api/orgs/${org.orgId}/integrations`, {
      key: org.accessToken,
      body: { ...jira(base_url), config },
    });
    expect(made.status).toBe(status);
    const moved = await move(`to ${base_url}`, { config, secrets: { api_token: 'new' } });
    expect(moved.status).toBe(status);
    const detail = [{ loc: ['body', 'config', 'base_url'] }];
    if (status === 422) expect([made.body, moved.body]).toMatchObject([{ detail }, { detail }]);
  });
});

/** The parts of an operation's input that are the caller's. */
function asAdmin() {
  return {
    caller: {
      kind: 'api_key' as const,
      id: randomUUID(),
      name: 'test',
      orgId: org.orgId,
      scopes: ['admin' as const],
    },
    requestId: 'req_test',
    ip: '192.0.2.1',
    idempotencyKey: null,
    showRate: () => undefined,
  };
}

describe('bad integrations', () => {
  const { config: jiraConfig } = jira('');
  const { config: hook } = webhook('');
  const wrong = (config: object, type = 'jira') => ({
    type,
    name: 'x',
    config: { ...(type === 'jira' ? jiraConfig : hook), ...config },
    secrets: { api_token: 'x' },
  });

  const refused: [object, (string | number)[], unknown][] = [
    [{}, ['body', 'type'], 'type is required'],
    [{ type: 'svn', name: 'x', config: {} }, ['body', 'type'], 'type must be one of github, jira, webhook'],
    [[], ['body'], 'body must be a JSON object'],
    [{ type: 'github', name: 'x' }, ['body', 'config'], 'config is required'],
    [{ type: 'github', name: ' ', config: {} }, ['body', 'name'], 'name must not be empty'],
    [{ type: 'jira', name: 'x', config: jiraConfig }, ['body', 'secrets'], 'secrets is required'],
    [
      { type: 'jira', name: 'x', config: jiraConfig, secrets: {} },
      ['body', 'secrets', 'api_token'],
      'secrets.api_token is required',
    ],
    [
      { type: 'jira', name: 'x', config: {}, secrets: { api_token: 'x' } },
      ['body', 'config', 'base_url'],
      'config.base_url is required',
    ],
    ...[
      'ftp://x.example.com',
      'nothing',
      'https://me:pw@x.example.com',
      'https://x.example.com/#a',
      'https://x.example.com/?token=a',
    ].map(
      (base_url) =>
        [
          wrong({ base_url }),
          ['body', 'config', 'base_url'],
          'config.base_url must be an http or https URL without credentials, query and fragment',
        ] satisfies (typeof refused)[number],
    ),
    [
      wrong({ project_key: 'sec team' }),
      ['body', 'config', 'project_key'],
      'config.project_key must be the key of a Jira project, such as SEC',
    ],
    [wrong({ email: 'me' }), ['body', 'config', 'email'], 'config.email must be an e-mail address'],
    [
      wrong({ events: [] }, 'webhook'),
      ['body', 'config', 'events'],
      'config.events must contain at least one event',
    ],
    [
      wrong({ events: ['scan.started'] }, 'webhook'),
      ['body', 'config', 'events', 0],
      expect.stringMatching(/^config\.events\.0 must be one of scan\.completed, scan\.failed/),
    ],
  ];

  it.each(refused)('%j is refused', async (body, loc, msg) => {
    const answer = await request('POST', `/api/orgs/${org.orgId}/integrations`, {
      key: org.accessToken,
      body,
    });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toContainEqual(expect.objectContaining({ loc, msg }));
  });

  it.each([
    'http://127.0.0.1/x',
    'http://localhost:8080',
    'http://LOCALHOST./x',
    'http://2130706433/',
    'http://[::1]/',
    'http://[::ffff:10.0.0.1]/',
    'https://hooks.internal/x',
  ])('a webhook to %s is refused, unless the deployment allows private addresses', async (url) => {
    const stores = {
      integrations: createIntegrationStore(testTable()),
      vault: createVault(async () => 'unused, and sixty-four characters long, as every one of them is'),
      clock: systemClock,
      ids: createIds(systemClock),
    };
    const body = { ...webhook(url), config: { ...hook, url } };
    const input = { ...asAdmin(), params: inOrg(), query: undefined, upload: undefined, body };
    const strict = { ...stores, mayUseHost: createHostCheck('public') };
    const detail = [expect.objectContaining({ loc: ['body', 'config', 'url'] })];
    await expect(integrationOperations.createIntegration(input, strict)).rejects.toMatchObject({ detail });
    const made = await integrationOperations.createIntegration(input, {
      ...stores,
      mayUseHost: createHostCheck('all'),
    });
    await expect(
      integrationOperations.updateIntegration(
        { ...input, params: at(made.id), body: { config: { url } } },
        strict,
      ),
    ).rejects.toMatchObject({ detail });
  });

  it('secrets of a webhook cannot be set', async () => {
    const made = await create(webhook('Fixed'));
    const answer = await request('PATCH', `/api/orgs/${org.orgId}/integrations/${made.id}`, {
      key: org.accessToken,
      body: { secrets: { api_token: 'x' } },
    });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([{ loc: ['body', 'secrets'] }]);
  });

  it('a change is checked as a creation is', async () => {
    const made = await create(jira('Checked'));
    for (const [body, loc] of [
      [{ config: { base_url: null } }, ['body', 'config', 'base_url']],
      [{ config: { email: 'me' } }, ['body', 'config', 'email']],
      [{ secrets: { api_token: null } }, ['body', 'secrets', 'api_token']],
      [{ name: '' }, ['body', 'name']],
    ] as const) {
      const answer = await request('PATCH', `/api/orgs/${org.orgId}/integrations/${made.id}`, {
        key: org.accessToken,
        body,
      });
      expect([answer.status, answer.body.detail]).toMatchObject([422, [{ loc }]]);
    }
  });
});

describe('access to integrations', () => {
  it('needs projects:read to look, and admin to change', async () => {
    const made = await create(github('Guarded'));
    const reader = (await org.withKey('projects:read')).client;
    const writer = (await org.withKey('projects:read', 'projects:write')).client;
    const keeper = (await org.withKey('admin')).client;
    expect(await reader.call(operations.getIntegration, { params: at(made.id) })).toEqual(made);
    for (const client of [writer, await org.withRole('Project Admin')]) {
      const refusal = { status: 403, code: 'insufficient_permissions' };
      await expect(
        client.call(operations.createIntegration, { params: inOrg(), body: github('Mine') }),
      ).rejects.toMatchObject(refusal);
      await expect(
        client.call(operations.updateIntegration, { params: at(made.id), body: { name: 'Mine' } }),
      ).rejects.toMatchObject(refusal);
      await expect(client.call(operations.deleteIntegration, { params: at(made.id) })).rejects.toMatchObject(
        refusal,
      );
    }
    await keeper.call(operations.deleteIntegration, { params: at(made.id) });
    await expect(connect().call(operations.listIntegrations, { params: inOrg() })).rejects.toMatchObject({
      status: 401,
      code: 'unauthorized',
    });
  });

  it('hides the integrations of another organization, and refuses malformed ids', async () => {
    const other = await createTestOrganization();
    const foreign = await other.client.call(operations.createIntegration, {
      params: { org_id: other.orgId },
      body: github('Foreign'),
    });
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const options = { key: org.accessToken, ...(method === 'PATCH' && { body: { name: 'Mine' } }) };
      for (const [orgId, id, status] of [
        [org.orgId, foreign.id, 404],
        [other.orgId, foreign.id, 404],
        [org.orgId, 'nope', 422],
      ] as const)
        expect((await request(method, `/api/orgs/${orgId}/integrations/${id}`, options)).status).toBe(status);
    }
    expect(await org.client.call(operations.listIntegrations, { params: inOrg() })).not.toContainEqual(
      expect.objectContaining({ id: foreign.id }),
    );
  });
});
