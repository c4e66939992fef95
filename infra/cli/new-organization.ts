import * as z from 'zod';
import { Slug } from '#contract/schemas/common.ts';
import type { Attribution } from '#domain/actor.ts';
import { systemClock, timestamp } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import { randomText } from '#infra/local/secrets.ts';
import { readConfig } from '#shared/config.ts';
import { makeClaim } from '#shared/security/claims.ts';
import { hashPassword } from '#shared/security/passwords.ts';
import { createInvitationStore } from '#store/invitations.ts';
import { createOrganizationStore, type OrganizationRecord } from '#store/organizations.ts';
import type { Table } from '#store/table.ts';

const Wanted = z.object({ slug: Slug, email: z.email().max(254).toLowerCase() });

/**
 * Makes an organization with its first admin: a new user, because one who is known has a password that the
 * operator knows nothing of. Answers the exit code.
 */
export async function createOrganization(table: Table, slugText: string, emailText: string): Promise<number> {
  const wanted = Wanted.safeParse({ slug: slugText, email: emailText });
  if (!wanted.success) {
    console.error(wanted.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'));
    return 2;
  }
  const { slug, email } = wanted.data;
  const ids = createIds(systemClock);
  const at = systemClock.now();
  const password = randomText(24);
  const newUser = {
    id: ids.next(),
    email,
    name: 'Administrator',
    password_hash: await hashPassword(password),
    created_at: timestamp(at),
    last_login_at: null,
  };
  const tier = readConfig(['ASPM_DEFAULT_TIER']).ASPM_DEFAULT_TIER;
  await createOrganizationStore(table).createOrganization(
    { id: ids.next(), name: slug, slug, tier },
    { newUser },
    byOperator(at),
  );
  console.log(`${slug} is made (${tier}). Its admin is ${email}, password ${password}`);
  return 0;
}

/** Invites a user who is known as an admin: what lets somebody in where no admin can sign in any more. */
export async function inviteAdmin(table: Table, org: OrganizationRecord, email: string): Promise<number> {
  const organizations = createOrganizationStore(table);
  const user = await organizations.findUserByEmail(email);
  if (!user) {
    console.error(`There is no user ${email}`);
    return 1;
  }
  const { claim: token, hash: token_hash } = makeClaim();
  const relying = (await organizations.listMemberships(user.id)).map(({ organization }) => organization.id);
  const invitation = {
    id: createIds(systemClock).next(),
    org_id: org.id,
    user_id: user.id,
    email,
    token_hash,
  };
  await createInvitationStore(table).create(
    { ...invitation, role: 'Admin' },
    relying,
    byOperator(systemClock.now()),
  );
  console.log(`${email} is invited to ${org.name} (${org.slug}), with this token: ${token}`);
  return 0;
}

function byOperator(at: number): Attribution {
  return { actor: { type: 'system', id: null, name: 'operator' }, requestId: null, ip: null, at };
}
