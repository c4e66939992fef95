import { beforeAll, describe, expect, it } from 'vitest';
import { auth } from '#contract/operations/auth.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { toOpaque } from '#domain/ids.ts';
import { inviteEmail, OWN, PLANTED, plant, signIn, someEmail, tokenOf } from '#test/harness/accounts.ts';
import { connect, createTestOrganization, join, type TestOrganization } from '#test/harness/organization.ts';

const { operations } = organizations;
let org: TestOrganization;
let elsewhere: TestOrganization;
beforeAll(async () => {
  [org, elsewhere] = await Promise.all([createTestOrganization(), createTestOrganization()]);
});

const invite = (email: string, role: string) =>
  org.client.call(operations.createUser, { body: { email, name: 'Typed', role } });
const rolesOf = async (orgId: string, email: string) => {
  const of = orgId === org.orgId ? org : elsewhere;
  const { data } = await of.client.call(operations.listUsers, { query: { per_page: 100 } });
  return data.filter((user) => user.email === email).map(({ role }) => role);
};

describe('an invitation', () => {
  it('is made where the e-mail is known elsewhere, with a token for a week', async () => {
    const { email } = elsewhere.admin;
    const made = await invite(email, 'editor');
    expect(made).toMatchObject({ id: null, email, name: 'Typed', role: 'Editor', last_login_at: null });
    const left = Date.parse(made.invitation?.expires_at ?? '') - Date.now();
    expect(Math.round(left / 86_400_000)).toBe(7);
    expect(await rolesOf(org.orgId, email)).toEqual([]);
    const { data, pagination } = await org.client.call(operations.listInvitations);
    expect(data[0]).toEqual({
      id: made.invitation?.id,
      email,
      user_id: null,
      role: 'Editor',
      created_at: made.created_at,
      created_by: org.admin.email,
      expires_at: made.invitation?.expires_at,
    });
    expect(pagination.total).toBe(data.length);
    await org.client.call(operations.revokeInvitation, { params: { invitation_id: data[0]?.id ?? '' } });
    const after = await org.client.call(operations.listInvitations);
    expect(after.data.map(({ id }) => id)).not.toContain(made.invitation?.id);
  });

  it('is not made where the e-mail is nobody’s: that makes the user', async () => {
    const email = someEmail();
    const made = await org.client.call(operations.createUser, {
      body: { email, name: 'New', password: PLANTED },
    });
    expect(made).toMatchObject({ id: expect.stringMatching(/^user_/), email, invitation: null });
    expect(await rolesOf(org.orgId, email)).toEqual(['member']);
    // A password that an admin chose serves as long as the account is that organization's alone.
    expect(await signIn(email, PLANTED)).not.toBe('');
  });

  it('opens the organization to what the person is signed in with', async () => {
    const other = await createTestOrganization();
    await join(org, { userId: other.admin.userId, client: other.client }, 'Editor');
    const mine = await other.client.call(auth.operations.listOwnOrganizations);
    expect(mine.map(({ id }) => id)).toEqual([other.orgId, org.orgId]);
    const pair = await connect().call(auth.operations.login, { body: { ...other.admin, org_id: org.orgId } });
    const me = await connect(pair.access_token).call(auth.operations.getCurrentUser);
    expect(me).toMatchObject({ id: other.admin.userId, org_id: org.orgId, role: 'Editor' });
  });

  it('is accepted with a new password by who has none, and the password can be changed', async () => {
    const { email } = await plant(elsewhere, someEmail(), null);
    const { invitation } = await invite(email, 'Viewer');
    const accepted = await connect().call(auth.operations.acceptInvitationWithPassword, {
      body: { token: invitation?.token ?? '', password: PLANTED },
    });
    expect(accepted).toEqual({
      accepted: true,
      org_id: toOpaque('organization', org.orgId),
      role: 'Viewer',
    });
    const first = await signIn(email, PLANTED);
    const second = await signIn(email, PLANTED);
    await connect(first).call(auth.operations.changePassword, {
      body: { current_password: PLANTED, new_password: OWN },
    });
    for (const ended of [first, second])
      await expect(connect(ended).call(auth.operations.getCurrentUser)).rejects.toMatchObject({
        code: 'token_invalid',
      });
    expect(await signIn(email, PLANTED)).toBe('');
    const me = await connect(await signIn(email, OWN)).call(auth.operations.getCurrentUser);
    expect(me).toMatchObject({ email, org_id: org.orgId, role: 'Viewer' });
    expect(await rolesOf(elsewhere.orgId, email)).toEqual(['Viewer']);
  });

  it('can be declined, and all of it is in the audit log', async () => {
    const own = await createTestOrganization();
    const { email } = elsewhere.admin;
    const declined = tokenOf(await inviteEmail(own, email, 'Viewer'));
    await connect().call(auth.operations.declineInvitation, { body: { token: declined } });
    const accepted = tokenOf(await inviteEmail(own, email, 'Viewer'));
    await elsewhere.client.call(auth.operations.acceptInvitation, { body: { token: accepted } });
    const { data } = await own.client.call(operations.listAuditLog, {
      query: { sort: 'created_at', per_page: 100 },
    });
    const told = data.filter(({ action }) => /^(?:invitation|member)\./.test(action));
    expect(told.map(({ action, actor, target }) => [action, actor.name, target.type]).slice(0, 3)).toEqual([
      ['invitation.create', own.admin.email, 'invitation'],
      ['invitation.decline', 'invitation', 'invitation'],
      ['invitation.create', own.admin.email, 'invitation'],
    ]);
    expect(
      told
        .slice(3)
        .map(({ action, actor }) => [action, actor.name])
        .sort(),
    ).toEqual([
      ['invitation.accept', email],
      ['member.add', email],
    ]);
    expect(told[0]?.changes).toEqual({ email: { after: email }, role: { after: 'Viewer' } });
  });
});
