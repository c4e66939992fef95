import type { ChainMiddleware } from '../request-state.ts';
import { validate } from '../validation.ts';

/** Operations see valid input only. */
export function validation(): ChainMiddleware {
  return {
    before: ({ event, context: { state } }) => {
      if (!state.operation) return;
      state.input = validate(state.operation, {
        params: state.params,
        query: definedOnly(event.queryStringParameters),
        body: state.body,
      });
    },
  };
}

function definedOnly(query: Record<string, string | undefined> | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query ?? {}).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
