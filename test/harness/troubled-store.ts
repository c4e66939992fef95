import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A request as it reaches the store: `command` such as `GetItem`, `input` as the wire has it. */
interface StoreCall {
  readonly command: string;
  readonly input: string;
}

/** An error of DynamoDB by its name: what the store answers instead. */
export interface StoreFault {
  readonly status: 400 | 500;
  readonly name: string;
}

/** Asked before each request; what it does meanwhile, others have done first. */
export type Trouble = (call: StoreCall) => Promise<StoreFault | null>;

export type TroubledStore = Awaited<ReturnType<typeof startTroubledStore>>;

/** The store at `target`, as long as nobody makes trouble in it; several may at once. */
export async function startTroubledStore(target: string) {
  const { hostname, port } = new URL(target);
  const agent = new Agent({ keepAlive: true });
  const troubles = new Set<Trouble>();

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    const command = String(incoming.headers['x-amz-target']).split('.').at(-1) ?? '';
    const call = { command, input: body.toString() };
    const met = await Promise.all([...troubles].map((trouble) => trouble(call)));
    const fault = met.find((one) => one !== null);
    if (fault) {
      const text = JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${fault.name}`, message: '' });
      outgoing.writeHead(fault.status, { 'content-type': 'application/x-amz-json-1.0' }).end(text);
      return;
    }
    const { method, url: path, headers } = incoming;
    const onward = request({ hostname, port, method, path, headers, agent }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(outgoing);
    });
    onward.once('error', () => outgoing.destroy());
    onward.end(body);
  }

  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Runs something while there is trouble. */
    async during<T>(trouble: Trouble, run: () => Promise<T>): Promise<T> {
      troubles.add(trouble);
      try {
        return await run();
      } finally {
        troubles.delete(trouble);
      }
    },
    stop(): void {
      server.close();
      server.closeAllConnections();
      agent.destroy();
    },
  };
}
