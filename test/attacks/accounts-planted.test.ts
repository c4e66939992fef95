import { beforeEach, describe, expect } from 'vitest';
import { organizations } from '#contract/operations/organizations.ts';
import {
  accept,
  acceptWithPassword,
  changePassword,
  inviteEmail,
  inviteId,
  login,
  OWN,
  openedBy,
  ownAccount,
  PLANTED,
  plant,
  remove,
  signIn,
  someEmail,
  tokenOf,
} from '#test/harness/accounts.ts';
import { attack } from '#test/harness/attack.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';

/** Two organizations that know nothing of each other; an admin of either may be the attacker. */
let a: TestOrganization;
let b: TestOrganization;
beforeEach(async () => {
  [a, b] = await Promise.all([createTestOrganization(), createTestOrganization()]);
});

const MINE = 'quarry thimble walrus sonata';
const LATER = 'bramble cobalt ferry mosaic';

describe('an admin who made the account of somebody else’s e-mail', () => {
  attack('accounts', 'got through', 'does not get the role that another organization gives it', async () => {
    const { email } = await plant(a, someEmail());
    await inviteEmail(b, email);
    expect(await openedBy(email, PLANTED, [b])).toEqual([]);
  });

  attack('accounts', 'got through', 'does not get it where the user is named by the id', async () => {
    const { email, userId } = await plant(a, someEmail());
    await inviteId(b, userId);
    expect(await openedBy(email, PLANTED, [b])).toEqual([]);
  });

  attack('accounts', 'got through', 'loses the password and its sessions with the invitation', async () => {
    const { email } = await plant(a, someEmail());
    const { access_token, refresh_token } = (await login(email, PLANTED)).body;
    await inviteEmail(b, email);
    expect((await login(email, PLANTED)).status).toBe(401);
    expect((await request('GET', '/api/auth/me', { key: String(access_token) })).status).toBe(401);
    const refreshed = await request('POST', '/api/auth/refresh', { body: { refresh_token } });
    expect(refreshed.body.error?.code).toBe('token_invalid');
  });

  attack('accounts', 'got through', 'does not get in by changing the password before', async () => {
    const { email } = await plant(a, someEmail());
    await changePassword(await signIn(email, PLANTED), PLANTED, MINE);
    const invited = await inviteEmail(b, email);
    expect(await openedBy(email, MINE, [b])).toEqual([]);
    // Nor after the person has accepted.
    expect((await acceptWithPassword(tokenOf(invited), OWN)).status).toBe(200);
    expect(await openedBy(email, MINE, [a, b])).toEqual([a.orgId]);
    expect(await openedBy(email, OWN, [a, b])).toEqual([b.orgId]);
  });

  attack('accounts', 'got through', 'does not get in by changing the password meanwhile', async () => {
    const { email } = await plant(a, someEmail());
    const key = await signIn(email, PLANTED);
    const [invited] = await Promise.all([inviteEmail(b, email), changePassword(key, PLANTED, MINE)]);
    if (tokenOf(invited)) await acceptWithPassword(tokenOf(invited), OWN);
    for (const password of [PLANTED, MINE]) expect(await openedBy(email, password, [b])).toEqual([]);
  });

  attack('accounts', 'got through', 'does not get in by inviting the user again afterwards', async () => {
    const { email, userId } = await plant(a, someEmail());
    await acceptWithPassword(tokenOf(await inviteEmail(b, email)), OWN);
    const again = await inviteEmail(a, email, 'Viewer');
    await acceptWithPassword(tokenOf(again), MINE);
    expect(await openedBy(email, MINE, [a, b])).toEqual([a.orgId]);
    await remove(a, userId);
    await acceptWithPassword(tokenOf(await inviteId(a, userId)), LATER);
    expect(await openedBy(email, LATER, [a, b])).toEqual([a.orgId]);
    expect(await openedBy(email, OWN, [a, b])).toEqual([b.orgId]);
  });

  attack('accounts', 'got through', 'does not get into what the user makes with that password', async () => {
    const { email } = await plant(a, someEmail());
    const key = await signIn(email, PLANTED);
    const made = await request('POST', '/api/orgs/', { key, body: { name: 'Of the user' } });
    expect([made.status, made.body.error?.code]).toEqual([409, 'conflict']);
    await changePassword(key, PLANTED, OWN);
    const own = await request('POST', '/api/orgs/', {
      key: await signIn(email, OWN),
      body: { name: 'Of the user' },
    });
    expect(await openedBy(email, OWN, [{ orgId: String(own.body.id) }])).toHaveLength(1);
    expect(await openedBy(email, PLANTED, [{ orgId: String(own.body.id) }])).toEqual([]);
  });

  attack('accounts', 'got through', 'gets in nowhere where several invite at once', async () => {
    const { email } = await plant(a, someEmail());
    const others = [b, await createTestOrganization(), await createTestOrganization()];
    const answers = await Promise.all(others.map((org) => inviteEmail(org, email)));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(await openedBy(email, PLANTED, [a, ...others])).toEqual([]);
    for (const answer of answers) await acceptWithPassword(tokenOf(answer), OWN);
    // Each has a password of its own, be it the same text.
    expect(await openedBy(email, OWN, others)).toEqual(others.map(({ orgId }) => orgId));
    expect(await openedBy(email, OWN, [a])).toEqual([]);
  });

  attack('accounts', 'held', 'gets nowhere where two make the account at once', async () => {
    const email = someEmail();
    const [mine, theirs] = await Promise.all([plant(a, email), inviteEmail(b, email)]);
    expect([mine.id === 'null', tokenOf(theirs) === '']).toContain(true);
    expect(await openedBy(email, PLANTED, [b])).toEqual([]);
  });
});

describe('an admin who invites a user of another organization, and keeps the token', () => {
  attack('accounts', 'held', 'gets into no other organization with it', async () => {
    const { email } = await plant(b, someEmail());
    const answer = await acceptWithPassword(tokenOf(await inviteEmail(a, email)), MINE);
    expect(answer.status).toBe(200);
    expect(await openedBy(email, MINE, [a, b])).toEqual([a.orgId]);
  });

  attack('accounts', 'held', 'gets into no other where the user never had a password', async () => {
    const { email } = await plant(b, someEmail(), null);
    await acceptWithPassword(tokenOf(await inviteEmail(a, email)), MINE);
    expect(await openedBy(email, MINE, [a, b])).toEqual([a.orgId]);
  });

  attack('accounts', 'held', 'neither gets at nor touches a password of the user’s own', async () => {
    const { email, key } = await ownAccount(b);
    await acceptWithPassword(tokenOf(await inviteEmail(a, email)), MINE);
    expect(await openedBy(email, MINE, [a, b])).toEqual([a.orgId]);
    expect(await openedBy(email, OWN, [a, b])).toEqual([b.orgId]);
    expect((await request('GET', '/api/auth/me', { key })).status).toBe(200);
  });

  attack('accounts', 'held', 'can not shut a member out for good', async () => {
    const { email } = await plant(b, someEmail());
    await acceptWithPassword(tokenOf(await inviteEmail(a, email)), MINE);
    // The member’s own organization lets them in again, whatever became of the other token.
    const again = await inviteEmail(b, email, 'Admin');
    expect((await acceptWithPassword(tokenOf(again), OWN)).body).toMatchObject({ role: 'Viewer' });
    expect(await openedBy(email, OWN, [a, b])).toEqual([b.orgId]);
    expect(await openedBy(email, MINE, [a, b])).toEqual([a.orgId]);
  });

  attack('accounts', 'held', 'gets into nothing that was accepted with an earlier one', async () => {
    const c = await createTestOrganization();
    const { email, userId } = await plant(b, someEmail(), null);
    await acceptWithPassword(tokenOf(await inviteEmail(a, email)), OWN);
    // The user takes another organization on with the password of this one.
    const key = await signIn(email, OWN, a.orgId);
    expect((await accept(key, tokenOf(await inviteEmail(c, email)))).status).toBe(200);
    expect(await openedBy(email, OWN, [a, b, c])).toEqual([a.orgId, c.orgId]);
    await remove(a, userId);
    await acceptWithPassword(tokenOf(await inviteEmail(a, email)), MINE);
    expect(await openedBy(email, MINE, [a, b, c])).toEqual([a.orgId]);
    expect(await openedBy(email, OWN, [a, b, c])).toEqual([c.orgId]);
  });

  attack('accounts', 'held', 'is not told to the other organization, nor is it to them', async () => {
    const { email, id } = await plant(b, someEmail());
    const invited = await inviteEmail(a, email);
    const log = await b.client.call(organizations.operations.listAuditLog, {
      query: { action: 'user.password_void' },
    });
    expect(log.data).toMatchObject([{ actor: { type: 'system' }, target: { id }, ip: null }]);
    expect(JSON.stringify(log)).not.toContain(a.admin.email);
    expect(JSON.stringify(log)).not.toContain(a.orgId.replaceAll('-', ''));
    const own = await a.client.call(organizations.operations.listAuditLog, { query: { per_page: 100 } });
    expect(JSON.stringify(own)).not.toContain(id);
    expect(tokenOf(invited)).not.toBe('');
  });
});
