import type { auth } from '#contract/operations/auth.ts';
import { isOpenTo } from '#domain/account-passwords.ts';
import { timestamp } from '#domain/clock.ts';
import { ServiceError } from '#domain/errors.ts';
import { attributionOf } from '#http/attribution.ts';
import { type Caller, passwordOf, type UserCaller } from '#http/caller.ts';
import type { Implementations } from '#http/chain.ts';
import { wholeOrPage } from '#http/paging.ts';
import { changePassword } from './change-password.ts';
import { invitationOperations } from './invitation-operations.ts';
import { type AuthDependencies, countLogin, organizationsOf, renewSession, signIn } from './sign-in.ts';

export const authOperations: Implementations<typeof auth.operations, AuthDependencies> = {
  async login({ body, requestId, ip, showRate }, dependencies) {
    await countLogin(ip, body.email, showRate, dependencies);
    return signIn(body, { requestId, ip }, dependencies);
  },

  async refresh({ body }, dependencies) {
    return renewSession(body.refresh_token, body.org_id, dependencies);
  },

  async logout(input, dependencies) {
    const { body, caller } = input;
    const { sessions, tokens, clock } = dependencies;
    const end = async (user: UserCaller, sessionId: string) =>
      sessions.end(
        user.id,
        sessionId,
        await organizationsOf(user.id, passwordOf(user), dependencies),
        attributionOf(input, clock),
      );
    if (body?.refresh_token !== undefined) {
      const claims = await tokens.verifyRefresh(body.refresh_token);
      if (caller.kind !== 'user' || claims.userId !== caller.id)
        throw new ServiceError('token_invalid', 'The refresh token belongs to another caller');
      await end(caller, claims.sessionId);
    } else if (caller.kind === 'user' && caller.sessionId !== null) {
      await end(caller, caller.sessionId);
    } else {
      throw new ServiceError('validation_error', `${credentialOf(caller)} has no session to end`);
    }
    return { logged_out: true };
  },

  async changePassword(input, dependencies) {
    await countLogin(input.ip, input.caller.email, input.showRate, dependencies);
    await changePassword(input.caller, input.body, attributionOf(input, dependencies.clock), dependencies);
    return { changed: true };
  },

  async getCurrentUser({ caller }, { organizations, credentials }) {
    const shared = {
      type: caller.kind,
      id: caller.id,
      name: caller.name,
      org_id: caller.orgId,
      scopes: [...caller.scopes],
    };
    if (caller.kind === 'user') {
      const user = await organizations.getUser(caller.id);
      if (!user) throw new ServiceError('token_invalid', 'The user is gone');
      return {
        ...shared,
        email: user.email,
        created_at: user.created_at,
        last_login_at: user.last_login_at,
        role: caller.role,
      };
    }
    const keys = await credentials.listApiKeys(caller.orgId);
    const key = keys.find((candidate) => candidate.id === caller.id);
    const created_at = key?.created_at ?? timestamp(0);
    return { ...shared, email: null, created_at, last_login_at: key?.last_used_at ?? null, role: null };
  },

  ...invitationOperations,

  /** Of a user those that are open to this sign-in, the earliest joined first; of a key its own. */
  async listOwnOrganizations({ caller, query }, { organizations }) {
    if (caller.kind === 'user') {
      const memberships = (await organizations.listMemberships(caller.id)).filter(
        ({ membership }) =>
          isOpenTo(membership, passwordOf(caller)) && (caller.reach?.includes(membership.org_id) ?? true),
      );
      return wholeOrPage(memberships, query).map(({ organization }) => organization);
    }
    const organization = await organizations.getOrganization(caller.orgId);
    return [...wholeOrPage(organization ? [organization] : [], query)];
  },
};

function credentialOf(caller: Caller): string {
  return caller.kind === 'api_key' ? 'An API key' : 'A token of the identity provider';
}
