import type { Operation } from '#contract/operation.ts';
import { ServiceError } from '#domain/errors.ts';
import type { ChainMiddleware } from '../chain.ts';
import type { createRouter } from '../router.ts';

/** Finds the operation by method and raw path, never by the gateway's route key (design 1). */
export function route(
  router: ReturnType<typeof createRouter<Operation>>,
  isPage: (path: string) => boolean,
): ChainMiddleware {
  return {
    before: ({ event, context: { state } }) => {
      const { method } = event.requestContext.http;
      const match = router.match(method, event.rawPath);
      if (match && 'route' in match) {
        state.operation = match.route;
        state.params = match.params;
        return;
      }
      if (isPage(event.rawPath)) return;
      if (!match) throw new ServiceError('not_found', `There is no ${method} ${event.rawPath}`);
      state.extraHeaders.allow = match.allowed.join(', ');
      throw new ServiceError(
        'method_not_allowed',
        `${method} is not allowed here; allowed: ${match.allowed.join(', ')}`,
      );
    },
  };
}
