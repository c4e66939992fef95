import type { IncomingMessage } from 'node:http';
import { ANY_ORIGIN, CorsOrigins, type CorsPolicy, corsPolicy } from '#infra/api/cors.ts';

/**
 * The setting `ASPM_CORS_ORIGINS`; null without one. `*` is refused: this service is on somebody's own machine,
 * where no page that they look at may reach it unless they have named it.
 * @throws Error saying what is wrong with it
 */
export function readCorsSetting({ ASPM_CORS_ORIGINS: text = '' }: NodeJS.ProcessEnv): CorsPolicy | null {
  const { data, error } = CorsOrigins.safeParse(text);
  if (error) throw new Error(`ASPM_CORS_ORIGINS is ${text}: it ${error.issues[0]?.message}`);
  if (data.includes(ANY_ORIGIN))
    throw new Error(
      'ASPM_CORS_ORIGINS is *: name the origins, or every page that this machine shows could reach the service',
    );
  return data.length === 0 ? null : corsPolicy(data);
}

/** A question that is answered at the gateway, whatever its origin: who is not allowed finds no headers. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  );
}

/** Headers of every answer to a request; a preflight's are more. */
export function corsHeaders(policy: CorsPolicy, request: IncomingMessage): Record<string, string> {
  const { origin } = request.headers;
  // What is kept for one origin must not be handed to another.
  const headers = { vary: 'Origin' };
  if (origin === undefined || !policy.origins.includes(origin)) return headers;
  const own = { ...headers, 'access-control-allow-origin': origin };
  if (!isPreflight(request))
    return { ...own, 'access-control-expose-headers': policy.exposeHeaders.join(',') };
  return {
    ...own,
    'access-control-allow-methods': policy.methods.join(','),
    'access-control-allow-headers': policy.allowHeaders.join(','),
    'access-control-max-age': String(policy.maxAgeSeconds),
  };
}
