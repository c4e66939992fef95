import type { Operation } from '#contract/operation.ts';
import { ServiceError } from '#domain/errors.ts';
import type { ChainMiddleware } from '../request-state.ts';
import type { createRouter } from '../router.ts';

type Router = ReturnType<typeof createRouter<Operation>>;

/** Finds the operation by method and raw path, never by the gateway's route key (design 1). */
export function route(router: Router, elsewhere: Router, isPage: (path: string) => boolean): ChainMiddleware {
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
      const allowed = match?.allowed ?? allowedElsewhere(elsewhere, method, event.rawPath);
      if (!allowed) throw new ServiceError('not_found', `There is no ${method} ${event.rawPath}`);
      state.extraHeaders.allow = allowed.join(', ');
      throw new ServiceError(
        'method_not_allowed',
        `${method} is not allowed here; allowed: ${allowed.join(', ')}`,
      );
    },
  };
}

function allowedElsewhere(router: Router, method: string, path: string) {
  const match = router.match(method, path);
  return match && 'allowed' in match ? match.allowed : undefined;
}
