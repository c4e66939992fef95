import { gzipSync } from 'node:zlib';
import type { WireRequest } from './wire.ts';

/** A request to the service's own API, and the answer that any gateway lets it give. */
export interface ApiRequest extends WireRequest {
  readonly name: string;
  /** Sends the access token of an admin. */
  readonly signedIn?: true;
  readonly status: number;
  /** Code of the error; absent: there is none, or no body to show it. */
  readonly code?: string;
  /** The gateway's own answer: none of our headers, `{"message": …}`. */
  readonly byGateway?: true;
}

const get = (name: string, target: string, status: number, code?: string): ApiRequest => ({
  name,
  line: `GET ${target}`,
  status,
  ...(code !== undefined && { code }),
});

const PATHS: readonly ApiRequest[] = [
  get('plain', '/api/health', 200),
  get('slash at the end', '/api/health/', 404, 'not_found'),
  get('escaped letter', '/api/he%61lth', 200),
  get('letter escaped twice', '/api/he%2561lth', 200),
  get('escaped slash', '/api%2Fhealth', 200),
  get('escaped question mark', '/api/health%3Fx', 200),
  get('upper case', '/API/health', 404, 'not_found'),
  get('two slashes first', '//api/health', 404, 'not_found'),
  get('two slashes within', '/api//health', 404, 'not_found'),
  get('dots', '/api/nothing/../health', 404, 'not_found'),
  get('escaped dots', '/api/nothing/%2e%2e/health', 404, 'not_found'),
  get('NUL', '/api/health%00', 404, 'not_found'),
  get('line break', '/api/health%0d%0aX-Injected:%201', 404, 'not_found'),
  get('other scripts', '/api/%E4%B8%96', 404, 'not_found'),
  get('long', `/api/${'x'.repeat(5000)}`, 404, 'not_found'),
  get('file of the reference page', '/docs/%2e%2e%2fsecret', 404, 'not_found'),
  { name: 'DELETE', line: 'DELETE /api/health', status: 405, code: 'method_not_allowed' },
  { name: 'TRACE', line: 'TRACE /api/health', status: 405, code: 'method_not_allowed' },
  { name: 'PROPFIND', line: 'PROPFIND /api/health', status: 405, code: 'method_not_allowed' },
  { name: 'HEAD', line: 'HEAD /api/health', status: 405 },
  { name: 'OPTIONS', line: 'OPTIONS /api/health', status: 405, code: 'method_not_allowed' },
];

const list = (query: string, status: number, code?: string): ApiRequest => ({
  ...get(`findings?${query}`, `/api/findings?${query}`, status, code),
  signedIn: true,
});

const LISTS: readonly ApiRequest[] = [
  list('severity=critical&severity=high', 200),
  list('severity=critical%2Chigh', 200),
  list('per_page=10&per_page=20', 400, 'invalid_parameter'),
  list('per_page=%31%30', 200),
  list('per_page=', 400, 'invalid_parameter'),
  list('per_page=%zz', 400, 'invalid_parameter'),
  list('per_page=%EF%BC%91', 400, 'invalid_parameter'),
  list('per_page=1e1', 400, 'invalid_parameter'),
  list('cursor=%00', 400, 'invalid_parameter'),
  list('cursor=a+b%2Bc', 400, 'invalid_parameter'),
  list('sort=-severity;x=1', 400, 'invalid_parameter'),
  list('__proto__=a&constructor=b&toString=c', 200),
  list('&&=x&flag', 200),
  list('severity=%ff%fe', 400, 'invalid_parameter'),
];

const CREDENTIALS: readonly ApiRequest[] = [
  { ...get('none', '/api/findings', 401, 'unauthorized') },
  {
    ...get('header twice', '/api/findings', 401, 'unauthorized'),
    headers: ['Authorization: Bearer a', 'Authorization: Bearer b'],
  },
  {
    ...get('bytes that are no ASCII', '/api/findings', 401, 'token_invalid'),
    headers: ['Authorization: Bearer \u00e4\u00ff'],
  },
  { ...get('empty', '/api/findings', 401, 'unauthorized'), headers: ['Authorization:'] },
  {
    ...get('long', '/api/findings', 401, 'token_invalid'),
    headers: [`Authorization: Bearer ${'x'.repeat(8000)}`],
  },
  {
    ...get('beside cookies', '/api/findings', 200),
    signedIn: true,
    headers: ['Cookie: a=1; b=2', 'Cookie: c'],
  },
  {
    ...get('beside headers that objects have already', '/api/findings', 200),
    signedIn: true,
    headers: ['constructor: a', '__proto__: b'],
  },
];

const JSON_TYPE = 'Content-Type: application/json';
const LOGIN = '{"email":"nobody@example.com","password":"wrong"}';

const login = (
  name: string,
  headers: readonly string[],
  body: string | Buffer | undefined,
  status: number,
  code: string,
): ApiRequest => ({
  name: `login: ${name}`,
  line: 'POST /api/auth/login',
  headers,
  ...(body !== undefined && { body }),
  status,
  code,
});

const BODIES: readonly ApiRequest[] = [
  login('plain', [JSON_TYPE], LOGIN, 401, 'unauthorized'),
  login('charset', [`${JSON_TYPE}; charset=utf-8`], LOGIN, 401, 'unauthorized'),
  login('chunks', [JSON_TYPE, 'Transfer-Encoding: chunked'], chunked(LOGIN), 401, 'unauthorized'),
  login('no body', [JSON_TYPE], undefined, 400, 'invalid_json'),
  login('length of 0', [JSON_TYPE, 'Content-Length: 0'], undefined, 400, 'invalid_json'),
  login('no type', [], LOGIN, 400, 'invalid_json'),
  login(
    'form',
    ['Content-Type: application/x-www-form-urlencoded'],
    'email=a&password=b',
    400,
    'invalid_json',
  ),
  login('text', ['Content-Type: text/plain'], LOGIN, 400, 'invalid_json'),
  login('packed', [JSON_TYPE, 'Content-Encoding: gzip'], gzipSync(LOGIN), 400, 'invalid_json'),
  login('bytes', ['Content-Type: application/octet-stream'], gzipSync(LOGIN), 400, 'invalid_json'),
  login('UTF-16', [`${JSON_TYPE}; charset=utf-16`], Buffer.from(LOGIN, 'utf16le'), 400, 'invalid_json'),
  login('no UTF-8', [JSON_TYPE], Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), 400, 'invalid_json'),
  login('byte order mark', [JSON_TYPE], `\ufeff${LOGIN}`, 400, 'invalid_json'),
  login('NUL', [JSON_TYPE], `${LOGIN}\u0000`, 400, 'invalid_json'),
  login('nothing in it', [JSON_TYPE], '{}', 400, 'missing_field'),
  login('list', [JSON_TYPE], '[]', 400, 'validation_error'),
  login('null', [JSON_TYPE], 'null', 400, 'validation_error'),
  login('word', [JSON_TYPE], '"x"', 400, 'validation_error'),
  login('number beyond numbers', [JSON_TYPE], '1e999', 400, 'validation_error'),
  login('member __proto__', [JSON_TYPE], '{"__proto__":{"email":"a"}}', 400, 'invalid_json'),
  login('depth', [JSON_TYPE], `${'['.repeat(5000)}${']'.repeat(5000)}`, 400, 'invalid_json'),
  login('half of a pair', [JSON_TYPE], '{"email":"\\ud800","password":"x"}', 400, 'validation_error'),
  login('over a megabyte', [JSON_TYPE], `{"email":"${'x'.repeat(1_100_000)}"}`, 413, 'payload_too_large'),
  {
    name: 'health: a body that nobody asked for',
    line: 'GET /api/health',
    headers: [JSON_TYPE],
    body: '{',
    status: 200,
  },
  {
    name: 'login: more than Lambda takes',
    line: 'POST /api/auth/login',
    headers: ['Content-Type: application/gzip'],
    body: Buffer.alloc(5 * 1024 * 1024),
    status: 413,
    byGateway: true,
  },
  {
    name: 'health: headers of more than 10,240 bytes',
    line: 'GET /api/health',
    headers: [`X-Long: ${'y'.repeat(10_300)}`],
    status: 431,
    byGateway: true,
  },
  { name: 'health: escape of no digits', line: 'GET /api/health%zz', status: 400, byGateway: true },
];

function chunked(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
}

/** Requests to the API that gateways or the chain of the functions may well answer in different ways. */
export const API_REQUESTS: readonly ApiRequest[] = [...PATHS, ...LISTS, ...CREDENTIALS, ...BODIES];
