import { once } from 'node:events';
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import type {
  APIGatewayProxyEventV2WithLambdaAuthorizer,
  APIGatewayRequestAuthorizerEventV2,
} from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Functions } from '#infra/local/functions.ts';
import { type Gateway, openGateway } from '#infra/local/gateway.ts';
import { bytesOf, exchange } from '#test/harness/awkward/wire.ts';

type Event = APIGatewayProxyEventV2WithLambdaAuthorizer<{ who: string }>;

const ROUTES = [
  'GET /api/things/{thing_id}',
  'GET /api/things/summary',
  'POST /api/things',
  'PATCH /api/things/{thing_id}',
  '$default',
].map((key) => ({ key, functionName: 'echo', authorizer: 'authorizer' }));

let gateway: Gateway;
let seenByAuthorizer: APIGatewayRequestAuthorizerEventV2;
let authorizer: () => unknown = () => ({ isAuthorized: true, context: { who: 'me' } });
/** What the function answers; by default the event that it got. */
let answer: (event: Event) => unknown = echo;

function echo(event: Event) {
  return { statusCode: 200, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(event) };
}

const functions: Functions = {
  async invoke(name, event) {
    if (name !== 'authorizer') return answer(event as Event);
    seenByAuthorizer = event as APIGatewayRequestAuthorizerEventV2;
    return authorizer();
  },
};

beforeAll(async () => {
  gateway = await openGateway(0, { integrationMs: 300, hosts: ['api.example.com'] });
  gateway.serve(ROUTES, functions);
});
afterAll(() => gateway.close());

async function send(path: string, init: RequestInit = {}): Promise<Event> {
  const response = await fetch(`${gateway.url}${path}`, init);
  expect(response.status).toBe(200);
  return response.json() as Promise<Event>;
}

/** Runs a test with another function behind the gateway. */
async function withAnswer<T>(other: typeof answer, run: () => Promise<T>): Promise<T> {
  answer = other;
  try {
    return await run();
  } finally {
    answer = echo;
  }
}

describe('payload 2.0', () => {
  it('describes a request', async () => {
    const event = await send('/api/things/a%20b?x=1&x=2&y=%C3%A4', { headers: { 'X-Thing': 'Value' } });
    expect(event).toMatchObject({
      version: '2.0',
      routeKey: 'GET /api/things/{thing_id}',
      // As the gateway does: decoded, in spite of its name.
      rawPath: '/api/things/a b',
      rawQueryString: 'x=1&x=2&y=%C3%A4',
      queryStringParameters: { x: '1,2', y: 'ä' },
      pathParameters: { thing_id: 'a b' },
      headers: { 'x-thing': 'Value' },
      isBase64Encoded: false,
      requestContext: {
        stage: '$default',
        routeKey: 'GET /api/things/{thing_id}',
        http: { method: 'GET', path: '/api/things/a b', protocol: 'HTTP/1.1', sourceIp: '127.0.0.1' },
        authorizer: { lambda: { who: 'me' } },
      },
    });
    expect(event.requestContext.time).toMatch(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/);
    expect(event).not.toHaveProperty('body');
    expect(event).not.toHaveProperty('cookies');
  });

  it('leaves out what is not there', async () => {
    const event = await send('/api/things/summary');
    expect(event.routeKey).toBe('GET /api/things/summary');
    for (const name of ['queryStringParameters', 'pathParameters', 'body'])
      expect(event).not.toHaveProperty(name);
    expect(event.rawQueryString).toBe('');
  });

  it('joins repeated headers, and lists cookies apart', async () => {
    const { hostname, port } = new URL(gateway.url);
    const sent = request({
      hostname,
      port,
      path: '/api/things/summary',
      headers: { 'X-Many': ['a', 'b'], Cookie: 'one=1; two=2' },
    });
    sent.end();
    const [response] = await once(sent, 'response');
    let text = '';
    for await (const chunk of response) text += chunk;
    const event = JSON.parse(text) as Event;
    expect(event.headers['x-many']).toBe('a,b');
    expect(event.cookies).toEqual(['one=1', 'two=2']);
    expect(event.headers).not.toHaveProperty('cookie');
  });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'text/plain',
    'application/xml',
    'application/javascript',
  ])('hands over %s as text', async (type) => {
    const event = await send('/api/things', {
      method: 'POST',
      headers: { 'content-type': type },
      body: '{"ä":1}',
    });
    expect(event).toMatchObject({ body: '{"ä":1}', isBase64Encoded: false });
  });

  it.each(['application/gzip', 'application/octet-stream', 'image/png', 'application/sarif+json'])(
    'hands over %s as Base64',
    async (type) => {
      const body = gzipSync('report');
      const event = await send('/api/things', { method: 'POST', headers: { 'content-type': type }, body });
      expect(event.isBase64Encoded).toBe(true);
      expect(Buffer.from(event.body ?? '', 'base64')).toEqual(body);
    },
  );

  it('shows the authorizer everything but the body', async () => {
    await send('/api/things', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'secret' });
    expect(seenByAuthorizer).toMatchObject({
      version: '2.0',
      type: 'REQUEST',
      identitySource: [],
      routeKey: 'POST /api/things',
      rawPath: '/api/things',
      requestContext: { http: { method: 'POST' } },
    });
    expect(JSON.stringify(seenByAuthorizer)).not.toContain('secret');
  });
});

describe('routes', () => {
  it.each([
    ['GET', '/api/things/summary', 'GET /api/things/summary'],
    ['GET', '/api/things/1', 'GET /api/things/{thing_id}'],
    // No GET-only literal may hide the parameter's other methods.
    ['PATCH', '/api/things/summary', 'PATCH /api/things/{thing_id}'],
    ['GET', '/api/things/', '$default'],
    ['GET', '/api/things', '$default'],
    ['POST', '/api/things/', '$default'],
    ['DELETE', '/api/things/1', '$default'],
    ['OPTIONS', '/api/things/1', '$default'],
    ['GET', '/', '$default'],
    ['GET', '/api/things/1/more', '$default'],
  ])('%s %s goes to %s', async (method, path, expected) => {
    expect((await send(path, { method })).routeKey).toBe(expected);
  });

  it('answers HEAD without a body', async () => {
    const response = await fetch(`${gateway.url}/api/things/1`, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
  });
});

describe('answers', () => {
  const get = () => fetch(`${gateway.url}/api/things/1`);

  it('become responses: status, headers, cookies, bytes', async () => {
    const other = () => ({
      statusCode: 201,
      headers: { 'X-Number': 7 },
      cookies: ['a=1', 'b=2'],
      body: Buffer.from([0, 255]).toString('base64'),
      isBase64Encoded: true,
    });
    const response = await withAnswer(other, get);
    expect(response.status).toBe(201);
    expect(response.headers.get('x-number')).toBe('7');
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect([...new Uint8Array(await response.arrayBuffer())]).toEqual([0, 255]);
  });

  it('without a status are the JSON of a 200', async () => {
    const response = await withAnswer(() => ({ plain: true }), get);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect([response.status, await response.json()]).toEqual([200, { plain: true }]);
  });

  it.each<[string, () => unknown, number, string]>([
    ['a function that throws', () => Promise.reject(new Error('private')), 500, 'Internal Server Error'],
    ['a function that is too slow', () => new Promise(() => {}), 503, 'Service Unavailable'],
    [
      'an answer over 6 MB',
      () => ({ statusCode: 200, body: 'x'.repeat(6 * 1024 * 1024 + 1) }),
      500,
      'Internal Server Error',
    ],
    [
      'an answer over 6 MB once it is JSON',
      () => ({ statusCode: 200, body: '"'.repeat(3.5 * 1024 * 1024) }),
      500,
      'Internal Server Error',
    ],
  ])('%s: the gateway answers by itself', async (_, other, status, message) => {
    const response = await withAnswer(other, get);
    expect([response.status, await response.json()]).toEqual([status, { message }]);
  });

  it.each<[string, () => unknown, number, string]>([
    ['refuses', () => ({ isAuthorized: false }), 403, 'Forbidden'],
    ['throws', () => Promise.reject(new Error('private')), 500, 'Internal Server Error'],
    ['answers something else', () => 'yes', 500, 'Internal Server Error'],
  ])('an authorizer that %s lets nothing pass', async (_, other, status, message) => {
    const before = authorizer;
    authorizer = other;
    const response = await get();
    authorizer = before;
    expect([response.status, await response.json()]).toEqual([status, { message }]);
  });

  it.each([
    [10 * 1024 * 1024 + 1, 'Request Entity Too Large'],
    // Base64 makes four bytes of three: Lambda's own limit comes first.
    [5 * 1024 * 1024, 'Request Too Long'],
  ])('a body of %i bytes is refused', async (size, message) => {
    const response = await fetch(`${gateway.url}/api/things`, {
      method: 'POST',
      body: Buffer.alloc(size),
      headers: { 'content-type': 'application/gzip' },
    });
    expect([response.status, await response.json()]).toEqual([413, { message }]);
  });

  it('of heads are given up to 10,240 bytes of request line and values', async () => {
    const { host } = new URL(gateway.url);
    const others = `GET /api/things/1 HTTP/1.1${host}close`.length;
    for (const [size, status] of [
      [10_240, 200],
      [10_241, 431],
    ] as const) {
      const request = { line: 'GET /api/things/1', headers: [`X-Long: ${'x'.repeat(size - others)}`] };
      const answer = await exchange(Number(new URL(gateway.url).port), bytesOf(request, host));
      expect([size, answer?.status]).toEqual([size, status]);
    }
  });

  it.each([
    ['no host', []],
    ['two hosts', ['localhost', 'evil.example']],
    ['two hosts, ours last', ['evil.example', 'localhost']],
    ['the same host twice', ['localhost', 'localhost']],
  ])('a request that names %s is refused', async (_, hosts) => {
    const lines = [
      'GET /api/things/1 HTTP/1.1',
      ...hosts.map((host) => `Host: ${host}`),
      'Connection: close',
    ];
    const bytes = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
    const refused = await exchange(Number(new URL(gateway.url).port), bytes);
    expect([refused?.status, refused?.body.toString()]).toEqual([400, '{"message":"Bad Request"}']);
  });

  it('says which port is taken', async () => {
    const { port } = new URL(gateway.url);
    await expect(openGateway(Number(port))).rejects.toThrow(`Port ${port} is taken`);
  });
});
