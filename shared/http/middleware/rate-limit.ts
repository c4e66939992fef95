import { ServiceError } from '#domain/errors.ts';
import type { RateWindow } from '../caller.ts';
import type { ChainMiddleware } from '../request-state.ts';

/** Refuses what the authorizer counted as too much. Where counting failed, the request passes (design 4). */
export function rateLimit(): ChainMiddleware {
  return {
    before: ({ event, context: { state } }) => {
      const counted = event.requestContext.authorizer?.lambda?.rate;
      if (counted === undefined) return;
      // Written by our own authorizer, a moment ago.
      state.rate = JSON.parse(counted) as RateWindow;
      if (state.rate.retryAfter !== null) throw rateLimited(state.rate);
    },
  };
}

/** The 429 of a window that is used up. */
export function rateLimited(window: RateWindow): ServiceError {
  const retryAfter = window.retryAfter ?? 1;
  return new ServiceError('rate_limited', `Too many requests: retry after ${retryAfter} seconds`, {
    retryAfter,
  });
}
