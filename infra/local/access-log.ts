import type { Payload } from './payload.ts';

/** One request that the gateway has answered, by whatever. */
export interface AnsweredRequest {
  readonly payload: Payload;
  /** What the authorizer told; null where it was not asked, or did not answer. */
  readonly context: object | null;
  readonly status: number;
  readonly bytes: number;
  readonly latencyMs: number;
}

/**
 * The line of the access log that the template's format makes of a request: JSON whose values are the gateway's
 * variables. What has no value is `-`, as there.
 */
export function accessLogLine(format: string, request: AnsweredRequest): Record<string, unknown> {
  const template = JSON.parse(format) as Record<string, string>;
  return Object.fromEntries(
    Object.entries(template).map(([name, variable]) => [name, readVariable(variable, request)]),
  );
}

function readVariable(
  variable: string,
  { payload, context, status, bytes, latencyMs }: AnsweredRequest,
): string {
  const { requestContext } = payload;
  const [, property] = /^\$context\.authorizer\.(\w+)$/.exec(variable) ?? [];
  if (property !== undefined) {
    const told = context === null ? undefined : (context as Record<string, unknown>)[property];
    return told === undefined ? '-' : String(told);
  }
  const known: Readonly<Record<string, string | number>> = {
    '$context.requestId': requestContext.requestId,
    '$context.requestTimeEpoch': requestContext.timeEpoch,
    '$context.identity.sourceIp': requestContext.http.sourceIp,
    '$context.routeKey': requestContext.routeKey,
    '$context.status': status,
    '$context.responseLatency': latencyMs,
    '$context.responseLength': bytes,
  };
  return String(known[variable] ?? '-');
}
