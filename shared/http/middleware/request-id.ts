import { currentRequestId, newRequestId } from '#shared/request-scope.ts';
import type { ChainMiddleware } from '../request-state.ts';

/** Opens the request: gives it the `req_<id>` of its scope and the state that the rest of the chain fills. */
export function requestId(): ChainMiddleware {
  return {
    before: ({ event, context }) => {
      context.state = {
        requestId: currentRequestId() ?? newRequestId(),
        verbose: event.queryStringParameters?.verbose === 'true',
        rate: null,
        operation: null,
        params: {},
        caller: null,
        body: undefined,
        upload: undefined,
        input: null,
        extraHeaders: {},
      };
    },
    after: ({ context, response }) => {
      if (response) response.headers['x-request-id'] = context.state.requestId;
    },
  };
}
