import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ACCOUNT, REGION } from './resolver.ts';
import type { RouteMatch } from './routes.ts';

/** A request as the payload format 2.0 describes it, before the body. */
export type Payload = ReturnType<typeof describeRequest>;

/** Bodies of these types reach a function as text, unless in another charset; every other one as Base64. */
const TEXT_TYPE = /^(?:text\/.*|application\/(?:json|javascript|xml))$/;
const UTF8 = /^charset="?utf-8"?$/;

function isText(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  return (
    TEXT_TYPE.test(type) &&
    parameters.every((parameter) => !parameter.startsWith('charset=') || UTF8.test(parameter))
  );
}

export function describeRequest(request: IncomingMessage, match: RouteMatch, path: string, query: string) {
  const { headers, cookies } = readHeaders(request);
  const parameters = readQuery(query);
  const method = request.method ?? 'GET';
  const now = Date.now();
  const host = headers.host ?? 'localhost';
  return {
    version: '2.0' as const,
    routeKey: match.route.key,
    rawPath: path,
    rawQueryString: query,
    ...(cookies.length > 0 && { cookies }),
    headers,
    ...(parameters && { queryStringParameters: parameters }),
    ...(match.pathParameters && { pathParameters: match.pathParameters }),
    requestContext: {
      accountId: ACCOUNT,
      apiId: 'local',
      domainName: host,
      domainPrefix: host.split('.', 1)[0] ?? host,
      http: {
        method,
        path,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: (request.socket.remoteAddress ?? '127.0.0.1').replace(/^::ffff:/, ''),
        userAgent: headers['user-agent'] ?? '',
      },
      requestId: randomUUID(),
      routeKey: match.route.key,
      stage: '$default',
      time: commonLogTime(now),
      timeEpoch: now,
    },
  };
}

/** What the authorizer sees: everything but the body. */
export function authorizerEvent(payload: Payload) {
  return {
    ...payload,
    type: 'REQUEST' as const,
    routeArn: `arn:aws:execute-api:${REGION}:${ACCOUNT}:local/$default/${payload.requestContext.http.method}${payload.rawPath}`,
    identitySource: [],
  };
}

/** What the function sees. `context` is the authorizer's, where the route has one. */
export function functionEvent(payload: Payload, context: object | null, body: Buffer | null) {
  const asText = isText(payload.headers['content-type'] ?? '');
  return {
    ...payload,
    requestContext:
      context === null
        ? payload.requestContext
        : { ...payload.requestContext, authorizer: { lambda: context } },
    ...(body && { body: body.toString(asText ? 'utf8' : 'base64') }),
    isBase64Encoded: body !== null && !asText,
  };
}

/** Names in lower case, repeated ones joined by commas; cookies go to a list of their own. */
function readHeaders(request: IncomingMessage): {
  headers: Record<string, string>;
  cookies: string[];
} {
  const headers = new Joined();
  const cookies: string[] = [];
  const { rawHeaders } = request;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    const value = rawHeaders[index + 1] ?? '';
    if (name === 'cookie') cookies.push(...value.split(/;\s*/));
    else headers.add(name, value);
  }
  return { headers: headers.toRecord(), cookies };
}

/** Decoded, repeated ones joined by commas; null where there are none. */
function readQuery(query: string): Record<string, string> | null {
  const parameters = new Joined();
  for (const [name, value] of new URLSearchParams(query)) parameters.add(name, value);
  return parameters.size === 0 ? null : parameters.toRecord();
}

/** Values by names that anybody may choose, `constructor` and `__proto__` too. */
class Joined extends Map<string, string> {
  add(name: string, value: string): void {
    const held = this.get(name);
    this.set(name, held === undefined ? value : `${held},${value}`);
  }

  toRecord(): Record<string, string> {
    return Object.fromEntries(this);
  }
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `21/Nov/2026:02:49:56 +0000` */
function commonLogTime(at: number): string {
  const iso = new Date(at).toISOString();
  return `${iso.slice(8, 10)}/${MONTHS[Number(iso.slice(5, 7)) - 1]}/${iso.slice(0, 4)}:${iso.slice(11, 19)} +0000`;
}
