import type { ErrorCode } from '#contract/errors.ts';

const NO_STORE = 'asks nothing of the store, and so has nothing that fails but itself';

/** Declared errors that nothing provokes, by operation, each with its reason. */
export const LEFT_OUT: Readonly<Record<string, Partial<Record<ErrorCode, string>>>> = {
  getHealth: { internal_error: NO_STORE, service_unavailable: NO_STORE },
  getOpenApiDocument: { internal_error: NO_STORE, service_unavailable: NO_STORE },
};
