import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { ERRORS, type ErrorCode } from '#contract/errors.ts';
import { ServiceError } from '#domain/errors.ts';
import { ownFrames } from '#shared/source-places.ts';
import type { RateWindow } from './caller.ts';
import { HttpValidationError } from './validation.ts';

export type HttpResponse = APIGatewayProxyStructuredResultV2 & { headers: Record<string, string> };

export function renderJson(status: number, body: unknown): HttpResponse {
  return {
    statusCode: status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    body: JSON.stringify(body),
  };
}

interface ErrorContext {
  /** `verbose=true`: adds stack context and a suggestion (specification, "Errors"). */
  readonly verbose: boolean;
  /** Operation id, or null where no operation matched. */
  readonly operation: string | null;
}

/** The one place where an error becomes a response. What is no error of the catalogue keeps its text to itself. */
export function renderError(error: unknown, context: ErrorContext): HttpResponse {
  const extras = context.verbose ? verboseParts(error, context) : {};
  if (error instanceof HttpValidationError) {
    const { detail, refusal } = error;
    return renderJson(422, { detail, ...(refusal && { error: saidBy(refusal) }), ...extras });
  }
  const known = error instanceof ServiceError ? error : internalError();
  const response = renderJson(ERRORS[known.code].status, {
    error: {
      ...saidBy(known),
      ...(known.retryAfter !== undefined && { retry_after: known.retryAfter }),
      ...extras,
    },
    ...(known.retryAfter !== undefined && { retry_after: known.retryAfter }),
  });
  if (known.retryAfter !== undefined) response.headers['retry-after'] = String(known.retryAfter);
  return response;
}

function saidBy({ code, message, details }: ServiceError) {
  return { code, message, ...(details && { details }) };
}

function internalError(): ServiceError {
  return new ServiceError('internal_error', 'The server failed to process the request');
}

function verboseParts(error: unknown, context: ErrorContext): Record<string, unknown> {
  const refusal = error instanceof HttpValidationError ? error.refusal : error;
  const general: ErrorCode = error instanceof HttpValidationError ? 'validation_error' : 'internal_error';
  const code = refusal instanceof ServiceError ? refusal.code : general;
  const own = refusal instanceof ServiceError ? refusal.suggestion : undefined;
  const suggestion = own ?? ERRORS[code].suggestion;
  return {
    stack_context: {
      operation: context.operation,
      frames: error instanceof Error ? ownFrames(error.stack ?? '') : [],
    },
    suggestion,
  };
}

export function rateHeaders(rate: RateWindow): Record<string, string> {
  return {
    'x-ratelimit-limit': String(rate.limit),
    'x-ratelimit-remaining': String(rate.remaining),
    'x-ratelimit-reset': String(rate.reset),
  };
}
