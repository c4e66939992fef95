import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** As many requests as two cores can start functions for; in AWS each has a place of its own at once. */
const AT_ONCE = 8;

/** What a custom domain is in AWS: an address of the API that is known before the API is. */
export interface FrontDoor {
  readonly url: string;
  /** Says where requests go: the API's own address, whose name is in no DNS. */
  leadTo(api: { readonly host: string; readonly emulator: string }): void;
  close(): Promise<void>;
}

/** Passes requests on as they are, under the API's own name. */
export async function openFrontDoor(): Promise<FrontDoor> {
  let target: { host: string; emulator: string } | null = null;
  const waiting: (() => void)[] = [];
  let passing = 0;
  const next = () => {
    while (passing < AT_ONCE && waiting.length > 0) {
      passing += 1;
      waiting.shift()?.();
    }
  };
  const server = createServer((incoming, response) => {
    response.once('close', () => {
      passing -= 1;
      next();
    });
    waiting.push(() => {
      if (target) pass(incoming, response, target);
      else response.writeHead(503).end();
    });
    next();
  });
  // Uploads and scans may take longer than any default of Node's.
  server.requestTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo(api) {
      target = api;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function pass(
  incoming: IncomingMessage,
  response: ServerResponse,
  { host, emulator }: { host: string; emulator: string },
): void {
  const { hostname, port } = new URL(emulator);
  const headers = incoming.rawHeaders.slice();
  for (let index = 0; index < headers.length; index += 2)
    if (headers[index]?.toLowerCase() === 'host') headers[index + 1] = host;
  const outgoing = request({
    host: hostname,
    port,
    method: incoming.method,
    path: incoming.url,
    headers,
    setHost: false,
  });
  outgoing.once('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    answer.pipe(response);
  });
  outgoing.once('error', () => response.destroy());
  incoming.pipe(outgoing);
}
