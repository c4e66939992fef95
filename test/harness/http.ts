import { inject } from 'vitest';

/** What came over the wire, without a client's help: for tests of errors, headers and odd requests. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly error?: { code: string; message: string; [name: string]: unknown };
    readonly [name: string]: unknown;
  };
}

/** @param options `url`: of another gateway than that of the service under test */
export async function request(
  method: string,
  path: string,
  options: {
    key?: string;
    body?: unknown;
    text?: string;
    headers?: Record<string, string>;
    url?: string;
  } = {},
): Promise<RawAnswer> {
  const { key, body, text, url = inject('service').url } = options;
  const sent = text ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(sent !== undefined && { 'content-type': 'application/json' }),
      ...(key && { authorization: `Bearer ${key}` }),
      ...options.headers,
    },
    ...(sent !== undefined && { body: sent }),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as RawAnswer['body'],
  };
}
