import { connect } from 'node:net';

/** A request as it goes over the wire: nothing is escaped, ordered or left out on the way. */
export interface WireRequest {
  /** Method and target, as the request line has them. */
  readonly line: string;
  /** Header lines; each character is a byte. */
  readonly headers?: readonly string[];
  /** Sent as it is; `Content-Length` is added where no header says how long the body is. */
  readonly body?: string | Buffer;
}

export interface WireAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** The bytes of a request to a host, which is asked to close the connection after its answer. */
export function bytesOf({ line, headers = [], body }: WireRequest, host: string): Buffer {
  const content = typeof body === 'string' ? Buffer.from(body) : body;
  const isSized = headers.some((header) => /^(?:content-length|transfer-encoding)\s*:/i.test(header));
  const length = content && !isSized ? [`Content-Length: ${content.length}`] : [];
  const head = [`${line} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...headers, ...length, '', ''];
  return Buffer.concat([Buffer.from(head.join('\r\n'), 'latin1'), content ?? Buffer.alloc(0)]);
}

/** Sends bytes over a socket of their own. @returns null where the other side said nothing and hung up */
export async function exchange(port: number, bytes: Buffer): Promise<WireAnswer | null> {
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk) => chunks.push(chunk));
    // Who is refused while still sending may be cut off: what arrived before is the answer.
    socket.once('error', () => socket.destroy());
    socket.once('close', () => resolve());
  });
  return parseAnswer(Buffer.concat(chunks));
}

function parseAnswer(bytes: Buffer): WireAnswer | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(first.split(' ')[1]);
  const rest = bytes.subarray(end + 4);
  // `100 Continue` comes before the answer.
  if (status < 200) return parseAnswer(rest);
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const isChunked = headers.get('transfer-encoding') === 'chunked';
  return { status, headers, body: isChunked ? unchunk(rest) : rest };
}

function unchunk(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.subarray(at, end).toString('latin1'), 16);
    if (end === -1 || !(size > 0)) break;
    parts.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
  return Buffer.concat(parts);
}
