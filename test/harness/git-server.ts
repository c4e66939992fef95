import { spawn } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Answers with git's own HTTP server, a CGI program, for the repositories below a folder. */
export function serveGit(root: string) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const url = new URL(request.url ?? '/', 'http://x');
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'safe.directory',
        GIT_CONFIG_VALUE_0: '*',
        REQUEST_METHOD: request.method,
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: request.headers['git-protocol']?.toString() ?? '',
      },
    });
    request.pipe(backend.stdin);
    const chunks: Buffer[] = [];
    backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    backend.on('close', () => respond(response, Buffer.concat(chunks)));
  };
}

/** What a CGI program wrote: headers, an empty line, the body. */
function respond(response: ServerResponse, output: Buffer): void {
  const end = output.indexOf('\r\n\r\n');
  const lines = output.subarray(0, end).toString().split('\r\n');
  const headers = lines.map((line) => line.split(': ', 2));
  const status = headers.find(([name]) => name === 'Status')?.[1] ?? '200';
  for (const [name = '', value = ''] of headers) if (name !== 'Status') response.setHeader(name, value);
  response.writeHead(Number.parseInt(status, 10)).end(output.subarray(end + 4));
}
