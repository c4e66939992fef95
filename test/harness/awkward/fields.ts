import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { AwkwardRequest } from './requests.ts';

/** What is compared of an event. */
export interface EventFields {
  readonly version: string;
  readonly routeKey: string;
  readonly rawPath: string;
  readonly rawQueryString: string;
  readonly cookies: readonly string[] | undefined;
  /** Those that the sender chose. */
  readonly headers: Readonly<Record<string, string>>;
  readonly queryStringParameters: Readonly<Record<string, string>> | undefined;
  readonly pathParameters: Readonly<Record<string, string>> | undefined;
  readonly body: string | undefined;
  readonly isBase64Encoded: boolean;
  readonly method: string;
  readonly path: string;
  readonly sourceIp: string;
  readonly stage: string;
  readonly contextRouteKey: string;
}

/** What every sender has to send, or what a gateway adds: no two have the same, and nothing reads it. */
const NOT_THE_SENDERS = /^(?:host|connection|content-length|x-forwarded-(?:for|port|proto)|x-amzn-trace-id)$/;

/** A field that is `null` is one that is not there. */
export function fieldsOf(event: APIGatewayProxyEventV2): EventFields {
  const { requestContext } = event;
  return {
    version: event.version,
    routeKey: event.routeKey,
    rawPath: event.rawPath,
    rawQueryString: event.rawQueryString,
    cookies: event.cookies ?? undefined,
    headers: Object.fromEntries(
      Object.entries(event.headers).filter(
        (header): header is [string, string] => !NOT_THE_SENDERS.test(header[0]),
      ),
    ),
    queryStringParameters: (event.queryStringParameters ?? undefined) as EventFields['queryStringParameters'],
    pathParameters: (event.pathParameters ?? undefined) as EventFields['pathParameters'],
    body: event.body ?? undefined,
    isBase64Encoded: event.isBase64Encoded,
    method: requestContext.http.method,
    path: requestContext.http.path,
    sourceIp: requestContext.http.sourceIp,
    stage: requestContext.stage,
    contextRouteKey: requestContext.routeKey,
  };
}

/** The event that a request is to become: what it says, word for word, and what it names itself. */
export function expectedFields(request: AwkwardRequest): EventFields {
  const { method, path, query } = partsOf(request);
  const { routeKey = '$default', rawPath = path, ...others } = request.event ?? {};
  return {
    version: '2.0',
    rawQueryString: query,
    cookies: undefined,
    headers: Object.fromEntries(
      (request.headers ?? [])
        .map((line) => [
          line.slice(0, line.indexOf(':')).toLowerCase(),
          line.slice(line.indexOf(':') + 1).trim(),
        ])
        .filter(([name = '']) => !NOT_THE_SENDERS.test(name)),
    ),
    queryStringParameters: undefined,
    pathParameters: undefined,
    body: undefined,
    isBase64Encoded: false,
    method,
    sourceIp: '127.0.0.1',
    stage: '$default',
    ...others,
    rawPath,
    path: rawPath,
    routeKey,
    contextRouteKey: routeKey,
  };
}

export function partsOf({ line }: AwkwardRequest): { method: string; path: string; query: string } {
  const space = line.indexOf(' ');
  const target = line.slice(space + 1);
  const mark = target.indexOf('?');
  return {
    method: line.slice(0, space),
    path: mark === -1 ? target : target.slice(0, mark),
    query: mark === -1 ? '' : target.slice(mark + 1),
  };
}
