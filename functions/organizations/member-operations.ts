import type { organizations } from '#contract/operations/organizations.ts';
import { timestamp } from '#domain/clock.ts';
import { notFound, ServiceError } from '#domain/errors.ts';
import { toOpaque } from '#domain/ids.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { pageOf, sortEntries, wholeOrPage } from '#http/paging.ts';
import { refuseWeakPassword } from '#shared/security/password-policy.ts';
import { hashPassword } from '#shared/security/passwords.ts';
import type { Member } from '#store/members.ts';
import type { OrganizationDependencies } from './dependencies.ts';

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

  /** Again with an explicit role: changes it; no other operation does (design 3). */
  async addMember(input, { members, clock }) {
    const { caller, query } = input;
    const attribution = attributionOf(input, clock);
    const held = await members.get(caller.orgId, query.user_id);
    if (!held)
      return presentMembership(
        await members.add(caller.orgId, query.user_id, query.role ?? 'member', attribution),
      );
    if (query.role === undefined)
      throw new ServiceError('already_exists', 'The user is a member of the organization');
    return presentMembership(await members.changeRole(caller.orgId, held, query.role, attribution));
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

  /** Who has the e-mail already is only made a member: name and password are theirs to change. */
  async createUser(input, { organizations, members, clock, ids }) {
    const { caller, body } = input;
    const attribution = attributionOf(input, clock);
    const role = body.role ?? 'member';
    const known = await organizations.findUserByEmail(body.email);
    if (known) return presentUser(await members.add(caller.orgId, known.id, role, attribution));
    if (body.password) refuseWeakPassword('password', body.password, body);
    const user = {
      id: ids.next(),
      email: body.email.toLowerCase(),
      name: body.name,
      password_hash: body.password ? await hashPassword(body.password) : null,
      created_at: timestamp(attribution.at),
      last_login_at: null,
    };
    await organizations.createUser(user, { orgId: caller.orgId, role }, attribution);
    return presentUser({
      user,
      membership: { org_id: caller.orgId, user_id: user.id, role, created_at: user.created_at },
    });
  },
};

function presentMembership({ membership, user }: Member) {
  return { ...membership, email: user.email, name: user.name };
}

function presentUser({ membership, user }: Member) {
  const { password_hash: _, ...shown } = user;
  return { ...shown, id: toOpaque('user', user.id), role: membership.role };
}
