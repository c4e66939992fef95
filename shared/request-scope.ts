import { AsyncLocalStorage } from 'node:async_hooks';
import { v7 } from 'uuid';

/**
 * One id follows what a request sets off: the authorizer makes it, the answer shows it as `X-Request-ID`, and it
 * goes along on queues, in records and in the input of executions. Within its scope every log line, message and
 * audit entry carries it, without anybody passing it on.
 */
const scope = new AsyncLocalStorage<string>();
const SHAPE = /^req_[0-9a-f]{32}$/;

export function newRequestId(): string {
  return `req_${v7().replaceAll('-', '')}`;
}

/** The request that what is at work now was set off by; null where none was (a schedule, an old message). */
export function currentRequestId(): string | null {
  return scope.getStore() ?? null;
}

/** Runs something for a request. What is no id of ours changes nothing: an older record has none. */
export function withRequestId<T>(id: unknown, run: () => T): T {
  return typeof id === 'string' && SHAPE.test(id) ? scope.run(id, run) : run();
}
