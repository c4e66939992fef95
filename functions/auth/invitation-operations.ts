import type { auth } from '#contract/operations/auth.ts';
import { FIRST_PASSWORD } from '#domain/account-passwords.ts';
import type { Actor, Attribution } from '#domain/actor.ts';
import { notFound, ServiceError } from '#domain/errors.ts';
import { toOpaque } from '#domain/ids.ts';
import type { MemberRole } from '#domain/vocabulary.ts';
import { attributionOf } from '#http/attribution.ts';
import { passwordOf, type RateWindow } from '#http/caller.ts';
import type { Implementations } from '#http/chain.ts';
import { hashClaim } from '#shared/security/claims.ts';
import { refuseWeakPassword } from '#shared/security/password-policy.ts';
import { hashPassword } from '#shared/security/passwords.ts';
import type { InvitationRecord } from '#store/invitations.ts';
import { type AuthDependencies, countLogin } from './sign-in.ts';

type Operations = Pick<
  typeof auth.operations,
  'acceptInvitation' | 'acceptInvitationWithPassword' | 'declineInvitation'
>;

export const invitationOperations: Implementations<Operations, AuthDependencies> = {
  /** The organization opens to what the caller is signed in with, and to nothing else of the account. */
  async acceptInvitation(input, dependencies) {
    const { caller, body } = input;
    const invitation = await findInvitation(body.token, input, dependencies);
    // Somebody else's is as good as none: a token says nothing to who is signed in as another.
    if (invitation.user_id !== caller.id) throw notFound('invitation');
    if (caller.reach && !caller.reach.includes(invitation.org_id))
      throw new ServiceError(
        'insufficient_permissions',
        'The identity provider that signed you in does not speak for this organization',
      );
    const role = await dependencies.invitations.accept(
      invitation,
      { password: passwordOf(caller) },
      attributionOf(input, dependencies.clock),
    );
    return accepted(invitation, role);
  },

  /** Whoever holds the token gets into the organization that issued it, and into no other of the account's. */
  async acceptInvitationWithPassword(input, dependencies) {
    const { organizations, invitations, ids } = dependencies;
    const invitation = await findInvitation(input.body.token, input, dependencies);
    const user = await organizations.getUser(invitation.user_id);
    if (!user) throw notFound('invitation');
    refuseWeakPassword('password', input.body.password, user);
    const memberships = await organizations.listMemberships(user.id);
    const role = await invitations.accept(
      invitation,
      {
        chosen: { id: ids.next(), hash: await hashPassword(input.body.password) },
        kept: memberships.map(({ membership }) => membership.password ?? FIRST_PASSWORD),
      },
      attributionAs({ type: 'user', id: user.id, name: user.email }, input, dependencies),
    );
    return accepted(invitation, role);
  },

  async declineInvitation(input, dependencies) {
    const invitation = await findInvitation(input.body.token, input, dependencies);
    // Who it was for is not told to the inviter, who may know an id or an e-mail alone.
    const actor = { type: 'system', id: null, name: 'invitation' } as const;
    await dependencies.invitations.end(
      invitation,
      'invitation.decline',
      attributionAs(actor, input, dependencies),
    );
    return { declined: true };
  },
};

interface Asked {
  readonly requestId: string;
  readonly ip: string;
  readonly showRate: (window: RateWindow) => void;
}

/** @throws ServiceError not_found for every token that can't be accepted, rate_limited as for logins */
async function findInvitation(
  token: string,
  { ip, showRate }: Asked,
  dependencies: AuthDependencies,
): Promise<InvitationRecord> {
  await countLogin(ip, 'invitation', showRate, dependencies);
  const found = await dependencies.invitations.findByToken(hashClaim(token), dependencies.clock.now());
  if (!found) throw notFound('invitation');
  return found;
}

function attributionAs(actor: Actor, { requestId, ip }: Asked, { clock }: AuthDependencies): Attribution {
  return { actor, requestId, ip, at: clock.now() };
}

function accepted({ org_id }: InvitationRecord, role: MemberRole) {
  return { accepted: true, org_id: toOpaque('organization', org_id), role } as const;
}
