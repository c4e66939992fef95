import type { Context } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import type { HttpEvent } from '#http/request-state.ts';

process.env.PUBLIC_URL = 'https://api.example.com';
process.env.ASSETS_DIR = 'assets';
const { handler } = await import('#functions/reference/handler.ts');

/** As a gateway hands it over from a route without an authorizer. */
function eventOf(method: string, rawPath: string): HttpEvent {
  const event = {
    version: '2.0',
    routeKey: 'OPTIONS /{proxy+}',
    rawPath,
    rawQueryString: '',
    headers: { origin: 'https://app.example.com', 'access-control-request-method': 'POST' },
    isBase64Encoded: false,
    requestContext: { http: { method, path: rawPath, sourceIp: '192.0.2.1' } },
  };
  return event as unknown as HttpEvent;
}
const answer = (method: string, path: string) => handler(eventOf(method, path), {} as Context);

describe('the function behind the route of preflights', () => {
  it.each(['/api/projects', '/api/health', '/docs', '/nowhere'])('says yes to each: %s', async (path) => {
    expect(await answer('OPTIONS', path)).toEqual({ statusCode: 204, headers: {} });
  });

  it('does nothing else without the chain', async () => {
    expect((await answer('POST', '/api/health')).statusCode).toBe(405);
    expect((await answer('GET', '/api/projects')).statusCode).toBe(404);
  });
});
