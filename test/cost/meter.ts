import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Usage } from '#infra/cost/usage.ts';
import { INVOCATIONS, type Invocation } from '#infra/local/functions.ts';

export type Meter = Awaited<ReturnType<typeof startMeter>>;

/** Passes requests on to a store that answers what each costs, and counts all that a service uses meanwhile. */
export async function startMeter(store: string) {
  let usage = nothing();
  const proxy = await startStoreProxy(store, () => usage);
  const onInvocation = (message: unknown) => {
    const { name, memory, milliseconds } = message as Invocation;
    const known = usage.invocations[name] ?? { count: 0, milliseconds: 0, memory };
    known.count += 1;
    known.milliseconds += milliseconds;
    usage.invocations[name] = known;
  };
  // The SDK's requests: a target says which service and what.
  const onRequest = (message: unknown) => {
    const sent = (message as { request: { getHeader(name: string): unknown } }).request;
    count(usage, String(sent.getHeader('x-amz-target') ?? ''));
  };
  subscribe(INVOCATIONS.name, onInvocation);
  subscribe('http.client.request.start', onRequest);
  return {
    url: proxy.url,
    /** Requests to the store since it was asked last. */
    seen: () => usage.storeRequests,
    /** What was used since it was asked last. */
    take(): Usage {
      const taken = usage;
      usage = nothing();
      return taken;
    },
    stop(): void {
      unsubscribe(INVOCATIONS.name, onInvocation);
      unsubscribe('http.client.request.start', onRequest);
      proxy.stop();
    },
  };
}

function nothing() {
  return {
    storeRequests: 0,
    readUnits: 0,
    writeUnits: 0,
    messages: 0,
    executions: 0,
    invocations: {} as Record<string, { count: number; milliseconds: number; memory: number }>,
  };
}

function count(usage: ReturnType<typeof nothing>, target: string): void {
  // Each is received and deleted once as well; waiting for none is counted apart.
  if (target.endsWith('.SendMessage')) usage.messages += 1;
  if (target.endsWith('.StartExecution')) usage.executions += 1;
}

interface Capacity {
  readonly ReadCapacityUnits?: number;
  readonly WriteCapacityUnits?: number;
  readonly CapacityUnits?: number;
}

const READS = new Set(['GetItem', 'BatchGetItem', 'Query', 'Scan']);

async function startStoreProxy(target: string, usage: () => ReturnType<typeof nothing>) {
  const { hostname, port } = new URL(target);
  const agent = new Agent({ keepAlive: true });

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const command = String(incoming.headers['x-amz-target']).split('.').at(-1) ?? '';
    const asked = JSON.parse((await buffer(incoming)).toString()) as object;
    const isCounted = !/Table|TimeToLive/.test(command);
    const body = JSON.stringify({ ...asked, ...(isCounted && { ReturnConsumedCapacity: 'TOTAL' }) });
    const { 'content-length': _, 'accept-encoding': __, ...headers } = incoming.headers;
    const onward = request(
      {
        ...{ hostname, port, agent, method: incoming.method, path: incoming.url },
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      },
      (reply) => {
        void buffer(reply).then((bytes) => {
          if (isCounted) add(usage(), command, bytes);
          // What was added for us would not fit the checksum that the client compares.
          const { 'x-amz-crc32': ___, ...rest } = reply.headers;
          outgoing.writeHead(reply.statusCode ?? 502, rest).end(bytes);
        });
      },
    );
    onward.once('error', () => outgoing.destroy());
    onward.end(body);
  }

  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop(): void {
      server.close();
      server.closeAllConnections();
      agent.destroy();
    },
  };
}

function add(usage: ReturnType<typeof nothing>, command: string, bytes: Buffer): void {
  usage.storeRequests += 1;
  const { ConsumedCapacity = [] } = JSON.parse(bytes.toString()) as {
    ConsumedCapacity?: Capacity | Capacity[];
  };
  for (const one of [ConsumedCapacity].flat()) {
    const units = one.CapacityUnits ?? 0;
    if (READS.has(command)) usage.readUnits += one.ReadCapacityUnits ?? units;
    else usage.writeUnits += one.WriteCapacityUnits ?? units;
  }
}
