import { currentRequestId } from './request-scope.ts';
import { inSources } from './source-places.ts';

/**
 * Structured logs: one object a line, through the console, which Lambda's JSON log format takes as
 * it is, with the id of the request that set it off. Callers pass names and ids, never bodies, headers, tokens or report contents.
 */
type Fields = Record<string, string | number | boolean | null | undefined>;

export function logInfo(message: string, fields: Fields = {}): void {
  console.info({ message, ...requestField(), ...fields });
}

export function logWarning(message: string, fields: Fields = {}): void {
  console.warn({ message, ...requestField(), ...fields });
}

export function logError(message: string, error: unknown, fields: Fields = {}): void {
  console.error({ message, ...requestField(), ...fields, error: describeError(error) });
}

function requestField(): Fields {
  const id = currentRequestId();
  return id === null ? {} : { request_id: id };
}

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  return {
    name: error.name,
    message: error.message,
    stack: error.stack && inSources(error.stack),
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  };
}
