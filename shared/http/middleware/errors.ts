import { ERRORS } from '#contract/errors.ts';
import { statusOf } from '#contract/operation.ts';
import { type ErrorDetail, ServiceError, UnknownReference } from '#domain/errors.ts';
import { logError } from '#shared/log.ts';
import { rateHeaders, renderError } from '../render.ts';
import type { ChainMiddleware } from '../request-state.ts';
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
      const error = state.operation?.family === 'A' ? asDetail(request.error) : request.error;
      const expected =
        error instanceof HttpValidationError ||
        (error instanceof ServiceError && ERRORS[error.code].status < 500);
      if (!expected) logError('request failed', error, { operation: state.operation?.id });
      const response = renderError(error, { verbose: state.verbose, operation: state.operation?.id ?? null });
      Object.assign(response.headers, state.extraHeaders, state.rate ? rateHeaders(state.rate) : {}, {
        'x-request-id': state.requestId,
        'x-content-type-options': 'nosniff',
      });
      request.response = response;
    },
  };
}

/**
 * Family A answers what the body names and nobody has with the field's 422, as any other wrong value; and
 * so what the catalogue has a code for, which is shown beside it (design 2).
 */
function asDetail(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  const isReference = error instanceof UnknownReference;
  if (!isReference && statusOf({ family: 'A' }, error.code) !== 422) return error;
  const { code, message, details = [{ field: 'body', message }] } = error;
  const refusal = new HttpValidationError(
    details.map((detail) => ({
      loc: locationOf(detail),
      msg: detail.row === undefined ? detail.message : `${detail.field}: ${detail.message}`,
      type: isReference ? 'value_error' : code,
    })),
    isReference ? undefined : error,
  );
  // Where it happened is what `verbose` tells.
  return Object.assign(refusal, { stack: error.stack });
}

function locationOf({ field, row }: ErrorDetail): string[] {
  if (row !== undefined) return ['body', 'rego'];
  return field === 'body' ? ['body'] : ['body', ...field.split('.')];
}
