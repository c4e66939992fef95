import { type IncomingMessage, request } from 'node:http';

/**
 * Imported before a program (`--import`): the emulator's names are in no DNS, so what asks for AWS by
 * `fetch` is led to `AWS_ENDPOINT_URL`. The Host stays as it was: signatures cover it.
 */
const EMULATED = /\.(?:amazonaws\.com|execute-api\.localhost)$/;
const real = globalThis.fetch;

globalThis.fetch = async function fetch(input, init) {
  const wanted = new Request(input, { ...init, ...(init?.body ? { duplex: 'half' as const } : {}) });
  const url = new URL(wanted.url);
  const emulator = process.env.AWS_ENDPOINT_URL;
  if (emulator === undefined || !EMULATED.test(url.hostname)) return real(input, init);
  const body = wanted.body ? Buffer.from(await wanted.arrayBuffer()) : null;
  const headers = { ...Object.fromEntries(wanted.headers), host: url.host };
  const { hostname, port } = new URL(emulator);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request({
    host: hostname,
    port,
    method: wanted.method,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, ...(body && { 'content-length': body.length }) },
    ...(init?.signal && { signal: init.signal }),
  })
    .once('response', resolve)
    .once('error', reject)
    .end(body ?? undefined);
  return toResponse(await promise, wanted.method);
};

async function toResponse(answer: IncomingMessage, method: string): Promise<Response> {
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part as Buffer);
  const status = answer.statusCode ?? 502;
  const isEmpty = status === 204 || status === 304 || method === 'HEAD';
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers))
    if (name !== 'transfer-encoding' && value !== undefined) headers.set(name, String(value));
  return new Response(isEmpty ? null : Buffer.concat(parts), { status, headers });
}
