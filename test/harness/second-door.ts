import { inject } from 'vitest';
import { operations } from '#contract/index.ts';
import { type Functions, loadFunctions } from '#infra/local/functions.ts';
import { openGateway } from '#infra/local/gateway.ts';
import type { ServiceLog } from '#infra/local/log.ts';
import { startTroubledStore, type TroubledStore } from './troubled-store.ts';

export interface SecondDoor {
  readonly url: string;
  /** The store as the functions see it; the authorizer's is never troubled. */
  readonly store: TroubledStore;
  stop(): Promise<void>;
}

/** The header that says from which address a request comes; at this door alone. */
export const FROM_ADDRESS = 'x-from-address';

/** What fails here fails on purpose. */
const silent: ServiceLog = { write() {}, pipe: () => () => {}, close: async () => {} };

/**
 * Another gateway to the same table, with the same authorizer and functions, in the process of the test:
 * for faults of the store, rivals that are always faster, and callers from other addresses.
 */
export async function openSecondDoor(): Promise<SecondDoor> {
  const store = await startTroubledStore(inject('service').dynamodb);
  const gateway = await openGateway(0);
  const authorizer = await load(['authorizer']);
  process.env.AWS_ENDPOINT_URL_DYNAMODB = inject('service').dynamodb;
  // The first request settles which store a function's client talks to.
  await authorizer.invoke('authorizer', {
    rawPath: '/api/health',
    headers: {},
    requestContext: { http: { method: 'GET', sourceIp: '192.0.2.1' } },
  });
  process.env.AWS_ENDPOINT_URL_DYNAMODB = store.url;
  const others = await load([...new Set(operations.map(({ group }) => group))]);
  const routes = operations.map(({ method, path, group }) => ({
    key: `${method} ${path}`,
    functionName: group,
    authorizer: 'authorizer',
  }));
  gateway.serve(routes, {
    invoke(name, event) {
      const { headers, requestContext } = event as HttpEvent;
      requestContext.http.sourceIp = headers[FROM_ADDRESS] ?? requestContext.http.sourceIp;
      return (name === 'authorizer' ? authorizer : others).invoke(name, event);
    },
  });
  return {
    url: gateway.url,
    store,
    async stop() {
      await gateway.close();
      store.stop();
    },
  };
}

interface HttpEvent {
  readonly headers: Record<string, string>;
  readonly requestContext: { readonly http: { sourceIp: string } };
}

function load(names: readonly string[]): Promise<Functions> {
  return loadFunctions(
    names.map((name) => ({ name, timeoutSeconds: 30, memory: 512 })),
    silent,
    (name) => import(`#functions/${name}/handler.ts`),
  );
}
