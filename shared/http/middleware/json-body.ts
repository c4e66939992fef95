import httpJsonBodyParser from '@middy/http-json-body-parser';
import { ServiceError } from '#domain/errors.ts';
import type { ChainMiddleware } from '../request-state.ts';
import { HttpValidationError } from '../validation.ts';

/** Enough for every JSON body of the API; reports have their own way in. */
const MAX_BODY_CHARACTERS = 1024 * 1024;

/** Parses the body of operations that have one; the parser's own 415 and 422 become ours. */
export function jsonBody(): ChainMiddleware {
  const parser = httpJsonBodyParser();
  return {
    before: async (request) => {
      const { state } = request.context;
      const { operation } = state;
      if (!operation?.body) return;
      const { body } = request.event;
      if (operation.bodyOptional && (body === undefined || body === '')) return;
      if ((body?.length ?? 0) > MAX_BODY_CHARACTERS)
        throw new ServiceError('payload_too_large', 'The body is larger than 1 MB');
      try {
        await parser.before?.(request as never);
      } catch (cause) {
        const message =
          'The request body is not valid JSON, holds a forbidden key (__proto__), or its Content-Type is not application/json';
        if (operation.family === 'A')
          throw new HttpValidationError([{ loc: ['body'], msg: message, type: 'json_invalid' }]);
        throw new ServiceError('invalid_json', message, { cause });
      }
      state.body = request.event.body;
      refuseIllFormedText(state.body, operation.family);
    },
  };
}

/** JSON allows half of a surrogate pair; no store, and no reader of UTF-8, does. */
function refuseIllFormedText(body: unknown, family: 'A' | 'B'): void {
  const path = illFormedPath(body, []);
  if (!path) return;
  const field = path.length === 0 ? 'body' : path.join('.');
  const message = `${field} must be well-formed Unicode text`;
  if (family === 'A')
    throw new HttpValidationError([{ loc: ['body', ...path], msg: message, type: 'string_unicode' }]);
  throw new ServiceError('validation_error', message, { details: [{ field, message }] });
}

function illFormedPath(
  value: unknown,
  path: readonly (string | number)[],
): readonly (string | number)[] | null {
  if (typeof value === 'string') return value.isWellFormed() ? null : path;
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, held] of Object.entries(value)) {
    if (!key.isWellFormed()) return path;
    const found = illFormedPath(held, [...path, Array.isArray(value) ? Number(key) : key]);
    if (found) return found;
  }
  return null;
}
