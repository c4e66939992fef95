import { createSocket } from 'node:dgram';
import type { AddressInfo } from 'node:net';

/** A DNS server on loopback that knows a few IPv4 addresses (RFC 1035); every other name does not exist. */
export async function startNameServer(
  addresses: Readonly<Record<string, string>>,
): Promise<{ readonly address: string } & AsyncDisposable> {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const { name, end } = readName(query, 12);
    const isA = query.readUInt16BE(end) === 1;
    const address = addresses[name];
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    // A response to a recursive query; 3 says that the name does not exist.
    header.writeUInt16BE(0x8180 | (address === undefined ? 3 : 0), 2);
    header.writeUInt16BE(1, 4);
    const answers = isA && address !== undefined ? [recordOf(address)] : [];
    header.writeUInt16BE(answers.length, 6);
    socket.send(Buffer.concat([header, query.subarray(12, end + 4), ...answers]), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(socket.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function readName(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = start;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

/** The question's name (a pointer to it), type A, class IN, no time to live, four bytes. */
function recordOf(address: string): Buffer {
  const fixed = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
  return Buffer.concat([fixed, Buffer.from(address.split('.').map(Number))]);
}
