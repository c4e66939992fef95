import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { corsPolicy } from '#infra/api/cors.ts';
import { readCorsSetting } from '#infra/local/cors.ts';
import type { Functions } from '#infra/local/functions.ts';
import { type Gateway, openGateway } from '#infra/local/gateway.ts';

const OURS = 'https://app.example.com';
const OTHER = 'https://elsewhere.example.com';

const ROUTES = ['GET /api/things', 'GET /api/refused', 'GET /api/broken', 'POST /api/things'].map((key) => ({
  key,
  functionName: key.slice(key.lastIndexOf('/') + 1),
  authorizer: null,
}));

const called: string[] = [];
const functions: Functions = {
  async invoke(name) {
    called.push(name);
    if (name === 'broken') throw new Error('broken');
    return { statusCode: name === 'refused' ? 401 : 200, headers: { 'x-request-id': 'req_1' }, body: '{}' };
  },
};

let open: Gateway;
let shut: Gateway;
beforeAll(async () => {
  open = await openGateway(0, {
    cors: readCorsSetting({ ASPM_CORS_ORIGINS: `http://localhost:5173, ${OURS}` }),
  });
  shut = await openGateway(0, { cors: readCorsSetting({}) });
  for (const gateway of [open, shut]) gateway.serve(ROUTES, functions);
});
afterAll(() => Promise.all([open.close(), shut.close()]));

/** `fetch` sends no `Origin` and no `Host` of ours. */
async function send(gateway: Gateway, method: string, path: string, headers: Record<string, string>) {
  const sent = request(`${gateway.url}${path}`, { method, headers });
  sent.end();
  const [answer] = await new Promise<[import('node:http').IncomingMessage]>((resolve, reject) => {
    sent.once('error', reject);
    sent.once('response', (response) => resolve([response]));
  });
  const body = await text(answer);
  const cors = Object.fromEntries(
    Object.entries(answer.headers).filter(([name]) => name === 'vary' || name.startsWith('access-control-')),
  );
  return { status: answer.statusCode, cors, body };
}
const asks = (origin: string) => ({
  origin,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type',
});

describe('a gateway with CORS', () => {
  it('answers a preflight of an origin that is listed, and asks no function', async () => {
    called.length = 0;
    const { methods, allowHeaders } = corsPolicy([]);
    expect(await send(open, 'OPTIONS', '/api/things', asks(OURS))).toEqual({
      status: 204,
      body: '',
      cors: {
        vary: 'Origin',
        'access-control-allow-origin': OURS,
        'access-control-allow-methods': methods.join(','),
        'access-control-allow-headers': allowHeaders.join(','),
        'access-control-max-age': '7200',
      },
    });
    expect(called).toEqual([]);
  });

  it.each([
    ['of the function', '/api/things', 200],
    ['of the chain', '/api/refused', 401],
    ['of the gateway, where the function broke', '/api/broken', 500],
    ['of the gateway, where there is no route', '/nowhere', 404],
    ['of the gateway, where the path is broken', '/api/%zz', 400],
  ])('lets pages of a listed origin read every answer: %s', async (_, path, status) => {
    const answer = await send(open, 'GET', path, { origin: OURS });
    expect(answer).toMatchObject({
      status,
      cors: { vary: 'Origin', 'access-control-allow-origin': OURS },
    });
    expect(answer.cors['access-control-expose-headers']).toContain('x-request-id');
  });

  it.each([
    OTHER,
    'null',
    'https://app.example.com.elsewhere.example',
    'http://app.example.com',
    `${OURS}:8443`,
    `${OURS}, ${OTHER}`,
    `${OTHER}, ${OURS}`,
  ])('tells %s nothing, and caches that', async (origin) => {
    for (const [method, headers] of [
      ['GET', { origin }],
      ['OPTIONS', asks(origin)],
    ] as const)
      expect((await send(open, method, '/api/things', headers)).cors).toEqual({ vary: 'Origin' });
  });

  it('says that answers differ by origin also to who names none', async () => {
    expect(await send(open, 'GET', '/api/things', {})).toMatchObject({
      status: 200,
      cors: { vary: 'Origin' },
    });
  });

  it('serves no other host for it: not a preflight either', async () => {
    for (const [method, headers] of [
      ['GET', { origin: OURS }],
      ['OPTIONS', asks(OURS)],
    ] as const)
      expect((await send(open, method, '/api/things', { ...headers, host: 'rebound.example' })).status).toBe(
        421,
      );
  });

  it('answers OPTIONS that is no preflight as ever', async () => {
    expect((await send(open, 'OPTIONS', '/api/things', { origin: OURS })).status).toBe(404);
    expect((await send(open, 'OPTIONS', '/api/things', {})).status).toBe(404);
  });
});

describe('a gateway without', () => {
  it('lets no page of another origin ask or read', async () => {
    for (const origin of [OURS, OTHER, 'null']) {
      expect(await send(shut, 'OPTIONS', '/api/things', asks(origin))).toMatchObject({
        status: 404,
        cors: {},
      });
      expect((await send(shut, 'GET', '/api/things', { origin })).cors).toEqual({});
    }
  });
});

describe('the setting', () => {
  it('is none where it is empty', () => {
    expect(readCorsSetting({ ASPM_CORS_ORIGINS: ' , ' })).toBeNull();
  });

  it('takes origins alone, and not everybody: the service is on a machine that pages are looked at on', () => {
    for (const wrong of ['app.example.com', `${OURS}/`, 'http://app.example.com', 'null', `*,${OURS}`])
      expect(() => readCorsSetting({ ASPM_CORS_ORIGINS: wrong }), wrong).toThrow(/^ASPM_CORS_ORIGINS is /);
    expect(() => readCorsSetting({ ASPM_CORS_ORIGINS: '*' })).toThrow('name the origins');
  });
});
