import type { ErrorCode } from '#contract/errors.ts';

/** One wrong field: `field` is a dotted path into the body, or the name of a parameter. */
export interface ErrorDetail {
  readonly field: string;
  readonly message: string;
  /** Where it is in a policy's source; from 1. */
  readonly row?: number;
  readonly col?: number;
}

interface ServiceErrorOptions {
  readonly details?: readonly ErrorDetail[];
  /** Seconds until a retry can succeed; rendered as `Retry-After` and `retry_after`. */
  readonly retryAfter?: number;
  /** What `verbose=true` shows in place of the catalogue's general advice. */
  readonly suggestion?: string;
  readonly cause?: unknown;
}

/**
 * A refusal that the caller can act on. `message` goes out as it is: it never holds a secret,
 * or anything of another organization. Everything else that is thrown is an internal error.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly retryAfter: number | undefined;
  readonly suggestion: string | undefined;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.retryAfter = options.retryAfter;
    this.suggestion = options.suggestion;
  }
}

/**
 * A field of the body names a record that the organization does not have: `not_found` in Family B,
 * the field's 422 in Family A (the chain sees to that).
 */
export class UnknownReference extends ServiceError {
  /** @param field dotted path into the body */
  constructor(field: string, record: string) {
    const article = /^[aeiou]/.test(record) ? 'an' : 'a';
    const message = `${field} must name ${article} ${record} of the organization`;
    super('not_found', `${record} not found`, { details: [{ field, message }] });
  }
}

/** The 404 of an unknown record, of a malformed id, and of another organization's record alike. */
export function notFound(record: string): ServiceError {
  return new ServiceError('not_found', `${record} not found`);
}
