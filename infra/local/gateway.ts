import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { finished } from 'node:stream';
import { bareHost } from '#domain/addresses.ts';
import type { CorsPolicy } from '#infra/api/cors.ts';
import type { AnsweredRequest } from './access-log.ts';
import { corsHeaders, isPreflight } from './cors.ts';
import type { Functions } from './functions.ts';
import type { LocalRoute } from './model.ts';
import { authorizerEvent, describeRequest, functionEvent } from './payload.ts';
import { createRouteTable, type RouteMatch } from './routes.ts';
import { refuseUnparsed } from './unparsed.ts';

/** Limits of the platform: a request's line and headers, a body, a payload into and out of Lambda, an integration's time. */
const MAX_HEAD_BYTES = 10_240;
const MAX_BODY_BYTES = 10 * 1024 * 1024;
const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;
const INTEGRATION_MS = 30_000;
/** Who sends slowly keeps a connection, and that not for long: a body of 4 MB has a minute to arrive. */
const PATIENCE = { headersMs: 15_000, requestMs: 60_000, checkMs: 5000 };

/** Answers of the gateway itself, where no function was asked or none answered. */
class GatewayAnswer extends Error {
  override readonly name = 'GatewayAnswer';
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface Gateway {
  readonly url: string;
  /** Begins to answer; until then every request gets a 503. Each that has a route is told of once it is answered. */
  serve(routes: readonly LocalRoute[], functions: Functions, tell?: (request: AnsweredRequest) => void): void;
  close(): Promise<void>;
}

export interface GatewayOptions {
  readonly integrationMs?: number;
  readonly patience?: typeof PATIENCE;
  /** Host names that it answers for, beside those of this machine. */
  readonly hosts?: readonly string[];
  /** What pages of other origins may do; null: their browsers keep every answer from them. */
  readonly cors?: CorsPolicy | null;
}

const OWN_HOSTS = ['127.0.0.1', 'localhost', '::1'];

/** Ours is a thin layer: HTTP → payload 2.0 → authorizer → function → HTTP. */
export async function openGateway(port: number, options: GatewayOptions = {}): Promise<Gateway> {
  const { integrationMs = INTEGRATION_MS, patience = PATIENCE, hosts = [], cors = null } = options;
  const answersFor = new Set([...OWN_HOSTS, ...hosts.map(bareHost)]);
  let answer: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | null = null;
  const server = createServer(
    { connectionsCheckingInterval: patience.checkMs, requireHostHeader: false },
    (request, response) => {
      if (cors)
        for (const [name, value] of Object.entries(corsHeaders(cors, request)))
          response.setHeader(name, value);
      if (hostsOf(request) !== 1) {
        refuse(response, new GatewayAnswer(400, 'Bad Request'));
        return;
      }
      if (!answersFor.has(hostOf(request))) {
        refuse(
          response,
          new GatewayAnswer(421, 'This host is not served here: ASPM_HOSTS names those that are'),
        );
        return;
      }
      if (cors && isPreflight(request)) {
        response.writeHead(204).end();
        return;
      }
      if (!answer) {
        refuse(response, new GatewayAnswer(503, 'Service Unavailable'));
        return;
      }
      answer(request, response).catch((error: unknown) => refuse(response, error));
    },
  );
  refuseUnparsed(server);
  // Longer than clients keep their idle connections, so that none is closed while a request is on its way.
  server.keepAliveTimeout = 75_000;
  server.headersTimeout = patience.headersMs;
  server.requestTimeout = patience.requestMs;
  await listen(server, port);
  const { port: actual } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${actual}`,
    serve(routes, functions, tell = () => {}) {
      const match = createRouteTable(routes);
      answer = (request, response) =>
        answerRequest(request, response, { match, functions, integrationMs, tell });
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      // What is being answered gets the time to end; a connection that stays open does not hold us.
      const force = setTimeout(() => server.closeAllConnections(), 3000);
      await closed;
      clearTimeout(force);
    },
  };
}

/**
 * The host that was asked for. A page of another name that the DNS leads to this machine must not speak to the
 * service in the name of who looks at it (DNS rebinding).
 */
function hostOf({ headers }: IncomingMessage): string {
  const url = URL.parse(`http://${headers.host ?? ''}`);
  return url === null || url.username !== '' || url.pathname !== '/' ? '' : bareHost(url.hostname);
}

/** One, or whoever stands between reads another one than we do (RFC 9112, 3.2). */
function hostsOf({ rawHeaders }: IncomingMessage): number {
  return rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE';
      reject(
        taken ? new Error(`Port ${port} is taken: set PORT to another one (0 picks a free one)`) : error,
      );
    });
    server.listen(port, '127.0.0.1', resolve);
  });
}

interface Serving {
  readonly match: (method: string, path: string) => RouteMatch | null;
  readonly functions: Functions;
  readonly integrationMs: number;
  readonly tell: (request: AnsweredRequest) => void;
}

async function answerRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { match, functions, integrationMs, tell }: Serving,
): Promise<void> {
  if (headSize(request) > MAX_HEAD_BYTES) throw new GatewayAnswer(431, 'Request Header Fields Too Large');
  const target = request.url ?? '/';
  const mark = target.indexOf('?');
  const path = decodePath(mark === -1 ? target : target.slice(0, mark));
  const query = mark === -1 ? '' : target.slice(mark + 1);
  const found = match(request.method ?? 'GET', path);
  if (!found) throw new GatewayAnswer(404, 'Not Found');
  const payload = describeRequest(request, found, path, query);
  let told: object | null = null;
  response.once('close', () =>
    tell({
      payload,
      context: told,
      status: response.statusCode,
      bytes: Number(response.getHeader('content-length') ?? 0),
      latencyMs: Date.now() - payload.requestContext.timeEpoch,
    }),
  );
  const { authorizer } = found.route;
  // The authorizer never sees the body: both go on side by side.
  const [body, context] = await Promise.all([
    readBody(request),
    authorizer === null ? null : authorize(authorizer, authorizerEvent(payload), functions),
  ]);
  told = context;
  const event = functionEvent(payload, context, body);
  if (isTooLarge(event, event.body)) throw new GatewayAnswer(413, 'Request Too Long');
  const result = await integrate(found.route.functionName, event, functions, integrationMs);
  respond(response, result, payload.requestContext.requestId);
}

/** The request line and the values of the headers; Node has them as Latin-1. */
function headSize({ method = '', url = '', httpVersion, rawHeaders }: IncomingMessage): number {
  const line = `${method} ${url} HTTP/${httpVersion}`;
  return rawHeaders.reduce((size, text, index) => (index % 2 === 1 ? size + text.length : size), line.length);
}

/**
 * The gateway decodes the path before it selects a route, and hands it over decoded. It reads it as part of an
 * address once more, and decodes that: what follows a decoded `?` is lost (observed on AWS, docs/decisions.md).
 */
function decodePath(path: string): string {
  if (!path.includes('%')) return path;
  try {
    const [kept = ''] = decodeURIComponent(path).split('?', 1);
    return decodeURIComponent(kept);
  } catch {
    throw new GatewayAnswer(400, 'Bad Request');
  }
}

/** Lambda's limit is one of JSON, which makes up to six bytes of a character: what is far below is not written to know. */
function isTooLarge(payload: object, body = ''): boolean {
  if (body.length < MAX_PAYLOAD_BYTES / 8) return false;
  return Buffer.byteLength(JSON.stringify(payload)) > MAX_PAYLOAD_BYTES;
}

async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > MAX_BODY_BYTES) throw new GatewayAnswer(413, 'Request Entity Too Large');
  if (announced === 0 && request.headers['transfer-encoding'] === undefined) return null;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new GatewayAnswer(413, 'Request Entity Too Large');
    chunks.push(chunk);
  }
  const [only] = chunks;
  if (!only) return null;
  return chunks.length === 1 ? only : Buffer.concat(chunks, size);
}

async function authorize(name: string, event: unknown, functions: Functions): Promise<object> {
  let answer: unknown;
  try {
    answer = await functions.invoke(name, event);
  } catch {
    throw new GatewayAnswer(500, 'Internal Server Error');
  }
  if (answer === null || typeof answer !== 'object' || !('isAuthorized' in answer))
    throw new GatewayAnswer(500, 'Internal Server Error');
  if (answer.isAuthorized !== true) throw new GatewayAnswer(403, 'Forbidden');
  const context = 'context' in answer ? answer.context : null;
  return context !== null && typeof context === 'object' ? context : {};
}

async function integrate(
  name: string,
  event: unknown,
  functions: Functions,
  integrationMs: number,
): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new GatewayAnswer(503, 'Service Unavailable')), integrationMs);
  });
  try {
    return await Promise.race([functions.invoke(name, event), timeout]);
  } catch (error) {
    if (error instanceof GatewayAnswer) throw error;
    // What went wrong is in the log already.
    throw new GatewayAnswer(500, 'Internal Server Error');
  } finally {
    clearTimeout(timer);
  }
}

interface ProxyResult {
  readonly statusCode: number;
  readonly headers?: Readonly<Record<string, string | number | boolean>>;
  readonly cookies?: readonly string[];
  readonly body?: string;
  readonly isBase64Encoded?: boolean;
}

/** A result without a status is the body of a 200, as JSON. */
function respond(response: ServerResponse, result: unknown, requestId: string): void {
  const proxy: ProxyResult = isProxyResult(result)
    ? result
    : {
        statusCode: 200,
        headers: { 'content-type': 'application/json' },
        body: typeof result === 'string' ? result : JSON.stringify(result ?? null),
      };
  const text = proxy.body ?? '';
  if (isTooLarge(proxy, text)) throw new GatewayAnswer(500, 'Internal Server Error');
  const body = proxy.isBase64Encoded ? Buffer.from(text, 'base64') : Buffer.from(text, 'utf8');
  const headers: Record<string, string | string[]> = { 'content-type': 'text/plain' };
  for (const [name, value] of Object.entries(proxy.headers ?? {}))
    headers[name.toLowerCase()] = String(value);
  if (proxy.cookies && proxy.cookies.length > 0) headers['set-cookie'] = [...proxy.cookies];
  headers['content-length'] = String(body.length);
  headers['apigw-requestid'] = requestId;
  response.writeHead(proxy.statusCode, headers);
  response.end(body);
}

function isProxyResult(result: unknown): result is ProxyResult {
  return (
    result !== null &&
    typeof result === 'object' &&
    'statusCode' in result &&
    typeof result.statusCode === 'number'
  );
}

function refuse(response: ServerResponse, error: unknown): void {
  const { status, message } =
    error instanceof GatewayAnswer ? error : new GatewayAnswer(500, 'Internal Server Error');
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = JSON.stringify({ message });
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.write(body);
  // Who is still sending may lose an answer whose connection is closed at once: the rest is taken, and dropped.
  const { req: request } = response;
  finished(request, () => response.end());
  request.resume();
}
