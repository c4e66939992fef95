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
        const message = 'The request body is not valid JSON, or its Content-Type is not application/json';
        if (operation.family === 'A')
          throw new HttpValidationError([{ loc: ['body'], msg: message, type: 'json_invalid' }]);
        throw new ServiceError('invalid_json', message, { cause });
      }
      state.body = request.event.body;
    },
  };
}
