import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect } from 'vitest';
import { auth } from '#contract/operations/auth.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { projects } from '#contract/operations/projects.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { invitationKey, userKey } from '#store/keys.ts';
import { crowd } from '#test/contract/stage.ts';
import {
  accept,
  acceptWithPassword,
  inviteEmail,
  inviteId,
  login,
  OWN,
  ownAccount,
  plant,
  remove,
  signIn,
  someEmail,
  tokenOf,
} from '#test/harness/accounts.ts';
import { attack } from '#test/harness/attack.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { type RawAnswer, request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import { FROM_ADDRESS, openSecondDoor, type SecondDoor } from '#test/harness/second-door.ts';
import { storedItems } from '#test/harness/stored-items.ts';

let a: TestOrganization;
let b: TestOrganization;
let person: { email: string; userId: string; key: string };
let door: SecondDoor;
beforeAll(async () => {
  [a, b] = await Promise.all([createTestOrganization(), createTestOrganization()]);
  door = await openSecondDoor();
});
afterAll(() => door?.stop());
beforeEach(async () => {
  person = await ownAccount(a);
});

/** What an answer says, without what tells one request from another. */
const said = ({ status, body }: RawAnswer) => ({
  status,
  code: body.error?.code,
  message: body.error?.message,
});
const UNKNOWN = { status: 404, code: 'not_found', message: 'invitation not found' };
const roleInB = async () =>
  (await b.client.call(organizations.operations.listMembers, { params: { org_id: b.orgId } })).find(
    ({ user_id }) => user_id === person.userId,
  )?.role;

/** In both ways in which a token can be used. */
async function tryBoth(token: string) {
  return [said(await accept(person.key, token)), said(await acceptWithPassword(token, OWN))];
}

describe('a token', () => {
  attack('accounts', 'held', 'is of one person: signed in as another it is as good as none', async () => {
    const token = tokenOf(await inviteId(b, person.userId));
    expect(said(await accept(a.accessToken, token))).toEqual(UNKNOWN);
    expect(said(await accept(b.accessToken, token))).toEqual(UNKNOWN);
    expect(said(await accept(a.accessToken, 'x'))).toEqual(UNKNOWN);
    expect((await accept(person.key, token)).status).toBe(200);
  });

  attack('accounts', 'held', 'serves once, however many use it at once', async () => {
    const token = tokenOf(await inviteId(b, person.userId));
    const answers = await Promise.all([
      ...Array.from({ length: 4 }, () => accept(person.key, token)),
      ...Array.from({ length: 4 }, () => acceptWithPassword(token, OWN)),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await tryBoth(token)).toEqual([UNKNOWN, UNKNOWN]);
  });

  attack('accounts', 'held', 'serves for its days, not until its item is cleared away', async () => {
    const token = tokenOf(await inviteId(b, person.userId));
    await testTable().update({
      Key: invitationKey(b.orgId, person.userId),
      UpdateExpression: 'SET expires_at = :past',
      ExpressionAttributeValues: { ':past': Math.floor(Date.now() / 1000) - 1 },
    });
    expect(await tryBoth(token)).toEqual([UNKNOWN, UNKNOWN]);
    const { data } = await b.client.call(organizations.operations.listInvitations);
    expect(data.map(({ user_id }) => user_id)).not.toContain(toOpaque('user', person.userId));
  });

  attack('accounts', 'held', 'that was taken back or declined serves no more', async () => {
    const revoked = await inviteId(b, person.userId);
    const { id } = revoked.body.invitation as { id: string };
    const path = `/api/organization/invitations/${id}`;
    expect((await request('DELETE', path, { key: a.accessToken })).status).toBe(404);
    expect((await request('DELETE', path, { key: b.accessToken })).body).toEqual({ id, deleted: true });
    expect(await tryBoth(tokenOf(revoked))).toEqual([UNKNOWN, UNKNOWN]);
    const declined = tokenOf(await inviteId(b, person.userId));
    const decline = () => request('POST', '/api/auth/invitations/decline', { body: { token: declined } });
    expect((await decline()).body).toEqual({ declined: true });
    expect(said(await decline())).toEqual(UNKNOWN);
    expect(await tryBoth(declined)).toEqual([UNKNOWN, UNKNOWN]);
  });

  attack('accounts', 'held', 'that another one replaced serves no more, with its role', async () => {
    const first = tokenOf(await inviteId(b, person.userId, 'Admin'));
    const second = tokenOf(await inviteEmail(b, person.email, 'Viewer'));
    expect(await tryBoth(first)).toEqual([UNKNOWN, UNKNOWN]);
    expect((await accept(person.key, second)).body).toMatchObject({ accepted: true, role: 'Viewer' });
  });

  attack('accounts', 'held', 'serves no more after a removal, used or not', async () => {
    const used = tokenOf(await inviteId(b, person.userId));
    await accept(person.key, used);
    await remove(b, person.userId);
    expect(await tryBoth(used)).toEqual([UNKNOWN, UNKNOWN]);
    // A member whom a void password shut out is invited again, and then removed.
    const { email, userId } = await plant(b, someEmail());
    await inviteEmail(a, email);
    const unused = tokenOf(await inviteEmail(b, email));
    expect((await remove(b, userId)).status).toBe(200);
    expect(said(await acceptWithPassword(unused, OWN))).toEqual(UNKNOWN);
  });

  attack('accounts', 'held', 'of a deleted organization makes no member', async () => {
    const gone = await createTestOrganization();
    const [token, admin] = [
      tokenOf(await inviteId(gone, person.userId, 'Viewer')),
      tokenOf(await inviteId(gone, b.admin.userId, 'Admin')),
    ];
    await request('DELETE', `/api/orgs/${gone.orgId}`, { key: gone.accessToken });
    for (const answer of [await accept(person.key, token), await accept(b.accessToken, admin)])
      expect([answer.status, answer.body.error?.code]).toEqual([404, 'not_found']);
    expect((await acceptWithPassword(token, OWN)).status).toBe(404);
  });

  attack('accounts', 'held', 'gives the role that the inviter named, whatever its bearer sends', async () => {
    const token = tokenOf(await inviteId(b, person.userId, 'viewer'));
    const answer = await request('POST', '/api/auth/invitations/accept?role=Admin', {
      key: person.key,
      body: { token, role: 'Admin', user_id: a.admin.userId, org_id: a.orgId },
    });
    expect([answer.status, answer.body.role, await roleInB()]).toEqual([200, 'Viewer', 'Viewer']);
  });

  attack('accounts', 'held', 'is nowhere but in the answer: neither stored nor logged', async () => {
    const tokens = [tokenOf(await inviteId(b, person.userId)), tokenOf(await inviteEmail(b, person.email))];
    await accept(person.key, tokens[1] ?? '');
    const stored = JSON.stringify(await storedItems());
    for (const token of tokens) expect([token.length > 40, stored.includes(token)]).toEqual([true, false]);
    const { data } = await b.client.call(organizations.operations.listAuditLog, { query: { per_page: 100 } });
    expect(data.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['invitation.create', 'invitation.accept', 'member.add']),
    );
  });

  attack('accounts', 'held', 'can not be guessed at more often than a password', async () => {
    const from = '198.51.100.91';
    await crowd(`ADDRESS#LOGIN#${from}#invitation`);
    const guess = (path: string, body: object) =>
      request('POST', path, { url: door.url, headers: { [FROM_ADDRESS]: from }, body, key: person.key });
    for (const path of ['accept', 'password', 'decline']) {
      const answer = await guess(`/api/auth/invitations/${path}`, { token: 'x', password: OWN });
      expect([answer.status, answer.body.error?.code]).toEqual([429, 'rate_limited']);
    }
  });

  attack('accounts', 'held', 'is not accepted by an API key', async () => {
    const { key } = await a.withKey('admin');
    const answer = await accept(key, tokenOf(await inviteId(b, person.userId)));
    expect(answer.body.error?.code).toBe('insufficient_permissions');
  });
});

describe('who is invited', () => {
  attack('accounts', 'got through', 'is a member of nothing before accepting', async () => {
    const token = tokenOf(await inviteId(b, person.userId));
    expect(await roleInB()).toBeUndefined();
    const users = await b.client.call(organizations.operations.listUsers, { query: { per_page: 100 } });
    expect(JSON.stringify(users)).not.toContain(person.email);
    const own = await request('GET', '/api/auth/orgs', { key: person.key });
    expect(JSON.stringify(own.body)).not.toContain(b.orgId);
    expect((await login(person.email, OWN, b.orgId)).body.error?.code).toBe('not_found');
    const { refresh_token } = (await login(person.email, OWN)).body;
    const refreshed = await request('POST', '/api/auth/refresh', {
      body: { refresh_token, org_id: b.orgId },
    });
    expect(refreshed.body.error?.code).toBe('not_found');
    expect((await request('GET', `/api/orgs/${b.orgId}`, { key: person.key })).status).toBe(404);
    expect(token).not.toBe('');
  });

  attack('accounts', 'got through', 'joins no team and no project, and is assigned nothing', async () => {
    await inviteId(b, person.userId);
    const params = { org_id: b.orgId };
    const { id: team } = await b.client.call(organizations.operations.createTeam, {
      params,
      body: { name: randomUUID() },
    });
    const project = await b.client.call(projects.operations.createProject, { body: { name: randomUUID() } });
    const { records } = await seedFindings(b, [{}]);
    const finding = toOpaque('finding', records[0]?.id ?? '');
    for (const [method, path, body] of [
      ['POST', `/api/orgs/${b.orgId}/teams/${team}/members`, { user_id: person.userId }],
      [
        'POST',
        `/api/orgs/${b.orgId}/${fromOpaque('project', project.id)}/members`,
        { user_id: person.userId },
      ],
      ['PATCH', `/api/findings/${finding}`, { assignee: person.email }],
      ['PATCH', `/api/findings/${finding}`, { assignee: toOpaque('user', person.userId) }],
      ['DELETE', `/api/orgs/${b.orgId}/members/${person.userId}`, undefined],
    ] as const)
      expect([path, (await request(method, path, { key: b.accessToken, body })).status]).toEqual([path, 404]);
  });

  attack('accounts', 'got through', 'is no admin who would do as the last one', async () => {
    const own = await createTestOrganization();
    await inviteId(own, person.userId, 'Admin');
    const demoted = await inviteId(own, own.admin.userId, 'Viewer');
    expect([demoted.status, (await remove(own, own.admin.userId)).status]).toEqual([409, 409]);
  });

  attack('accounts', 'got through', 'is shown to the inviter as far as they knew them', async () => {
    const byEmail = await inviteEmail(b, person.email.toUpperCase());
    const byId = await inviteId(b, person.userId);
    expect(byEmail.body).toMatchObject({ id: null, email: person.email, name: 'Typed', last_login_at: null });
    expect(byId.body).toMatchObject({ user_id: person.userId, email: null, name: null });
    const seen = async () => [
      byEmail.body,
      (await b.client.call(organizations.operations.listInvitations)).data.find(
        ({ email }) => email === person.email,
      ),
      (await b.client.call(organizations.operations.listAuditLog, { query: { action: 'invitation.create' } }))
        .data[1],
    ];
    for (const part of await seen()) {
      expect(JSON.stringify(part ?? null)).not.toContain(toOpaque('user', person.userId));
      expect(JSON.stringify(part ?? null)).not.toContain('Planted');
    }
    expect(JSON.stringify(byId.body)).not.toContain(person.email);
  });

  attack('accounts', 'held', 'stays the same person in another spelling of the e-mail', async () => {
    for (const spelling of [person.email.toUpperCase(), person.email.replace('corp', 'CORP')])
      expect((await inviteEmail(b, spelling)).body.id).toBeNull();
    const local = person.email.split('@')[0];
    for (const email of [
      `${local}@corp.example.com.`,
      `${local} @corp.example.com`,
      ` ${person.email}`,
      person.email.replace('corp', 'с\u043Erp'),
      person.email.replace('example', 'e\uFF58ample'),
      `${local}\u212A@corp.example.com`,
      `${person.email}\u0000`,
    ])
      expect([email, (await inviteEmail(b, email)).status]).toEqual([email, 400]);
    // Another address, whatever a mail server would make of it: an account of its own.
    const tagged = await inviteEmail(b, `${local}+tag@corp.example.com`, 'Viewer');
    expect([tagged.status, tagged.body.id === null]).toEqual([201, false]);
  });

  attack(
    'accounts',
    'held',
    'keeps their sign-in, however many invitations were accepted for them',
    async () => {
      const passwords = Object.fromEntries(
        Array.from({ length: 40 }, () => [
          randomUUID(),
          { hash: 'of an organization that was left', generation: 0 },
        ]),
      );
      await testTable().update({
        Key: userKey(person.userId),
        UpdateExpression: 'SET passwords = :passwords',
        ExpressionAttributeValues: { ':passwords': passwords },
      });
      const token = tokenOf(await inviteId(b, person.userId, 'Viewer'));
      expect((await acceptWithPassword(token, 'quarry thimble walrus sonata')).status).toBe(200);
      expect(await signIn(person.email, 'quarry thimble walrus sonata', b.orgId)).not.toBe('');
      expect(await signIn(person.email, OWN)).not.toBe('');
      const held = await testTable().get(userKey(person.userId));
      expect(Object.keys(held?.passwords as object)).toHaveLength(1);
    },
  );

  attack('accounts', 'held', 'has no weak password let pass, nor learns from it what is theirs', async () => {
    const token = tokenOf(await inviteId(b, person.userId));
    const weak = await acceptWithPassword(token, person.email);
    expect([weak.status, weak.body.error?.code]).toEqual([400, 'validation_error']);
    expect(said(await acceptWithPassword('x', 'short'))).toEqual(UNKNOWN);
    expect(JSON.stringify(weak.body)).not.toContain(person.email);
    expect(auth.operations.acceptInvitation.permission).toBe('signed-in-user');
  });
});
