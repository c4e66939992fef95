import { notFound, ServiceError } from '#domain/errors.ts';
import { allows } from '#domain/permissions.ts';
import type { ChainMiddleware } from '../request-state.ts';

/** Default-deny: the operation's declared permission against what the caller holds. */
export function permission(): ChainMiddleware {
  return {
    before: ({ context: { state } }) => {
      const needed = state.operation?.permission;
      if (needed === undefined || needed === 'public' || needed === 'signed-in') return;
      if (!state.caller) throw new ServiceError('unauthorized', 'Missing or invalid credentials');
      if (needed === 'signed-in-user') {
        if (state.caller.kind === 'user') return;
        throw new ServiceError(
          'insufficient_permissions',
          'This operation needs a signed-in user, not an API key',
        );
      }
      if (state.caller.orgId === null) throw notFound('organization');
      if (!allows(state.caller.scopes, needed))
        throw new ServiceError('insufficient_permissions', `Missing the scope ${needed}`);
    },
  };
}
