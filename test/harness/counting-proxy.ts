import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Passes requests on to a store and counts them: what an operation costs, seen from outside of it. */
export async function startCountingProxy(target: string) {
  const { hostname, port } = new URL(target);
  const agent = new Agent({ keepAlive: true });
  let count = 0;
  const server = createServer((incoming, outgoing) => {
    count += 1;
    const { method, url: path, headers } = incoming;
    const onward = request({ hostname, port, method, path, headers, agent }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.once('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take(): number {
      const taken = count;
      count = 0;
      return taken;
    },
    stop(): void {
      server.close();
      server.closeAllConnections();
      agent.destroy();
    },
  };
}
