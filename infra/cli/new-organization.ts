import * as z from 'zod';
import { Slug } from '#contract/schemas/common.ts';
import type { Attribution } from '#domain/actor.ts';
import { systemClock, timestamp } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import type { Tier } from '#domain/vocabulary.ts';
import { randomText } from '#infra/local/secrets.ts';
import { readConfig } from '#shared/config.ts';
import { makeClaim } from '#shared/security/claims.ts';
import { passwordProblems } from '#shared/security/password-policy.ts';
import { hashPassword } from '#shared/security/passwords.ts';
import { createInvitationStore } from '#store/invitations.ts';
import { createOrganizationStore, type OrganizationRecord } from '#store/organizations.ts';
import type { Table } from '#store/table.ts';

const Wanted = z.object({ slug: Slug, email: z.email().max(254).toLowerCase() });

/** What an operator says of an organization to be made. */
interface NewOrganization {
  readonly slug: string;
  readonly email: string;
  /** Default: `ASPM_DEFAULT_TIER`, then `free`. */
  readonly tier?: Tier | undefined;
  /** Default: a generated one, which is printed. */
  readonly password?: string | undefined;
}

/**
 * The first organization of a deployment, with its admin. Safe to repeat: where the organization is there
 * and the e-mail is an admin's of it, nothing changes. Answers the exit code.
 */
export async function bootstrapDeployment(table: Table, asked: NewOrganization): Promise<number> {
  const wanted = readWanted(asked);
  if (wanted === null) return 2;
  const organizations = createOrganizationStore(table);
  const held = await organizations.findBySlug(wanted.slug);
  if (!held) return createOrganization(table, asked);
  const user = await organizations.findUserByEmail(wanted.email);
  const memberships = user ? await organizations.listMemberships(user.id) : [];
  const own = memberships.find(({ organization }) => organization.id === held.id);
  if (own?.membership.role === 'Admin') {
    console.log(
      `${held.slug} is there already (${held.tier}), and ${wanted.email} is its admin: nothing was changed.`,
    );
    return 0;
  }
  console.error(
    `${held.slug} is there already, and ${wanted.email} is no admin of it. Invite them: org invite ${held.slug} ${wanted.email}`,
  );
  return 1;
}

/**
 * Makes an organization with its first admin: a new user, because one who is known has a password that the
 * operator knows nothing of. Answers the exit code.
 */
export async function createOrganization(table: Table, asked: NewOrganization): Promise<number> {
  const wanted = readWanted(asked);
  if (wanted === null) return 2;
  const { slug, email } = wanted;
  const [problem] = asked.password === undefined ? [] : passwordProblems(asked.password, { email, name: '' });
  if (problem) {
    console.error(`The password ${problem}`);
    return 2;
  }
  const ids = createIds(systemClock);
  const at = systemClock.now();
  const password = asked.password ?? randomText(24);
  const newUser = {
    id: ids.next(),
    email,
    name: 'Administrator',
    password_hash: await hashPassword(password),
    created_at: timestamp(at),
    last_login_at: null,
  };
  const tier = asked.tier ?? readConfig(['ASPM_DEFAULT_TIER']).ASPM_DEFAULT_TIER;
  await createOrganizationStore(table).createOrganization(
    { id: ids.next(), name: slug, slug, tier },
    { newUser },
    byOperator(at),
  );
  const shown = asked.password === undefined ? `password ${password}` : 'with the password given';
  console.log(`${slug} is made (${tier}). Its admin is ${email}, ${shown}`);
  return 0;
}

/** Slug and e-mail, or null where one of them is none: then it has said so. */
function readWanted(asked: NewOrganization): z.output<typeof Wanted> | null {
  const wanted = Wanted.safeParse(asked);
  if (wanted.success) return wanted.data;
  console.error(wanted.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'));
  return null;
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
