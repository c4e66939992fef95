import type { auth } from '#contract/operations/auth.ts';
import { timestamp } from '#domain/clock.ts';
import { ServiceError } from '#domain/errors.ts';
import type { Implementations } from '#http/chain.ts';
import {
  type AuthDependencies,
  checkPassword,
  chooseOrganization,
  countLogin,
  openSession,
  renewSession,
} from './sign-in.ts';

export const authOperations: Implementations<typeof auth.operations, AuthDependencies> = {
  async login({ body, ip, showRate }, dependencies) {
    await countLogin(ip, body.email, showRate, dependencies);
    const user = await checkPassword(body.email, body.password, dependencies);
    const orgId = await chooseOrganization(user.id, body.org_id, dependencies);
    return openSession(user.id, orgId, dependencies);
  },

  async refresh({ body }, dependencies) {
    return renewSession(body.refresh_token, body.org_id, dependencies);
  },

  async logout({ body, caller }, { credentials, tokens }) {
    if (body?.refresh_token !== undefined) {
      const claims = await tokens.verifyRefresh(body.refresh_token);
      if (caller.kind !== 'user' || claims.userId !== caller.id)
        throw new ServiceError('token_invalid', 'The refresh token belongs to another caller');
      await credentials.endSession(claims.userId, claims.sessionId);
    } else if (caller.kind === 'user' && caller.sessionId !== null) {
      await credentials.endSession(caller.id, caller.sessionId);
    } else {
      throw new ServiceError('validation_error', 'An API key has no session to end; revoke the key instead');
    }
    return { logged_out: true };
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

  async listOwnOrganizations({ caller }, { organizations }) {
    if (caller.kind === 'user') {
      const memberships = await organizations.listMemberships(caller.id);
      return memberships.map(({ organization }) => organization);
    }
    const organization = await organizations.getOrganization(caller.orgId);
    return organization ? [organization] : [];
  },
};
