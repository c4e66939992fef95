import { randomUUID } from 'node:crypto';
import { fromOpaque } from '#domain/ids.ts';
import { type RawAnswer, request } from './http.ts';
import type { TestOrganization } from './organization.ts';

/** Who a test plays: an admin of one organization and, in others, whoever has the credentials. */
export type Admin = Pick<TestOrganization, 'orgId' | 'accessToken'>;

/** Passwords that the policy takes, told apart by who chose them. */
export const PLANTED = 'ladder copper violin meadow';
export const OWN = 'marble otter lantern quilt';

export const someEmail = () => `${randomUUID()}@corp.example.com`;

/** An admin makes a user with an e-mail and a password of the admin's choice. */
export async function plant(by: Admin, email: string, password: string | null = PLANTED) {
  const answer = await request('POST', '/api/organization/users', {
    key: by.accessToken,
    body: { email, name: 'Planted', role: 'Viewer', ...(password !== null && { password }) },
  });
  const opaque = String(answer.body.id);
  return { email, id: opaque, userId: fromOpaque('user', opaque) ?? '' };
}

export const inviteEmail = (by: Admin, email: string, role = 'Admin') =>
  request('POST', '/api/organization/users', { key: by.accessToken, body: { email, name: 'Typed', role } });

export const inviteId = (by: Admin, userId: string, role = 'Admin') =>
  request('POST', `/api/orgs/${by.orgId}/members?user_id=${userId}&role=${role}`, { key: by.accessToken });

export const remove = (by: Admin, userId: string) =>
  request('DELETE', `/api/orgs/${by.orgId}/members/${userId}`, { key: by.accessToken });

/** The token of an invitation; empty where the answer holds none. */
export function tokenOf({ body }: RawAnswer): string {
  return (body.invitation as { token?: string } | null | undefined)?.token ?? '';
}

export const accept = (key: string, token: string) =>
  request('POST', '/api/auth/invitations/accept', { key, body: { token } });

export const acceptWithPassword = (token: string, password: string) =>
  request('POST', '/api/auth/invitations/password', { body: { token, password } });

export const login = (email: string, password: string, org_id?: string) =>
  request('POST', '/api/auth/login', { body: { email, password, ...(org_id && { org_id }) } });

export const changePassword = (key: string, current_password: string, new_password: string) =>
  request('POST', '/api/auth/password', { key, body: { current_password, new_password } });

/** The access token of a login; empty where it was refused. */
export const signIn = async (email: string, password: string, orgId?: string) =>
  String((await login(email, password, orgId)).body.access_token ?? '');

/** Of these organizations those that somebody gets into with a password, in whatever way they ask. */
export async function openedBy(
  email: string,
  password: string,
  orgs: readonly Pick<TestOrganization, 'orgId'>[],
): Promise<string[]> {
  const opened: string[] = [];
  for (const { orgId } of orgs) {
    const named = await signIn(email, password, orgId);
    const unnamed = await login(email, password);
    const refreshed = await request('POST', '/api/auth/refresh', {
      body: { refresh_token: String(unnamed.body.refresh_token ?? 'none'), org_id: orgId },
    });
    const keys = [named, unnamed.body.access_token, refreshed.body.access_token];
    for (const key of keys.filter((value) => typeof value === 'string' && value !== '')) {
      const read = await request('GET', `/api/orgs/${orgId}`, { key: String(key) });
      if (read.status === 200 && !opened.includes(orgId)) opened.push(orgId);
    }
  }
  return opened;
}

/** A person with a password of their own: a planted one, which they changed themselves. */
export async function ownAccount(in_: Admin, email = someEmail()) {
  const { userId } = await plant(in_, email);
  await changePassword(await signIn(email, PLANTED), PLANTED, OWN);
  return { email, userId, key: await signIn(email, OWN) };
}
