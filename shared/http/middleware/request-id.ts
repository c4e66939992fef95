import { v7 } from 'uuid';
import type { ChainMiddleware } from '../request-state.ts';

/** Opens the request: gives it its `req_<id>` and the state that the rest of the chain fills. */
export function requestId(): ChainMiddleware {
  return {
    before: ({ event, context }) => {
      context.state = {
        requestId: `req_${v7().replaceAll('-', '')}`,
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
