import { isDeepStrictEqual } from 'node:util';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { eventOf } from './echo.ts';
import { expectedFields, fieldsOf, partsOf } from './fields.ts';
import type { AwkwardRequest } from './requests.ts';
import { bytesOf, exchange, type WireAnswer } from './wire.ts';

/** One thing that a gateway makes of a request otherwise than it is written. */
export interface Difference {
  readonly request: string;
  readonly field: string;
  readonly expected: unknown;
  readonly got: unknown;
}

export interface GatewayUnderTest {
  readonly port: number;
  readonly host: string;
}

/** Sends a request to a gateway in front of the function that echoes; what is not as it is written. */
export async function differencesAt(
  { port, host }: GatewayUnderTest,
  request: AwkwardRequest,
): Promise<Difference[]> {
  const answer = await exchange(port, bytesOf(request, host));
  const event = eventOf(answer);
  const differ = (field: string, expected: unknown, got: unknown): Difference => ({
    request: request.name,
    field,
    expected,
    got,
  });
  if (event === null) {
    if (!request.refused && !isUndocumented(request)) return [differ('answer', 'passed on', shown(answer))];
    const { refused } = request;
    const status = answer?.status ?? 0;
    const isExpected = typeof refused === 'number' ? status === refused : status >= 400 && status < 500;
    if (!isExpected) return [differ('answer', refused ?? '4xx', shown(answer))];
    return hasGatewaysForm(answer) ? [] : [differ('form', '{"message": …}', shown(answer))];
  }
  if (request.refused) return [differ('answer', request.refused, 'passed on')];
  if (isUndocumented(request))
    return changedParts(request, event).map(([field, sent, got]) => differ(field, sent, got));
  const expected = expectedFields(request);
  const got = fieldsOf(event);
  return (Object.keys(expected) as (keyof typeof expected)[])
    .filter((field) => !request.open?.includes(field) && !isDeepStrictEqual(got[field], expected[field]))
    .map((field) => differ(field, expected[field], got[field]));
}

function isUndocumented({ from }: AwkwardRequest): boolean {
  return from.every((source) => source === 'none');
}

function shown(answer: WireAnswer | null): string {
  return answer ? `${answer.status} ${answer.body.toString().slice(0, 60)}`.trim() : 'hung up';
}

/** What gateways answer by themselves; a HEAD has no body to show it in. */
function hasGatewaysForm(answer: WireAnswer | null): boolean {
  if (answer?.headers.get('content-type') !== 'application/json') return false;
  try {
    const body: unknown = JSON.parse(answer.body.toString());
    return isDeepStrictEqual(Object.keys(body as object), ['message']);
  } catch {
    return false;
  }
}

/** What was changed on its way that no reading of the request explains. */
function changedParts(
  request: AwkwardRequest,
  event: APIGatewayProxyEventV2,
): [field: string, sent: unknown, got: unknown][] {
  const { method, path, query } = partsOf(request);
  const { headers = [], body = '' } = request;
  const got = fieldsOf(event);
  const bytes = Buffer.from(got.body ?? '', got.isBase64Encoded ? 'base64' : 'utf8');
  const isChunked = headers.some((header) => /^transfer-encoding/i.test(header));
  const checks: [field: string, sent: unknown, got: unknown, holds: boolean][] = [
    ['method', method, got.method, got.method === method],
    ['rawPath', path, got.rawPath, readingsOf(path).has(got.rawPath)],
    ['rawQueryString', query, got.rawQueryString, spellingsOf(query).has(got.rawQueryString)],
    ['body', body, got.body, isChunked || Buffer.from(body).equals(bytes)],
  ];
  return checks.filter(([, , , holds]) => !holds).map(([field, sent, seen]) => [field, sent, seen]);
}

/** Bytes of a request line as Latin-1, as UTF-8, and escaped. */
function spellingsOf(text: string): Set<string> {
  const bytes = Buffer.from(text, 'latin1');
  const escaped = text.replaceAll(
    /[\u0080-\u00ff]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return new Set([text, bytes.toString('utf8'), escaped]);
}

/** A path as it is, decoded once or twice as far as that goes; and without the name of a host. */
function readingsOf(path: string): Set<string> {
  const readings = spellingsOf(path.replace(/^\w+:\/\/[^/]*/, ''));
  readings.add(path);
  for (let times = 0; times < 2; times += 1)
    for (const reading of [...readings]) readings.add(decode(reading));
  return readings;
}

function decode(text: string): string {
  return text.replaceAll(/(?:%[\da-f]{2})+/gi, (run) =>
    Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'),
  );
}
