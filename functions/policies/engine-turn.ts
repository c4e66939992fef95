import { Turn } from '#shared/threads/turns.ts';

/**
 * Milliseconds from a request's begin in which the engine has to get to it, so that all of it ends before the gateway
 * gives it up: what is answered with an error is not carried out after all.
 */
const BEGIN_WITHIN_MS = 15_000;

/** An organization's turns of the engine, for one request. */
export function engineTurn(orgId: string): Turn {
  return new Turn(orgId, performance.now() + BEGIN_WITHIN_MS);
}
