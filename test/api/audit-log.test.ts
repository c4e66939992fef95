import { beforeAll, describe, expect, it } from 'vitest';
import { apiKeys } from '#contract/operations/api-keys.ts';
import { assets } from '#contract/operations/assets.ts';
import { integrations } from '#contract/operations/integrations.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { projects } from '#contract/operations/projects.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { presentAuditEntry } from '#shared/presenters/audit-entry.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const inOrg = () => ({ org_id: org.orgId });
const list = async (query: object = {}) =>
  (await org.client.call(organizations.operations.listAuditLog, { query: { per_page: 100, ...query } })).data;
const uuid = (kind: 'project' | 'user' | 'team', id: string) => fromOpaque(kind, id) ?? '';
/** A UUID that no opaque id holds: with its hyphens. */
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}/;

describe('the audit log', () => {
  it('shows opaque ids wherever there is an opaque form, and says what was set', async () => {
    const team = await org.client.call(organizations.operations.createTeam, {
      params: inOrg(),
      body: { name: 'Red', description: 'A team' },
    });
    const team_id = toOpaque('team', team.id);
    const project = await org.client.call(projects.operations.createProject, {
      body: { name: 'Shop', description: 'Sells', team_id },
    });
    const sub = await org.client.call(projects.operations.createSubProject, {
      params: { project_id: project.id },
      body: { name: 'Till', description: 'Counts' },
    });
    const asset = await org.client.call(assets.operations.addRepository, {
      params: inOrg(),
      body: {
        name: 'till',
        url: 'https://git.example.com/till.git',
        default_branch: 'trunk',
        project_id: uuid('project', sub.id),
      },
    });
    const image = await org.client.call(assets.operations.addRepository, {
      params: inOrg(),
      body: {
        name: 'image',
        type: 'container_image',
        url: 'https://me:hush@registry.example.com/x?token=hush',
      },
    });
    await org.client.call(organizations.operations.addTeamMember, {
      params: { ...inOrg(), team_id: team.id },
      body: { user_id: org.admin.userId },
    });
    await org.client.call(assets.operations.unlinkRepository, {
      params: { ...inOrg(), repo_id: asset.id },
    });

    const entries = await list();
    const of = (action: string, id: string) =>
      entries.find((entry) => entry.action === action && entry.target.id === id)?.changes;
    expect(of('team.create', team_id)).toEqual({
      name: { after: 'Red' },
      description: { after: 'A team' },
    });
    expect(of('project.create', project.id)).toEqual({
      name: { after: 'Shop' },
      description: { after: 'Sells' },
      team_id: { after: team_id },
    });
    expect(of('project.create', sub.id)).toEqual({
      name: { after: 'Till' },
      description: { after: 'Counts' },
      parent_id: { after: project.id },
    });
    const asset_id = toOpaque('asset', asset.id);
    expect(of('asset.create', asset_id)).toEqual({
      name: { after: 'till' },
      type: { after: 'repository' },
      url: { after: 'https://git.example.com/till.git' },
      default_branch: { after: 'trunk' },
      project_id: { after: project.id },
      sub_project_id: { after: sub.id },
    });
    expect(of('asset.create', toOpaque('asset', image.id))).toMatchObject({
      url: { after: 'https://REDACTED@registry.example.com/x?token=REDACTED' },
    });
    expect(of('asset.unassign', asset_id)).toEqual({
      project_id: { before: project.id, after: null },
      sub_project_id: { before: sub.id, after: null },
    });
    expect(of('team_member.add', team_id)).toMatchObject({
      user_id: { after: toOpaque('user', org.admin.userId) },
    });
    // Of an organization, the slug of the test holds one.
    const shown = entries
      .filter(({ target }) => !['session', 'organization'].includes(target.type))
      .map(({ actor, target, changes }) => ({ actor: actor.id, target, changes }));
    expect(JSON.stringify(shown)).not.toMatch(UUID);
  });

  it('keeps the ids of what has no opaque form', async () => {
    const made = await org.client.call(integrations.operations.createIntegration, {
      params: inOrg(),
      body: { type: 'github', name: 'Code', config: {} },
    });
    const { client, keyId } = await org.withKey('admin');
    await client.call(projects.operations.createProject, { body: { name: 'By a key' } });
    const entries = await list();
    expect(entries).toContainEqual(expect.objectContaining({ target: { type: 'integration', id: made.id } }));
    expect(entries).toContainEqual(expect.objectContaining({ target: { type: 'api_key', id: keyId } }));
    expect((await list({ actor: keyId.toUpperCase() })).map(({ action }) => action)).toEqual([
      'project.create',
    ]);
  });

  it('is filtered by ids of either family, in any case', async () => {
    const own = await createTestOrganization();
    const project = await own.client.call(projects.operations.createProject, { body: { name: 'Found' } });
    const id = uuid('project', project.id);
    const find = async (query: object) =>
      (await own.client.call(organizations.operations.listAuditLog, { query })).data.map(
        ({ action }) => action,
      );
    for (const target_id of [project.id, id, id.toUpperCase()])
      expect(await find({ target_id })).toEqual(['project.create']);
    const { userId } = own.admin;
    const all = await find({ actor: own.admin.email });
    expect(all).toContain('project.create');
    for (const actor of [toOpaque('user', userId), userId, userId.toUpperCase()])
      expect(await find({ actor })).toEqual(all);
    expect(await find({ target_id: 'proj_nothing' })).toEqual([]);
  });

  it('is sorted by either name of its time', async () => {
    const ids = async (sort: string) => (await list({ sort })).map(({ id }) => id);
    expect(await ids('at')).toEqual(await ids('created_at'));
    expect(await ids('-at')).toEqual(await ids('-created_at'));
    expect(await ids('at')).toEqual((await ids('-at')).reverse());
    const wrong = await request('GET', '/api/organization/audit-log?sort=id', { key: org.accessToken });
    expect([wrong.status, wrong.body.error?.code]).toEqual([400, 'invalid_parameter']);
  });

  it('says which key was revoked, and never what its secret was', async () => {
    const { key, keyId } = await org.withKey('projects:read');
    const revoked = await org.client.call(apiKeys.operations.revokeApiKey, {
      params: { ...inOrg(), key_id: keyId },
    });
    const [entry] = await list({ target_id: keyId, action: 'api_key.revoke' });
    expect(entry?.changes).toEqual({
      name: { before: 'key projects:read' },
      revoked_at: { before: null, after: revoked.revoked_at },
    });
    expect(JSON.stringify(await list())).not.toContain(key.slice(-38));
  });
});

describe('an entry', () => {
  const ID = '0199c0de-5eed-7000-a000-0000000000aa';
  const entry = (changes: Record<string, unknown>, target = { type: 'scan', id: ID }) =>
    presentAuditEntry({
      id: ID,
      at: '2026-01-01T00:00:00.000Z',
      actor: { type: 'system', id: null, name: 'system' },
      action: 'scan.create',
      target,
      changes,
      request_id: null,
      ip: null,
    });
  const hex = ID.replaceAll('-', '');

  it('shows ids by the names of their fields, in lists and within what is not an id', () => {
    expect(
      entry({
        assignee: { before: ID, after: null },
        first_seen_scan_id: { after: ID },
        asset_ids: { after: [ID, ID] },
        org_id: ID,
        settings: { after: { team_id: ID, note: ID } },
        name: { after: ID },
        created_by: { after: 'key:x' },
        owner_id: { after: ID },
        user_id: { after: 'nobody' },
      }).changes,
    ).toEqual({
      assignee: { before: `user_${hex}`, after: null },
      first_seen_scan_id: { after: `scan_${hex}` },
      asset_ids: { after: [`asset_${hex}`, `asset_${hex}`] },
      org_id: `org_${hex}`,
      settings: { after: { team_id: `team_${hex}`, note: ID } },
      name: { after: ID },
      created_by: { after: 'key:x' },
      owner_id: { after: ID },
      user_id: { after: 'nobody' },
    });
  });

  it('shows what a scope names by the scope', () => {
    for (const [scope, prefix] of [
      ['project', 'proj'],
      ['asset', 'asset'],
    ])
      expect(entry({ scope: { after: scope }, target_id: { after: ID } }).changes).toEqual({
        scope: { after: scope },
        target_id: { after: `${prefix}_${hex}` },
      });
    const whole = { scope: { after: 'organization' }, target_id: { after: null } };
    expect(entry(whole).changes).toEqual(whole);
  });

  it('shows its target by the type', () => {
    expect(entry({}, { type: 'finding', id: ID }).target.id).toBe(`f_${hex}`);
    expect(entry({}, { type: 'session', id: ID }).target.id).toBe(ID);
    expect(entry({}, { type: 'toString', id: ID }).target.id).toBe(ID);
  });
});
