import type { organizations } from '#contract/operations/organizations.ts';
import type { Attribution } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { notFound, ServiceError } from '#domain/errors.ts';
import { toOpaque } from '#domain/ids.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations, OperationInput } from '#http/chain.ts';
import { pageOf, sortEntries, wholeOrPage } from '#http/paging.ts';
import { refuseWeakPassword } from '#shared/security/password-policy.ts';
import { hashPassword } from '#shared/security/passwords.ts';
import type { Member } from '#store/members.ts';
import type { UserRecord } from '#store/users.ts';
import type { OrganizationDependencies } from './dependencies.ts';
import { invite } from './invitation-operations.ts';

type Operations = Pick<
  typeof organizations.operations,
  'listMembers' | 'addMember' | 'removeMember' | 'listUsers' | 'createUser'
>;

export const memberOperations: Implementations<Operations, OrganizationDependencies> = {
  async listMembers({ caller, query }, { members }) {
    const all = await members.list(caller.orgId);
    return wholeOrPage(
      all.sort((a, b) => (a.membership.created_at < b.membership.created_at ? -1 : 1)),
      query,
    ).map(presentMembership);
  },

  /**
   * Of a member an explicit role changes it; no other operation does (design 3). Who is none is invited, and
   * nothing of theirs is shown before they accept.
   */
  async addMember(input, dependencies) {
    const { members, clock } = dependencies;
    const { caller, query } = input;
    const { user_id } = query;
    const attribution = attributionOf(input, clock);
    const held = await members.get(caller.orgId, user_id);
    if (held && query.role !== undefined)
      return presentMembership(await members.changeRole(caller.orgId, held, query.role, attribution));
    const whom = { userId: user_id, email: null, role: held?.membership.role ?? query.role ?? 'member' };
    const { record, shown } = await invite(caller.orgId, whom, attribution, dependencies);
    const { org_id, role, created_at } = record;
    return { user_id, org_id, role, email: null, name: null, created_at, invitation: shown };
  },

  async removeMember(input, { members, clock }) {
    const { caller, params } = input;
    const held = await members.get(caller.orgId, params.member_user_id);
    if (!held) throw notFound('member');
    await members.remove(caller.orgId, held, attributionOf(input, clock));
    return { user_id: params.member_user_id, deleted: true };
  },

  async listUsers({ caller, query }, { members }) {
    const chosen = (await members.list(caller.orgId)).filter(
      ({ membership }) => query.role === undefined || membership.role === query.role,
    );
    const byId = new Map(chosen.map((member) => [member.user.id, member]));
    const sorted = sortEntries(
      chosen.map(({ user }) => user),
      query.sort,
    );
    const { slice, pagination } = pageOf(sorted, query.page, query.per_page);
    const data = slice
      .map(({ id }) => byId.get(id))
      .filter((member) => member !== undefined)
      .map(presentUser);
    return { data, pagination };
  },

  /** Who has the e-mail already is only invited: name and password of the body are not theirs. */
  async createUser(input, dependencies) {
    const { organizations, clock } = dependencies;
    const attribution = attributionOf(input, clock);
    const known = await organizations.findUserByEmail(input.body.email);
    if (known) return inviteKnown(known.id, input, attribution, dependencies);
    try {
      return await makeUser(input, attribution, dependencies);
    } catch (error) {
      // Somebody else made the user at the same moment: known by now.
      const rival =
        isCode(error, 'already_exists') && (await organizations.findUserByEmail(input.body.email));
      if (!rival) throw error;
      return inviteKnown(rival.id, input, attribution, dependencies);
    }
  },
};

type Making = Pick<OperationInput<typeof organizations.operations.createUser>, 'caller' | 'body'>;

async function makeUser(
  { caller, body }: Making,
  attribution: Attribution,
  { organizations, ids }: OrganizationDependencies,
) {
  if (body.password) refuseWeakPassword('password', body.password, body);
  const role = body.role ?? 'member';
  const user: UserRecord = {
    id: ids.next(),
    email: body.email.toLowerCase(),
    name: body.name,
    password_hash: body.password ? await hashPassword(body.password) : null,
    ...(body.password && { password_set_by: attribution.actor.id ?? attribution.actor.name }),
    created_at: timestamp(attribution.at),
    last_login_at: null,
  };
  await organizations.createUser(user, { orgId: caller.orgId, role }, attribution);
  const membership = { org_id: caller.orgId, user_id: user.id, role, created_at: user.created_at };
  return { ...presentUser({ user, membership }), invitation: null };
}

/** The answer says what the inviter wrote, and nothing of the user. */
async function inviteKnown(
  userId: string,
  { caller, body }: Making,
  attribution: Attribution,
  dependencies: OrganizationDependencies,
) {
  const whom = { userId, email: body.email.toLowerCase(), role: body.role ?? 'member' };
  const { record, shown } = await invite(caller.orgId, whom, attribution, dependencies);
  const { role, created_at } = record;
  return {
    id: null,
    email: whom.email,
    name: body.name,
    role,
    created_at,
    last_login_at: null,
    invitation: shown,
  };
}

function isCode(error: unknown, code: ServiceError['code']): boolean {
  return error instanceof ServiceError && error.code === code;
}

function presentMembership({ membership, user }: Member) {
  const { org_id, user_id, role, created_at } = membership;
  return { user_id, org_id, role, email: user.email, name: user.name, created_at };
}

function presentUser({ membership, user }: Member) {
  const { id, email, name, created_at, last_login_at } = user;
  return { id: toOpaque('user', id), email, name, role: membership.role, created_at, last_login_at };
}
