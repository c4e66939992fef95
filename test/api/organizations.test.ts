import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { auth } from '#contract/operations/auth.ts';
import { organizations as group } from '#contract/operations/organizations.ts';
import { projects } from '#contract/operations/projects.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { request } from '#test/harness/http.ts';
import { connect, createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';

const { operations } = group;
const PASSWORD = 'a long enough password for a test';

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const inOrg = () => ({ org_id: org.orgId });

/** A user of the organization; with a password they can sign in. */
async function makeUser(role?: string, of = org) {
  const email = `${randomUUID()}@example.com`;
  const user = await of.client.call(operations.createUser, {
    body: { email, name: 'Somebody', password: PASSWORD, ...(role && { role }) },
  });
  return { ...user, id: user.id ?? '', uuid: fromOpaque('user', user.id ?? '') ?? '' };
}

const signIn = async (email: string) =>
  await connect().call(auth.operations.login, { body: { email, password: PASSWORD } });

describe('organizations', () => {
  it('are created by a signed-in user, who becomes their admin, and read in both families', async () => {
    const made = await org.client.call(operations.createOrganization, {
      body: { name: 'Ältere Söhne & Co.' },
    });
    expect(made.slug).toMatch(/^a-ltere-so-hne-co-[0-9a-f]{8}$|^altere-sohne-co-[0-9a-f]{8}$/);
    expect(made).toMatchObject({
      name: 'Ältere Söhne & Co.',
      settings: { auto_resolve: true, repository_exclusions: 'overrule', sla_days: { critical: 7 } },
    });
    expect(await org.client.call(operations.getOrganization, { params: { org_id: made.id } })).toEqual(made);
    const own = await org.client.call(auth.operations.listOwnOrganizations);
    expect(own.map(({ id }) => id)).toEqual([org.orgId, made.id]);
    const flat = await org.client.call(operations.getOwnOrganization);
    expect(flat.id).toBe(toOpaque('organization', org.orgId));
    for (const path of ['/api/orgs/', '/api/orgs']) {
      const answer = await request('POST', path, { key: org.accessToken, body: { name: path } });
      expect(answer.status).toBe(200);
    }
    const { key } = await org.withKey('admin');
    const refused = await request('POST', '/api/orgs/', { key, body: { name: 'by a key' } });
    expect([refused.status, refused.body.error?.code]).toEqual([403, 'insufficient_permissions']);
  });

  it('have a slug of their own', async () => {
    const slug = `slug-${randomUUID()}`;
    await org.client.call(operations.createOrganization, { body: { name: 'x', slug } });
    await expect(
      org.client.call(operations.createOrganization, { body: { name: 'y', slug } }),
    ).rejects.toMatchObject({ status: 409, code: 'already_exists' });
    const wrong = await request('POST', '/api/orgs/', {
      key: org.accessToken,
      body: { name: 'x', slug: 'Not A Slug' },
    });
    expect(wrong.status).toBe(422);
  });

  it('change what is sent, and keep the rest', async () => {
    const own = await createTestOrganization();
    const params = { org_id: own.orgId };
    const changed = await own.client.call(operations.updateOrganization, {
      params,
      body: { settings: { sla_days: { high: 14, info: 365 } } },
    });
    expect(changed.settings.sla_days).toEqual({ critical: 7, high: 14, medium: 90, low: 180, info: 365 });
    const scheduled = await own.client.call(operations.updateOrganization, {
      params,
      body: { name: 'Renamed', settings: { scan_schedule: { cron: '0 3 * * 1', scanners: ['trivy'] } } },
    });
    expect(scheduled).toMatchObject({
      name: 'Renamed',
      settings: { scan_schedule: { cron: '0 3 * * 1' }, sla_days: { high: 14 }, auto_resolve: true },
    });
    const cleared = await own.client.call(operations.updateOrganization, {
      params,
      body: { settings: { scan_schedule: null, repository_exclusions: 'honour' } },
    });
    expect(cleared.settings).toMatchObject({ scan_schedule: null, repository_exclusions: 'honour' });
    for (const settings of [
      { scan_schedule: { cron: 'daily', scanners: ['trivy'] } },
      { sla_days: { high: 0 } },
      { auto_resolve: 'yes' },
      { repository_exclusions: true },
    ]) {
      const answer = await request('PATCH', `/api/orgs/${own.orgId}`, {
        key: own.accessToken,
        body: { settings },
      });
      expect(answer.status).toBe(422);
    }
  });
});

describe('members', () => {
  it('are added with the default role, listed, given another role, and removed', async () => {
    const { admin, client } = await createTestOrganization();
    const user = { uuid: admin.userId, email: admin.email };
    const add = (role?: string) =>
      org.client.call(operations.addMember, {
        params: inOrg(),
        query: { user_id: user.uuid, ...(role && { role }) },
      });
    const { invitation, ...asked } = await add();
    expect(asked).toMatchObject({ user_id: user.uuid, org_id: org.orgId, role: 'member', email: null });
    await client.call(auth.operations.acceptInvitation, { body: { token: invitation?.token ?? '' } });
    await expect(add()).rejects.toMatchObject({ status: 409, code: 'already_exists' });
    expect(await add('policy_editor')).toMatchObject({ role: 'Policy Editor', email: user.email });
    const members = await org.client.call(operations.listMembers, { params: inOrg() });
    expect(members.map(({ user_id }) => user_id)).toContain(user.uuid);
    expect(
      await org.client.call(operations.listMembers, { params: inOrg(), query: { page: 1, per_page: 1 } }),
    ).toHaveLength(1);
    const params = { ...inOrg(), member_user_id: user.uuid };
    expect(await org.client.call(operations.removeMember, { params })).toEqual({
      user_id: user.uuid,
      deleted: true,
    });
    await expect(org.client.call(operations.removeMember, { params })).rejects.toMatchObject({ status: 404 });
  });

  it.each([
    ['a user that is not there', () => randomUUID(), 'Viewer', 404],
    ['a malformed id', () => 'nobody', 'Viewer', 422],
    ['a role that is none', () => randomUUID(), 'Emperor', 422],
  ])('are refused: %s', async (_, userId, role, status) => {
    const answer = await request('POST', `/api/orgs/${org.orgId}/members?user_id=${userId()}&role=${role}`, {
      key: org.accessToken,
    });
    expect(answer.status).toBe(status);
  });

  it('always have an admin among them', async () => {
    const own = await createTestOrganization();
    const params = { org_id: own.orgId, member_user_id: own.admin.userId };
    const demote = () =>
      own.client.call(operations.addMember, {
        params: { org_id: own.orgId },
        query: { user_id: own.admin.userId, role: 'Viewer' },
      });
    await expect(own.client.call(operations.removeMember, { params })).rejects.toMatchObject({
      status: 409,
      code: 'conflict',
    });
    await expect(demote()).rejects.toMatchObject({ code: 'conflict' });
    const second = await makeUser('Admin', own);
    const secondClient = connect((await signIn(second.email)).access_token);
    // Of two admins that remove each other at once, one stays.
    const outcomes = await Promise.allSettled([
      own.client.call(operations.removeMember, {
        params: { org_id: own.orgId, member_user_id: second.uuid },
      }),
      secondClient.call(operations.removeMember, { params }),
    ]);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('lose their access with the next request when removed or demoted', async () => {
    const user = await makeUser('Project Admin');
    const session = await signIn(user.email);
    const client = connect(session.access_token);
    await client.call(projects.operations.createProject, { body: { name: `by ${user.id}` } });
    await org.client.call(operations.addMember, {
      params: inOrg(),
      query: { user_id: user.uuid, role: 'Viewer' },
    });
    await expect(
      client.call(projects.operations.createProject, { body: { name: 'no more' } }),
    ).rejects.toMatchObject({ status: 403 });
    await org.client.call(operations.removeMember, { params: { ...inOrg(), member_user_id: user.uuid } });
    const after = await request('GET', '/api/projects', { key: session.access_token });
    expect(after.status).toBe(401);
    const refreshed = await request('POST', '/api/auth/refresh', {
      body: { refresh_token: session.refresh_token },
    });
    expect([refreshed.status, refreshed.body.error?.code]).toEqual([401, 'token_invalid']);
  });
});

describe('teams', () => {
  it('are created, read, changed and deleted, with names of their own', async () => {
    const made = await org.client.call(operations.createTeam, {
      params: inOrg(),
      body: { name: 'Platform', description: 'Runs things' },
    });
    expect(made).toMatchObject({
      org_id: org.orgId,
      name: 'Platform',
      description: 'Runs things',
      member_count: 0,
    });
    const params = { ...inOrg(), team_id: made.id };
    expect(await org.client.call(operations.getTeam, { params })).toEqual(made);
    await expect(
      org.client.call(operations.createTeam, { params: inOrg(), body: { name: ' platform' } }),
    ).rejects.toMatchObject({ code: 'already_exists' });
    expect(
      await org.client.call(operations.updateTeam, { params, body: { name: 'PLATFORM', description: null } }),
    ).toMatchObject({ name: 'PLATFORM', description: null });
    const describe = (description: string) =>
      org.client.call(operations.updateTeam, { params, body: { description } });
    expect(await describe(' Again ')).toMatchObject({ description: 'Again' });
    expect(await describe('')).toMatchObject({ description: null });
    expect((await org.client.call(operations.listTeams, { params: inOrg() })).map(({ id }) => id)).toContain(
      made.id,
    );
    const bare = await request('GET', `/api/orgs/${org.orgId}/teams`, { key: org.accessToken });
    expect(bare.status).toBe(200);
    const flat = await org.client.call(operations.listOwnTeams, { query: { per_page: 100 } });
    expect(flat.data.map(({ id }) => id)).toContain(toOpaque('team', made.id));
    expect(await org.client.call(operations.deleteTeam, { params })).toEqual({ id: made.id, deleted: true });
    await expect(org.client.call(operations.getTeam, { params })).rejects.toMatchObject({ status: 404 });
    await org.client.call(operations.createTeam, { params: inOrg(), body: { name: 'platform' } });
  });

  it('stay while projects belong to them', async () => {
    const team = await org.client.call(operations.createTeam, { params: inOrg(), body: { name: 'Owner' } });
    const team_id = toOpaque('team', team.id);
    const project = await org.client.call(projects.operations.createProject, {
      body: { name: 'Owned', team_id },
    });
    const params = { ...inOrg(), team_id: team.id };
    await expect(org.client.call(operations.deleteTeam, { params })).rejects.toMatchObject({
      status: 409,
      code: 'cannot_delete',
    });
    await org.client.call(projects.operations.updateProject, {
      params: { project_id: project.id },
      body: { team_id: null },
    });
    expect(await org.client.call(operations.deleteTeam, { params })).toMatchObject({ deleted: true });
  });

  it.each(['team', 'project'] as const)(
    'and projects have members of the organization: a %s',
    async (kind) => {
      const team = await org.client.call(operations.createTeam, {
        params: inOrg(),
        body: { name: `For ${kind} ${randomUUID()}` },
      });
      const project = await org.client.call(projects.operations.createProject, {
        body: { name: `For ${kind} ${randomUUID()}` },
      });
      const groupId = kind === 'team' ? team.id : (fromOpaque('project', project.id) ?? '');
      const base =
        kind === 'team'
          ? `/api/orgs/${org.orgId}/teams/${groupId}/members`
          : `/api/orgs/${org.orgId}/${groupId}/members`;
      const user = await makeUser();
      const add = (body: unknown) => request('POST', base, { key: org.accessToken, body });

      const added = await add({ user_id: user.uuid });
      expect(added.body).toMatchObject({
        [`${kind}_id`]: groupId,
        user_id: user.uuid,
        role: 'member',
        email: user.email,
      });
      expect((await add({ user_id: user.uuid })).body.error?.code).toBe('already_exists');
      expect((await add({ user_id: user.uuid, role: 'editor' })).body).toMatchObject({ role: 'Editor' });
      expect((await add({ user_id: randomUUID() })).status).toBe(404);
      expect((await add({})).status).toBe(422);
      const stranger = await makeUser(undefined, await createTestOrganization());
      expect((await add({ user_id: stranger.uuid })).status).toBe(404);

      const listed = await request('GET', base, { key: org.accessToken });
      expect(listed.body).toMatchObject([{ user_id: user.uuid, role: 'Editor' }]);
      if (kind === 'team')
        expect(
          (await org.client.call(operations.getTeam, { params: { ...inOrg(), team_id: groupId } }))
            .member_count,
        ).toBe(1);

      const remove = () => request('DELETE', `${base}/${user.uuid}`, { key: org.accessToken });
      expect((await remove()).body).toEqual({ user_id: user.uuid, deleted: true });
      expect((await remove()).status).toBe(404);
      // Who leaves the organization leaves its groups.
      await add({ user_id: user.uuid });
      await org.client.call(operations.removeMember, { params: { ...inOrg(), member_user_id: user.uuid } });
      expect((await request('GET', base, { key: org.accessToken })).body).toEqual([]);
      expect(
        (await request('GET', base.replace(groupId, randomUUID()), { key: org.accessToken })).status,
      ).toBe(404);
    },
  );
});

describe('users', () => {
  it('are made with a role, sign in, and are listed', async () => {
    const user = await makeUser('viewer');
    expect(user).toMatchObject({ role: 'Viewer', last_login_at: null });
    const me = await connect((await signIn(user.email)).access_token).call(auth.operations.getCurrentUser);
    expect(me).toMatchObject({ email: user.email, role: 'Viewer', org_id: org.orgId });
    const listed = await org.client.call(operations.listUsers, { query: { per_page: 100, role: 'Viewer' } });
    expect(listed.data.find(({ id }) => id === user.id)?.last_login_at).not.toBeNull();
    expect(JSON.stringify(listed)).not.toContain('argon2');
  });

  it('have an e-mail of their own, in any case', async () => {
    const user = await makeUser();
    const again = await request('POST', '/api/organization/users', {
      key: org.accessToken,
      body: { email: user.email.toUpperCase(), name: 'Twin' },
    });
    expect([again.status, again.body.error?.code]).toEqual([409, 'already_exists']);
  });

  it('who left can be invited again, and stay who they are', async () => {
    const user = await makeUser();
    const client = connect((await signIn(user.email)).access_token);
    const own = 'marble otter lantern quilt';
    await client.call(auth.operations.changePassword, {
      body: { current_password: PASSWORD, new_password: own },
    });
    await org.client.call(operations.removeMember, { params: { ...inOrg(), member_user_id: user.uuid } });
    const back = await org.client.call(operations.createUser, {
      body: { email: user.email.toUpperCase(), name: 'Another name', password: 'short', role: 'editor' },
    });
    expect(back).toMatchObject({ id: null, email: user.email, name: 'Another name', role: 'Editor' });
    const { access_token } = await connect().call(auth.operations.login, {
      body: { email: user.email, password: own },
    });
    const again = connect(access_token);
    expect(await again.call(auth.operations.getCurrentUser)).toMatchObject({ org_id: null, role: null });
    const accepted = await again.call(auth.operations.acceptInvitation, {
      body: { token: back.invitation?.token ?? '' },
    });
    expect(accepted).toEqual({
      accepted: true,
      org_id: toOpaque('organization', org.orgId),
      role: 'Editor',
    });
    const { data } = await org.client.call(operations.listUsers, { query: { per_page: 100 } });
    expect(data.find(({ id }) => id === user.id)).toMatchObject({ name: 'Somebody', role: 'Editor' });
    await expect(
      org.client.call(operations.createUser, { body: { email: user.email, name: 'x' } }),
    ).rejects.toMatchObject({ status: 409, code: 'already_exists' });
    const log = await org.client.call(operations.listAuditLog, {
      query: { target_id: user.id, action: 'member.add' },
    });
    expect(log.data).toMatchObject([{ changes: { role: { after: 'Editor' } } }]);
  });

  it('whose organization was deleted can be invited to another', async () => {
    const gone = await createTestOrganization();
    const user = await makeUser(undefined, gone);
    await gone.client.call(operations.deleteOrganization, { params: { org_id: gone.orgId } });
    const { invitation } = await org.client.call(operations.createUser, {
      body: { email: user.email, name: 'Somebody', role: 'Viewer' },
    });
    const password = 'marble otter lantern quilt';
    await connect().call(auth.operations.acceptInvitationWithPassword, {
      body: { token: invitation?.token ?? '', password },
    });
    const { access_token } = await connect().call(auth.operations.login, {
      body: { email: user.email, password },
    });
    expect(await connect(access_token).call(auth.operations.getCurrentUser)).toMatchObject({
      id: user.uuid,
      org_id: org.orgId,
      role: 'Viewer',
    });
  });

  it('get no password that anybody would guess', async () => {
    const email = `${randomUUID()}@example.com`;
    for (const password of ['short', 'aaaaaaaaaaaaaaaaaaaa', email]) {
      const answer = await request('POST', '/api/organization/users', {
        key: org.accessToken,
        body: { email, name: 'Careless', password },
      });
      expect([answer.status, answer.body.error?.code]).toEqual([400, 'validation_error']);
      expect(JSON.stringify(answer.body.error)).not.toContain(`"${password}"`);
    }
  });

  it('without a password can not sign in with one', async () => {
    const email = `${randomUUID()}@example.com`;
    await org.client.call(operations.createUser, { body: { email, name: 'Federated' } });
    const answer = await request('POST', '/api/auth/login', { body: { email, password: 'x' } });
    expect([answer.status, answer.body.error?.code]).toEqual([401, 'unauthorized']);
  });
});

describe('the audit log', () => {
  it('tells what was done, by whom and when, in every filter', async () => {
    const own = await createTestOrganization();
    const params = { org_id: own.orgId };
    const began = new Date().toISOString();
    const team = await own.client.call(operations.createTeam, { params, body: { name: 'Watched' } });
    const { body, headers } = await own.client.send(operations.updateTeam, {
      params: { ...params, team_id: team.id },
      body: { name: 'Watched closely' },
    });
    const { client: keyClient } = await own.withKey('admin');
    await keyClient.call(projects.operations.createProject, { body: { name: 'By a key' } });
    const list = (query: object = {}) =>
      own.client.call(operations.listAuditLog, { query: { per_page: 100, ...query } });

    const all = await list();
    expect(all.pagination.total).toBe(all.data.length);
    expect(all.data.map(({ at }) => at)).toEqual(
      all.data
        .map(({ at }) => at)
        .sort()
        .reverse(),
    );
    const [entry] = (await list({ action: 'team.update' })).data;
    expect(entry).toMatchObject({
      actor: { type: 'user', id: toOpaque('user', own.admin.userId), name: own.admin.email },
      target: { type: 'team', id: toOpaque('team', body.id) },
      changes: { name: { before: 'Watched', after: 'Watched closely' } },
      request_id: headers.get('x-request-id'),
    });
    expect(entry?.ip).toMatch(/127\.0\.0\.1|::1/);
    expect((await list({ target_id: team.id })).data.map(({ action }) => action)).toEqual([
      'team.update',
      'team.create',
    ]);
    expect((await list({ actor: 'key admin' })).data.map(({ action }) => action)).toContain('project.create');
    expect(
      (await list({ actor: own.admin.email })).data.every(
        ({ actor }) => actor.id === toOpaque('user', own.admin.userId),
      ),
    ).toBe(true);
    expect((await list({ from: began, sort: 'created_at' })).data[0]?.action).toBe('team.create');
    expect((await list({ to: '2020-01-01T00:00:00Z' })).data).toEqual([]);
    expect((await list({ page: 2, per_page: 1 })).data).toEqual([all.data[1]]);
    const other = await createTestOrganization();
    for (const id of [team.id, toOpaque('team', team.id)])
      expect(JSON.stringify(await other.client.call(operations.listAuditLog))).not.toContain(id);
  });
});
