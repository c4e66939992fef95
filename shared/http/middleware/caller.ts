import type { ErrorCode } from '#contract/errors.ts';
import { notFound, ServiceError } from '#domain/errors.ts';
import type { Caller } from '../caller.ts';
import type { ChainMiddleware } from '../request-state.ts';

const MESSAGES: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'Missing or invalid credentials',
  token_expired: 'The access token has expired',
  token_invalid: 'The token is malformed, revoked or has an invalid signature',
  api_key_revoked: 'The API key was revoked',
  api_key_expired: 'The API key has expired',
  service_unavailable: 'The credential can’t be checked now: retry after 30 seconds',
};

/**
 * Who asks, from the authorizer's context. Without one, everything but a public operation is a 401;
 * another organization's id in the path is a 404, never a 403 (design 2).
 */
export function caller(): ChainMiddleware {
  return {
    before: ({ event, context: { state } }) => {
      if (!state.operation || state.operation.permission === 'public') return;
      const told = event.requestContext.authorizer?.lambda;
      if (!told?.caller) {
        const code = told?.refusal ?? 'unauthorized';
        throw new ServiceError(
          code,
          MESSAGES[code] ?? 'Missing or invalid credentials',
          code === 'service_unavailable' ? { retryAfter: 30 } : {},
        );
      }
      // Written by our own authorizer, a moment ago.
      state.caller = JSON.parse(told.caller) as Caller;
      const named = state.params.org_id;
      if (named !== undefined && isUuid(named) && named.toLowerCase() !== state.caller.orgId)
        throw notFound('organization');
    },
  };
}

/** A malformed org_id goes on to validation, which answers 422 in Family A. */
function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}
