import type { ApiRequest } from './api-requests.ts';
import type { Difference, GatewayUnderTest } from './compare.ts';
import type { AwkwardRequest } from './requests.ts';
import { bytesOf, exchange, type WireAnswer, type WireRequest } from './wire.ts';

/** What every answer of our functions has. */
const OUR_HEADERS = [
  'x-request-id',
  'x-content-type-options',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
];

/** What the API answers otherwise than it is written. */
export async function answerDifferences(
  { port, host }: GatewayUnderTest,
  request: ApiRequest,
  token: string,
): Promise<Difference[]> {
  const answer = await exchange(port, bytesOf(withToken(request, token), host));
  const expected: Record<string, unknown> = {
    status: request.status,
    type: request.byGateway ? 'application/json' : 'application/json; charset=utf-8',
    code: request.code,
    missing: request.byGateway ? OUR_HEADERS : [],
    allow: request.status === 405,
  };
  const got = answer && describeAnswer(answer);
  if (!got) return [{ request: request.name, field: 'status', expected: request.status, got: 'hung up' }];
  return Object.entries(expected)
    .filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(got[field]))
    .map(([field, value]) => ({ request: request.name, field, expected: value, got: got[field] }));
}

function withToken<R extends WireRequest & { readonly signedIn?: true }>(
  request: R,
  token: string,
): WireRequest {
  if (!request.signedIn) return request;
  return { ...request, headers: [`Authorization: Bearer ${token}`, ...(request.headers ?? [])] };
}

function describeAnswer({ status, headers, body }: WireAnswer): Record<string, unknown> {
  return {
    status,
    type: headers.get('content-type'),
    code: codeOf(body.toString()),
    missing: OUR_HEADERS.filter((name) => !headers.has(name)),
    allow: headers.has('allow'),
  };
}

function codeOf(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { error?: { code?: string } }).error?.code;
  } catch {
    return undefined;
  }
}

/** The same request at an operation of the API, by somebody who may. */
export function atTheApi(request: AwkwardRequest): WireRequest & { readonly signedIn: true } {
  const line = request.line.replace('/things', '/api/projects').replace('/capture', '/api/projects');
  return { ...request, line, signedIn: true };
}

/** The status of an answer; null where there was none. */
export async function statusAt(
  { port, host }: GatewayUnderTest,
  request: WireRequest & { readonly signedIn?: true },
  token: string,
): Promise<number | null> {
  const answer = await exchange(port, bytesOf(withToken(request, token), host));
  return answer?.status ?? null;
}
