import { type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** What the parser says of a request that it gave up. All else is a 400. */
const STATUS_OF: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Refuses in the gateway's form what never becomes a request: broken heads and bodies, CONNECT, odd expectations. */
export function refuseUnparsed(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else hangUp(socket, STATUS_OF[error.code ?? ''] ?? 400);
  });
  server.on('connect', (_request, socket) => hangUp(socket, 400));
  server.on('checkExpectation', (_request, response) => {
    response.writeHead(417, { 'content-type': 'application/json', connection: 'close' });
    response.end(bodyOf(417));
  });
}

/** Where the next request would begin is not known any more. */
function hangUp(socket: Duplex, status: number): void {
  const body = bodyOf(status);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function bodyOf(status: number): string {
  return JSON.stringify({ message: STATUS_CODES[status] });
}
