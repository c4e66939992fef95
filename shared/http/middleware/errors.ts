import { ERRORS } from '#contract/errors.ts';
import { ServiceError } from '#domain/errors.ts';
import { logError } from '#shared/log.ts';
import type { ChainMiddleware } from '../chain.ts';
import { rateHeaders, renderError } from '../render.ts';
import { HttpValidationError } from '../validation.ts';

/** Renders whatever was thrown, and puts the headers of every response on: errors and answers alike. */
export function errors(): ChainMiddleware {
  return {
    after: ({ context: { state }, response }) => {
      if (response && state.rate) Object.assign(response.headers, rateHeaders(state.rate));
      if (response) response.headers['x-content-type-options'] = 'nosniff';
    },
    onError: (request) => {
      const { state } = request.context;
      const { error } = request;
      const expected =
        error instanceof HttpValidationError ||
        (error instanceof ServiceError && ERRORS[error.code].status < 500);
      if (!expected)
        logError('request failed', error, { request_id: state.requestId, operation: state.operation?.id });
      const response = renderError(error, { verbose: state.verbose, operation: state.operation?.id ?? null });
      Object.assign(response.headers, state.extraHeaders, state.rate ? rateHeaders(state.rate) : {}, {
        'x-request-id': state.requestId,
        'x-content-type-options': 'nosniff',
      });
      request.response = response;
    },
  };
}
