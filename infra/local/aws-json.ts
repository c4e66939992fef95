import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isSigned, type LocalCredentials } from './signatures.ts';

/** An error that the SDK's clients turn into their own class of that name. */
export class ServiceFault extends Error {
  override readonly name: string;
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

/** By target: `AWSStepFunctions.StartExecution`. */
export type JsonOperations = Readonly<Record<string, (input: unknown) => object | Promise<object>>>;

export interface JsonEndpoint {
  readonly url: string;
  close(): Promise<void>;
}

/** One local endpoint for the services that speak AWS's JSON protocol (1.0 and 1.1), for who has the credentials. */
export async function openJsonEndpoint(
  operations: JsonOperations,
  credentials: LocalCredentials,
): Promise<JsonEndpoint> {
  const server = createServer((request, response) => {
    void answer(request, operations, credentials).then(
      (output) => send(response, 200, output, request),
      (error: unknown) => {
        const fault =
          error instanceof ServiceFault ? error : new ServiceFault('InternalFailure', 'The endpoint failed');
        send(
          response,
          error instanceof ServiceFault ? 400 : 500,
          { __type: fault.name, message: fault.message },
          request,
        );
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  operations: JsonOperations,
  credentials: LocalCredentials,
): Promise<object> {
  const { method = '', url: path = '', headers } = request;
  if (!(await isSigned({ method, target: path, headers }, credentials, Date.now())))
    throw new ServiceFault(
      'AccessDeniedException',
      'The request is not signed with the credentials of this cloud',
    );
  const target = String(request.headers['x-amz-target'] ?? '');
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const operation = operations[target];
  if (!operation) throw new ServiceFault('UnknownOperationException', `The embedded cloud has no ${target}`);
  return operation(JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}'));
}

function send(response: ServerResponse, status: number, output: object, request: IncomingMessage): void {
  const body = JSON.stringify(output);
  response.writeHead(status, {
    'content-type': request.headers['content-type'] ?? 'application/x-amz-json-1.0',
    'content-length': Buffer.byteLength(body),
    ...('__type' in output && { 'x-amzn-errortype': String(output.__type) }),
  });
  response.end(body);
}
