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

export async function request(
  method: string,
  path: string,
  options: { key?: string; body?: unknown; text?: string; headers?: Record<string, string> } = {},
): Promise<RawAnswer> {
  const { key, body, text } = options;
  const sent = text ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(`${inject('service').url}${path}`, {
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
