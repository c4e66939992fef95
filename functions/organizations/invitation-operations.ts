import type { organizations } from '#contract/operations/organizations.ts';
import { FIRST_PASSWORD, isOpenTo } from '#domain/account-passwords.ts';
import type { Attribution } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { notFound } from '#domain/errors.ts';
import { toOpaque } from '#domain/ids.ts';
import type { MemberRole } from '#domain/vocabulary.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { pageOf } from '#http/paging.ts';
import { makeClaim } from '#shared/security/claims.ts';
import type { InvitationRecord } from '#store/invitations.ts';
import type { OrganizationDependencies } from './dependencies.ts';

type Operations = Pick<typeof organizations.operations, 'listInvitations' | 'revokeInvitation'>;

export const invitationOperations: Implementations<Operations, OrganizationDependencies> = {
  async listInvitations({ caller, query }, { invitations, clock }) {
    const all = await invitations.list(caller.orgId, clock.now());
    const { slice, pagination } = pageOf(all, query.page, query.per_page);
    return { data: slice.map(present), pagination };
  },

  async revokeInvitation(input, { invitations, clock }) {
    const { caller, params } = input;
    const attribution = attributionOf(input, clock);
    const held = (await invitations.list(caller.orgId, attribution.at)).find(
      ({ id }) => id === params.invitation_id,
    );
    if (!held) throw notFound('invitation');
    await invitations.end(held, 'invitation.revoke', attribution);
    return { id: toOpaque('invitation', held.id), deleted: true };
  },
};

/** An invitation with its token, which is nowhere else than in this answer. */
export interface Issued {
  readonly record: InvitationRecord;
  readonly shown: { readonly id: string; readonly token: string; readonly expires_at: string };
}

/**
 * Invites a user who is known.
 * @param whom `email` as it was typed, null where the id was sent instead
 * @throws ServiceError not_found, already_exists (a member), conflict
 */
export async function invite(
  orgId: string,
  whom: { userId: string; email: string | null; role: MemberRole },
  attribution: Attribution,
  { organizations, invitations, ids }: OrganizationDependencies,
): Promise<Issued> {
  const { claim: token, hash: token_hash } = makeClaim();
  const { userId: user_id, email, role } = whom;
  const relying = (await organizations.listMemberships(user_id))
    .filter(({ membership }) => isOpenTo(membership, FIRST_PASSWORD))
    .map(({ organization }) => organization.id);
  const record = await invitations.create(
    { id: ids.next(), org_id: orgId, user_id, email, role, token_hash },
    relying,
    attribution,
  );
  const expires_at = timestamp(record.expires_at * 1000);
  return { record, shown: { id: toOpaque('invitation', record.id), token, expires_at } };
}

/** The user's id is shown where the inviter knew it, and not where they knew the e-mail alone. */
function present({ id, email, user_id, role, created_at, created_by, expires_at }: InvitationRecord) {
  return {
    id: toOpaque('invitation', id),
    email,
    user_id: email === null ? toOpaque('user', user_id) : null,
    role,
    created_at,
    created_by,
    expires_at: timestamp(expires_at * 1000),
  };
}
