import type { HttpResponse } from '#http/render.ts';
import type { HttpEvent } from '#http/request-state.ts';

/**
 * Whether a request is one that only a gateway with CORS hands to this function: it has a route for `OPTIONS` then,
 * without the authorizer. Any other gateway leaves them to `$default`.
 */
export function isPreflight(event: HttpEvent): boolean {
  return event.requestContext.http.method === 'OPTIONS';
}

/** What a browser asks of a preflight is a status of success; which headers it has is the gateway's to say. */
export async function answerPreflight(): Promise<HttpResponse> {
  return { statusCode: 204, headers: {} };
}
