import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type AddressPolicy, bareHost } from '#domain/addresses.ts';
import { HostRefused, type NameLookup, resolveJudged, systemLookup } from '#shared/network/resolve.ts';
import { hasOwnProxy, throughProxy } from './environment.ts';

export interface EgressSettings {
  readonly policy: AddressPolicy;
  readonly names?: NameLookup;
  /** Hosts that the operator's own settings name (a mirror of a scanner's database): reachable wherever they are. */
  readonly trusted?: ReadonlySet<string>;
}

/** The one way out of the runner's machine, for git and for the scanners. */
export interface Egress {
  /** Where programs find it, as an HTTP proxy. */
  readonly url: string;
  close(): Promise<void>;
}

/** A connection that takes longer will not come. */
const CONNECT_MS = 20_000;
/** Of a message to us alone, not to the next hop (RFC 9110, 7.6.1). */
const HOP_BY_HOP = new Set(
  'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer upgrade'.split(
    ' ',
  ),
);

/**
 * An HTTP proxy on this machine's loopback that goes out to judged addresses alone. It resolves each name once,
 * judges the addresses, and connects to one of them: whoever goes through it can't be led elsewhere by a second
 * answer of the DNS, by a redirect, or by an address in what a repository holds.
 */
export async function openEgress(settings: EgressSettings): Promise<Egress> {
  const { policy, names = systemLookup, trusted = new Set() } = settings;
  const sockets = new Set<Socket>();
  const kept = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    return socket;
  };
  const open = async (host: string, port: number): Promise<Socket> => {
    const isTrusted = trusted.has(bareHost(host));
    const [address = ''] = await resolveJudged(host, isTrusted ? 'all' : policy, names);
    return kept(await connectTo(address, port));
  };
  const server = createServer((incoming, response) => void forward(incoming, response, open));
  server.on('connect', (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    void tunnel(incoming.url ?? '', client, head, open);
  });
  server.on('connection', kept);
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      // Tunnels are connections that the server has handed over.
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/**
 * The environment of programs that go out by these settings: through a proxy of ours until it is disposed of, or
 * through the operator's own, which then decides what is reached.
 */
export async function wayOut(
  env: NodeJS.ProcessEnv,
  settings: EgressSettings,
): Promise<{ readonly env: NodeJS.ProcessEnv } & AsyncDisposable> {
  if (hasOwnProxy(env)) return { env, [Symbol.asyncDispose]: async () => {} };
  const egress = await openEgress(settings);
  return { env: throughProxy(env, egress.url), [Symbol.asyncDispose]: () => egress.close() };
}

type Open = (host: string, port: number) => Promise<Socket>;

/** `CONNECT host:port`: bytes both ways, nothing of it read. */
async function tunnel(authority: string, client: Duplex, head: Buffer, open: Open): Promise<void> {
  client.on('error', () => client.destroy());
  const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(authority) ?? [];
  let target: Socket;
  try {
    target = await open(host, Number(port));
  } catch (error) {
    client.end(`HTTP/1.1 ${error instanceof HostRefused ? '403 Forbidden' : '502 Bad Gateway'}\r\n\r\n`);
    return;
  }
  client.once('close', () => target.destroy());
  target.once('close', () => client.destroy());
  target.on('error', () => client.destroy());
  client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  target.write(head);
  client.pipe(target).pipe(client);
}

/** A plain http request with its whole address, as proxies get it. */
async function forward(incoming: IncomingMessage, response: ServerResponse, open: Open): Promise<void> {
  const url = URL.parse(incoming.url ?? '');
  if (url?.protocol !== 'http:') return answer(response, 400);
  let socket: Socket;
  try {
    socket = await open(url.hostname, Number(url.port || 80));
  } catch (error) {
    return answer(response, error instanceof HostRefused ? 403 : 502);
  }
  const headers = [...withoutHops(incoming.rawHeaders), 'connection', 'close'];
  // Without an agent: one would make a connection of its own, to where the name leads by then.
  const outgoing = request(url, {
    method: incoming.method,
    headers,
    createConnection: () => socket,
  });
  outgoing.once('response', (answered) => {
    response.writeHead(answered.statusCode ?? 502, withoutHops(answered.rawHeaders));
    answered.pipe(response);
    answered.once('error', () => response.destroy());
  });
  outgoing.once('error', () => (response.headersSent ? response.destroy() : answer(response, 502)));
  response.once('close', () => outgoing.destroy());
  incoming.pipe(outgoing);
}

function answer(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-length': '0', connection: 'close' }).end();
}

/** Names and values in turn, as Node hands them over and takes them. */
function withoutHops(raw: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? '';
    if (!HOP_BY_HOP.has(name.toLowerCase())) kept.push(name, raw[at + 1] ?? '');
  }
  return kept;
}

function connectTo(address: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, timeout: CONNECT_MS });
    socket.once('timeout', () => socket.destroy(new Error('Nobody answered')));
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.setTimeout(0);
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}
