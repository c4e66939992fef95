import { isUtf8 } from 'node:buffer';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import { ServiceError } from '#domain/errors.ts';
import { measureJson } from '#shared/json/measure.ts';
import type { ChainMiddleware, HttpEvent } from '../request-state.ts';
import { HttpValidationError } from '../validation.ts';

/** Enough for every JSON body of the API; reports have their own way in. */
const MAX_BODY_CHARACTERS = 1024 * 1024;

/** More than any body of the API needs, and far from what the walk over it, or a parser, could not bear. */
const MAX_DEPTH = 100;
/**
 * Parsed, a value takes up to fifty times what it takes as text, and its check microseconds: a megabyte of `{},` would
 * keep everybody waiting. No body that the API has a use for comes near.
 */
const MAX_VALUES = 50_000;

/** Parses the body of operations that have one; the parser's own 415 and 422 become ours. */
export function jsonBody(): ChainMiddleware {
  const parser = httpJsonBodyParser();
  return {
    before: async (request) => {
      const { event } = request;
      const { state } = request.context;
      const { operation } = state;
      if (!operation?.body) return;
      const { body } = event;
      if (operation.bodyOptional && (body === undefined || body === '')) return;
      if ((body?.length ?? 0) > MAX_BODY_CHARACTERS)
        throw new ServiceError('payload_too_large', 'The body is larger than 1 MB');
      refuseCostly(textOf(event), operation.family);
      if (arrivedGarbled(event)) throw invalidJson('The request body is not valid UTF-8', operation.family);
      try {
        await parser.before?.(request as never);
      } catch (cause) {
        throw invalidJson(problemOf(cause, event), operation.family, cause);
      }
      state.body = event.body;
      refuseOddValues(state.body, operation.family);
    },
  };
}

function textOf({ body = '', isBase64Encoded }: HttpEvent): string {
  return isBase64Encoded ? Buffer.from(body, 'base64').toString() : body;
}

/** Before anything is parsed: what is parsed has been paid for. */
function refuseCostly(text: string, family: 'A' | 'B'): void {
  const { depth, values } = measureJson(text, { depth: MAX_DEPTH, values: MAX_VALUES });
  if (depth > MAX_DEPTH) throw invalidJson(TOO_DEEP, family);
  if (values <= MAX_VALUES) return;
  const message = `The request body holds more than ${MAX_VALUES} values`;
  if (family === 'A') throw new HttpValidationError([{ loc: ['body'], msg: message, type: 'too_long' }]);
  throw new ServiceError('payload_too_large', message);
}

function invalidJson(message: string, family: 'A' | 'B', cause?: unknown): Error {
  if (family === 'A') return new HttpValidationError([{ loc: ['body'], msg: message, type: 'json_invalid' }]);
  return new ServiceError('invalid_json', message, { cause });
}

/**
 * Whether bytes were lost on the way to text. A gateway passes JSON on as text, with U+FFFD in place of
 * what is no UTF-8: where that changed the length, it was none of the sender's. Spec silent: what cannot
 * be told (no `Content-Length`, or three bytes in place of three) passes.
 */
function arrivedGarbled({ body = '', isBase64Encoded, headers }: HttpEvent): boolean {
  if (isBase64Encoded) return !isUtf8(Buffer.from(body, 'base64'));
  const sent = headers?.['content-length'];
  return sent !== undefined && body.includes('\uFFFD') && Buffer.byteLength(body) !== Number(sent);
}

/** Why the parser refused the body; it leaves the body as it is then. */
function problemOf(refusal: unknown, event: HttpEvent): string {
  const { statusCode, cause } = refusal as { statusCode?: number; cause?: { data?: unknown } };
  if (statusCode === 415) return 'The Content-Type of the request is not application/json';
  if (!event.body) return 'The request has no body: send a JSON object';
  try {
    // Without a reviver the parser knows no depth that it could not bear.
    JSON.parse(textOf(event));
  } catch {
    return 'The request body is not valid JSON';
  }
  if (cause?.data === '__proto__') return FORBIDDEN('__proto__');
  if (cause?.data === 'constructor') return FORBIDDEN('prototype within constructor');
  return TOO_DEEP;
}

const FORBIDDEN = (member: string) => `The request body has a member that is not allowed: ${member}`;
const TOO_DEEP = `The request body is nested more than ${MAX_DEPTH} levels deep`;

/** What JSON allows and nothing behind it does: half of a surrogate pair, and nesting without end. */
function refuseOddValues(body: unknown, family: 'A' | 'B'): void {
  const path = illFormedPath(body, [], family);
  if (!path) return;
  const field = path.length === 0 ? 'body' : path.join('.');
  const message = `${field} must be well-formed Unicode text`;
  if (family === 'A')
    throw new HttpValidationError([{ loc: ['body', ...path], msg: message, type: 'string_unicode' }]);
  throw new ServiceError('validation_error', message, { details: [{ field, message }] });
}

/** @throws HttpValidationError or ServiceError where the body is nested too deep */
function illFormedPath(
  value: unknown,
  path: readonly (string | number)[],
  family: 'A' | 'B',
): readonly (string | number)[] | null {
  if (typeof value === 'string') return value.isWellFormed() ? null : path;
  if (typeof value !== 'object' || value === null) return null;
  if (path.length >= MAX_DEPTH) throw invalidJson(TOO_DEEP, family);
  for (const [key, held] of Object.entries(value)) {
    if (!key.isWellFormed()) return path;
    const found = illFormedPath(held, [...path, Array.isArray(value) ? Number(key) : key], family);
    if (found) return found;
  }
  return null;
}
