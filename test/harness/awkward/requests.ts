import { gzipSync } from 'node:zlib';
import type { EventFields } from './fields.ts';
import type { Source } from './sources.ts';
import type { WireRequest } from './wire.ts';

/** What the gateways under test route to the function that echoes. */
export const ECHO_ROUTES = [
  'GET /things',
  'POST /things',
  'GET /things/summary',
  'GET /things/{thing_id}',
  'PUT /things/{thing_id}',
  'GET /things/{thing_id}/parts/{part_id}',
  '$default',
] as const;

export interface AwkwardRequest extends WireRequest {
  readonly name: string;
  /** Where the expectation is from. Without a source a gateway only has to be safe: pass on unchanged, or refuse. */
  readonly from: readonly Source[];
  /** Fields of the event that follow from the request otherwise than word for word. */
  readonly event?: Partial<EventFields>;
  /** Fields that are not documented for this request. */
  readonly open?: readonly (keyof EventFields)[];
  /** The function is never asked: the gateway answers with a status from 400 to 499, or this one. */
  readonly refused?: true | number;
}

const MB = 1024 * 1024;
const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64');

const PATHS: readonly AwkwardRequest[] = [
  { name: 'plain', line: 'GET /things', from: ['payload'], event: { routeKey: 'GET /things' } },
  { name: 'root', line: 'GET /', from: ['routes'] },
  {
    name: 'escaped space in a parameter',
    line: 'GET /things/space%20value',
    from: ['paths', 'routes'],
    event: {
      routeKey: 'GET /things/{thing_id}',
      rawPath: '/things/space value',
      pathParameters: { thing_id: 'space value' },
    },
  },
  {
    name: 'two parameters',
    line: 'GET /things/1/parts/%C3%A4',
    from: ['routes'],
    event: {
      routeKey: 'GET /things/{thing_id}/parts/{part_id}',
      rawPath: '/things/1/parts/ä',
      pathParameters: { thing_id: '1', part_id: 'ä' },
    },
  },
  {
    name: 'literal before parameter',
    line: 'GET /things/summary',
    from: ['routes'],
    event: { routeKey: 'GET /things/summary' },
  },
  {
    name: 'literal of another method',
    line: 'PUT /things/summary',
    from: ['routes'],
    event: { routeKey: 'PUT /things/{thing_id}', pathParameters: { thing_id: 'summary' } },
  },
  { name: 'method without a route', line: 'PATCH /things', from: ['routes'] },
  { name: 'slash at the end', line: 'GET /things/', from: ['slash'] },
  { name: 'slash at the end of a parameter', line: 'GET /things/1/', from: ['slash'] },
  {
    name: 'escaped space',
    line: 'GET /capture/space%20value',
    from: ['paths'],
    event: { rawPath: '/capture/space value' },
  },
  {
    name: 'escaped question mark',
    line: 'GET /capture/question%3Fvalue?x=1',
    from: ['paths'],
    event: { rawPath: '/capture/question', queryStringParameters: { x: '1' } },
  },
  { name: 'escaped percent sign', line: 'GET /capture/percent%25done', from: ['paths'], refused: 400 },
  {
    name: 'escaped hash',
    line: 'GET /capture/hash%23value',
    from: ['paths'],
    event: { rawPath: '/capture/hash#value' },
  },
  {
    name: 'escaped slash',
    line: 'GET /capture/slash%2Fvalue',
    from: ['paths'],
    event: { rawPath: '/capture/slash/value' },
  },
  {
    name: 'escaped letters of other scripts',
    line: 'GET /capture/unicode-%CE%BB-%E4%B8%96%E7%95%8C',
    from: ['paths'],
    event: { rawPath: '/capture/unicode-λ-世界' },
  },
  {
    name: 'slash escaped twice',
    line: 'GET /capture/literal%252Fvalue',
    from: ['paths'],
    event: { rawPath: '/capture/literal/value' },
  },
  {
    name: 'question mark escaped twice',
    line: 'GET /capture/literal%253Fvalue',
    from: ['paths'],
    event: { rawPath: '/capture/literal?value' },
  },
  {
    name: 'percent sign escaped twice',
    line: 'GET /capture/literal%2525value',
    from: ['paths'],
    event: { rawPath: '/capture/literal%value' },
  },
  { name: 'escaped slash in a parameter', line: 'GET /things/a%2Fb', from: ['none'] },
  { name: 'plus in the path', line: 'GET /capture/a+b', from: ['none'] },
  { name: 'marks that need no escape', line: "GET /capture/a;b=c,d@e:f!$&'()*~", from: ['none'] },
  { name: 'marks that need an escape', line: 'GET /capture/a|b{c}^"<>', from: ['none'] },
  { name: 'letters without an escape', line: 'GET /capture/\u00c3\u00a4', from: ['none'] },
  { name: 'escape of no digits', line: 'GET /capture/a%zz', from: ['none'] },
  { name: 'escape cut short', line: 'GET /capture/a%4', from: ['none'] },
  { name: 'lone percent sign', line: 'GET /capture/%', from: ['none'] },
  { name: 'escaped bytes that are no UTF-8', line: 'GET /capture/%ff%fe', from: ['none'] },
  { name: 'overlong escape', line: 'GET /capture/%c0%af', from: ['none'] },
  { name: 'escaped half of a pair', line: 'GET /capture/%ed%a0%80', from: ['none'] },
  { name: 'escaped NUL', line: 'GET /things/a%00b', from: ['none'] },
  { name: 'escaped line break', line: 'GET /things/a%0d%0aSet-Cookie:%20x=1', from: ['none'] },
  { name: 'two slashes first', line: 'GET //things', from: ['none'] },
  { name: 'two slashes within', line: 'GET /things//parts/1', from: ['none'] },
  { name: 'dots', line: 'GET /things/../admin', from: ['none'] },
  { name: 'escaped dots', line: 'GET /things/%2e%2e/admin', from: ['none'] },
  { name: 'upper case', line: 'GET /THINGS', from: ['none'] },
  { name: 'whole address as target', line: 'GET http://elsewhere.example/things', from: ['none'] },
  { name: 'asterisk as target', line: 'OPTIONS *', from: ['none'] },
  { name: 'target without a slash', line: 'GET things', from: ['none'] },
];

const QUERIES: readonly AwkwardRequest[] = [
  {
    name: 'repeated parameters, escapes, pluses, empty values',
    line: 'GET /capture?repeat=one&repeat=two&redirect=https%3A%2F%2Fexample.com%2Fa%2Fb&literalPlus=a+b&encodedPlus=a%2Bb&empty=',
    from: ['capture'],
    event: {
      queryStringParameters: {
        empty: '',
        encodedPlus: 'a+b',
        literalPlus: 'a b',
        redirect: 'https://example.com/a/b',
        repeat: 'one,two',
      },
    },
  },
  {
    name: 'repeated parameters apart',
    line: 'GET /things?a=1&b=2&a=3',
    from: ['payload'],
    event: { routeKey: 'GET /things', queryStringParameters: { a: '1,3', b: '2' } },
  },
  {
    name: 'comma in a repeated parameter',
    line: 'GET /things?a=1,2&a=3',
    from: ['payload'],
    event: { routeKey: 'GET /things', queryStringParameters: { a: '1,2,3' } },
  },
  {
    name: 'names that objects have already',
    line: 'GET /things?__proto__=a&constructor=b&toString=c&__proto__=d',
    from: ['payload'],
    event: {
      routeKey: 'GET /things',
      queryStringParameters: Object.fromEntries([
        ['__proto__', 'a,d'],
        ['constructor', 'b'],
        ['toString', 'c'],
      ]),
    },
  },
  {
    name: 'escaped name',
    line: 'GET /things?%C3%A4%5B%5D=1',
    from: ['routes'],
    event: { routeKey: 'GET /things', queryStringParameters: { 'ä[]': '1' } },
  },
  {
    name: 'names in both cases',
    line: 'GET /things?X=1&x=2',
    from: ['payload'],
    event: { routeKey: 'GET /things', queryStringParameters: { X: '1', x: '2' } },
  },
  {
    name: 'long query',
    line: `GET /things?x=${'y'.repeat(9000)}`,
    from: ['quotas'],
    event: { routeKey: 'GET /things', queryStringParameters: { x: 'y'.repeat(9000) } },
  },
  { name: 'parameter without a value', line: 'GET /things?flag', from: ['none'] },
  { name: 'question mark alone', line: 'GET /things?', from: ['none'] },
  { name: 'ampersands alone', line: 'GET /things?&&', from: ['none'] },
  { name: 'parameter without a name', line: 'GET /things?=x', from: ['none'] },
  { name: 'brackets', line: 'GET /things?a[]=1&a[]=2', from: ['none'] },
  { name: 'semicolon', line: 'GET /things?a=1;b=2', from: ['none'] },
  { name: 'second question mark', line: 'GET /things?a=1?b=2', from: ['none'] },
  { name: 'escape of no digits in a query', line: 'GET /things?a=%zz&b=%', from: ['none'] },
  { name: 'escaped bytes that are no UTF-8 in a query', line: 'GET /things?a=%ff%fe', from: ['none'] },
  { name: 'bytes that are no ASCII in a query', line: 'GET /things?a=\u00c3\u00a4\u00ff', from: ['none'] },
  { name: 'escaped NUL in a query', line: 'GET /things?a=%00', from: ['none'] },
  {
    name: 'a thousand parameters',
    line: `GET /things?${Array.from({ length: 1000 }, (_, nth) => `a${nth}=`).join('&')}`,
    from: ['quotas'],
    event: {
      routeKey: 'GET /things',
      queryStringParameters: Object.fromEntries(Array.from({ length: 1000 }, (_, nth) => [`a${nth}`, ''])),
    },
  },
];

const HEADERS: readonly AwkwardRequest[] = [
  {
    name: 'names of headers in any case',
    line: 'GET /capture',
    headers: ['X-MiXeD: Value'],
    from: ['payload'],
    event: { headers: { 'x-mixed': 'Value' } },
  },
  {
    name: 'repeated header',
    line: 'GET /capture',
    headers: ['X-Probe: first', 'Accept: */*', 'x-probe: second'],
    from: ['capture'],
    event: { headers: { 'x-probe': 'first,second', accept: '*/*' } },
  },
  {
    name: 'headers that objects have already',
    line: 'GET /capture',
    headers: ['constructor: a', '__proto__: b', 'toString: c'],
    from: ['payload'],
    event: {
      headers: Object.fromEntries([
        ['constructor', 'a'],
        ['__proto__', 'b'],
        ['tostring', 'c'],
      ]),
    },
  },
  {
    name: 'cookies',
    line: 'GET /capture',
    headers: ['Cookie: session=abc123; theme=dark'],
    from: ['capture'],
    event: { cookies: ['session=abc123', 'theme=dark'], headers: {} },
  },
  {
    name: 'two headers of cookies',
    line: 'GET /capture',
    headers: ['Cookie: a=1', 'Cookie: b=2; c=3'],
    from: ['payload'],
    event: { headers: {} },
    open: ['cookies'],
  },
  { name: 'cookies without a space', line: 'GET /capture', headers: ['Cookie: a=1;b=2'], from: ['none'] },
  { name: 'cookie of nothing', line: 'GET /capture', headers: ['Cookie: '], from: ['none'] },
  {
    name: 'an address that the sender made up',
    line: 'GET /capture',
    headers: ['X-Forwarded-For: 192.0.2.7', 'Forwarded: for=192.0.2.7'],
    from: ['variables'],
    open: ['headers'],
  },
  { name: 'header of nothing', line: 'GET /capture', headers: ['X-Empty:'], from: ['none'] },
  { name: 'spaces around a value', line: 'GET /capture', headers: ['X-Padded: \t a b \t'], from: ['none'] },
  { name: 'UTF-8 in a header', line: 'GET /capture', headers: ['X-Name: \u00c3\u00a4'], from: ['none'] },
  { name: 'Latin-1 in a header', line: 'GET /capture', headers: ['X-Name: \u00e4'], from: ['none'] },
  { name: 'folded header', line: 'GET /capture', headers: ['X-Folded: a', ' b'], from: ['none'] },
  { name: 'header without a colon', line: 'GET /capture', headers: ['X-Broken'], from: ['none'] },
  { name: 'space before the colon', line: 'GET /capture', headers: ['X-Broken : a'], from: ['none'] },
  {
    name: 'control character in a header',
    line: 'GET /capture',
    headers: ['X-Bell: a\u0007b'],
    from: ['none'],
  },
  {
    name: 'wish for another protocol',
    line: 'GET /capture',
    headers: ['Upgrade: websocket'],
    from: ['none'],
  },
  {
    name: 'wish to be told to go on',
    line: 'POST /things',
    headers: ['Expect: 100-continue', 'Content-Type: text/plain'],
    body: 'waited',
    from: ['none'],
  },
  {
    name: 'wish that nobody knows',
    line: 'POST /things',
    headers: ['Expect: the-unexpected', 'Content-Type: text/plain'],
    body: 'waited',
    from: ['none'],
  },
  {
    name: 'long header',
    line: 'GET /capture',
    headers: [`X-Long: ${'y'.repeat(9000)}`],
    from: ['quotas'],
    event: { headers: { 'x-long': 'y'.repeat(9000) } },
  },
  {
    name: 'headers of more than 10,240 bytes',
    line: 'GET /capture',
    headers: [`X-Long: ${'y'.repeat(5200)}`, `X-Longer: ${'z'.repeat(5200)}`],
    from: ['quotas'],
    refused: true,
  },
  {
    name: 'headers of a hundred kilobytes',
    line: 'GET /capture',
    headers: [`X-Long: ${'y'.repeat(100_000)}`],
    from: ['quotas'],
    refused: true,
  },
  {
    name: 'request line of more than 10,240 bytes',
    line: `GET /things?x=${'y'.repeat(10_300)}`,
    from: ['quotas'],
    refused: true,
  },
];

/** Types of bodies, and whether a body of the type reaches the function as Base64. */
const TYPES: readonly (readonly [type: string | null, isBase64: boolean, from: Source])[] = [
  ['text/plain', false, 'types'],
  ['text/html', false, 'types'],
  ['text/csv', false, 'charset'],
  ['text/xml', false, 'charset'],
  ['application/json', false, 'types'],
  ['application/xml', false, 'types'],
  ['application/javascript', false, 'types'],
  ['text/plain; charset=utf-8', false, 'charset'],
  ['application/json; charset=utf-8', false, 'charset'],
  ['text/plain; charset=iso-8859-1', true, 'charset'],
  ['application/x-www-form-urlencoded', true, 'types'],
  [null, true, 'types'],
  ['application/octet-stream', true, 'charset'],
  ['multipart/form-data; boundary=x', true, 'multipart'],
  ['application/vnd.api+json', true, 'charset'],
  ['application/gzip', true, 'types'],
  ['image/png', true, 'types'],
  ['nonsense', true, 'charset'],
];

const ODD_TYPES = [
  'application/graphql',
  'Application/JSON',
  'application/json;charset="UTF-8"',
  'application/json; charset=utf-16',
  'text/html; charset=utf-8',
  'application/json, text/plain',
  '',
];

const BODIES: readonly AwkwardRequest[] = [
  ...TYPES.map(
    ([type, isBase64Encoded, from]): AwkwardRequest => ({
      name: `body of ${type ?? 'no type'}`,
      line: 'POST /things',
      headers: type === null ? [] : [`Content-Type: ${type}`],
      body: '{"ä":1}',
      from: [from],
      event: {
        routeKey: 'POST /things',
        body: isBase64Encoded ? base64('{"ä":1}') : '{"ä":1}',
        isBase64Encoded,
      },
    }),
  ),
  ...ODD_TYPES.map(
    (type): AwkwardRequest => ({
      name: `body of the type "${type}"`,
      line: 'POST /things',
      headers: [`Content-Type: ${type}`],
      body: '{"ä":1}',
      from: ['none'],
    }),
  ),
  {
    name: 'bytes',
    line: 'POST /things',
    headers: ['Content-Type: application/gzip'],
    body: gzipSync('report'),
    from: ['payload'],
    event: { routeKey: 'POST /things', body: base64(gzipSync('report')), isBase64Encoded: true },
  },
  {
    name: 'text with NUL and a byte order mark',
    line: 'POST /things',
    headers: ['Content-Type: text/plain'],
    body: '\ufeffa\u0000b',
    from: ['payload'],
    event: { routeKey: 'POST /things', body: '\ufeffa\u0000b' },
  },
  {
    name: 'no body, and a length of 0',
    line: 'POST /things',
    headers: ['Content-Type: application/json', 'Content-Length: 0'],
    from: ['charset'],
    event: { routeKey: 'POST /things' },
  },
  {
    name: 'text that is no UTF-8',
    line: 'POST /things',
    headers: ['Content-Type: application/json'],
    body: Buffer.from([0x22, 0xff, 0xfe, 0x22]),
    from: ['payload'],
    event: { routeKey: 'POST /things' },
    open: ['body'],
  },
  {
    name: 'JSON that is packed',
    line: 'POST /things',
    headers: ['Content-Type: application/json', 'Content-Encoding: gzip'],
    body: gzipSync('{}'),
    from: ['payload'],
    event: { routeKey: 'POST /things' },
    open: ['body', 'isBase64Encoded'],
  },
  {
    name: 'body in chunks',
    line: 'POST /things',
    headers: ['Content-Type: text/plain', 'Transfer-Encoding: chunked'],
    body: '3\r\nabc\r\n4;note=x\r\ndefg\r\n0\r\n\r\n',
    from: ['payload'],
    event: { routeKey: 'POST /things', body: 'abcdefg' },
    open: ['headers'],
  },
  {
    name: 'GET with a body',
    line: 'GET /things',
    headers: ['Content-Type: text/plain'],
    body: 'abc',
    from: ['none'],
  },
  {
    name: 'DELETE with a body',
    line: 'DELETE /things',
    headers: ['Content-Type: text/plain'],
    body: 'abc',
    from: ['none'],
  },
  {
    name: 'two lengths of one body',
    line: 'POST /things',
    headers: ['Content-Type: text/plain', 'Content-Length: 3', 'Content-Length: 7'],
    body: 'abcdefg',
    from: ['none'],
  },
  {
    name: 'a length that is no number',
    line: 'POST /things',
    headers: ['Content-Type: text/plain', 'Content-Length: -3'],
    body: 'abc',
    from: ['none'],
  },
  {
    name: 'a length and chunks',
    line: 'POST /things',
    headers: ['Content-Type: text/plain', 'Content-Length: 3', 'Transfer-Encoding: chunked'],
    body: '3\r\nabc\r\n0\r\n\r\n',
    from: ['none'],
  },
  {
    name: 'chunks of no size',
    line: 'POST /things',
    headers: ['Content-Type: text/plain', 'Transfer-Encoding: chunked'],
    body: 'xyz\r\nabc\r\n0\r\n\r\n',
    from: ['none'],
  },
  {
    name: 'an unknown way of transfer',
    line: 'POST /things',
    headers: ['Content-Type: text/plain', 'Transfer-Encoding: squeezed'],
    body: 'abc',
    from: ['none'],
  },
  {
    name: 'a megabyte',
    line: 'POST /things',
    headers: ['Content-Type: text/plain'],
    body: 'x'.repeat(MB),
    from: ['quotas'],
    event: { routeKey: 'POST /things', body: 'x'.repeat(MB) },
  },
  {
    name: 'more than Lambda takes',
    line: 'POST /things',
    headers: ['Content-Type: application/gzip'],
    body: Buffer.alloc(5 * MB),
    from: ['lambda'],
    refused: 413,
  },
  {
    name: 'text that is more than Lambda takes once it is JSON',
    line: 'POST /things',
    headers: ['Content-Type: text/plain'],
    body: '"'.repeat(3.5 * MB),
    from: ['lambda'],
    refused: 413,
  },
  {
    name: 'more than the gateway takes',
    line: 'POST /things',
    headers: ['Content-Type: application/gzip'],
    body: Buffer.alloc(10 * MB + 1),
    from: ['quotas'],
    refused: 413,
  },
  {
    name: 'more than the gateway takes, in chunks',
    line: 'POST /things',
    headers: ['Content-Type: application/gzip', 'Transfer-Encoding: chunked'],
    body: Buffer.concat([Buffer.from('c00000\r\n'), Buffer.alloc(12 * MB), Buffer.from('\r\n0\r\n\r\n')]),
    from: ['quotas'],
    refused: 413,
  },
];

const METHODS: readonly AwkwardRequest[] = [
  { name: 'HEAD', line: 'HEAD /capture', from: ['routes'] },
  { name: 'HEAD where there is a GET', line: 'HEAD /things', from: ['routes'] },
  { name: 'OPTIONS', line: 'OPTIONS /capture', from: ['cors'] },
  {
    name: 'OPTIONS of a browser',
    line: 'OPTIONS /things',
    headers: ['Origin: https://elsewhere.example', 'Access-Control-Request-Method: POST'],
    from: ['cors'],
  },
  { name: 'DELETE', line: 'DELETE /capture', from: ['routes'] },
  { name: 'TRACE', line: 'TRACE /capture', from: ['none'] },
  { name: 'CONNECT', line: 'CONNECT elsewhere.example:443', from: ['none'] },
  { name: 'PROPFIND', line: 'PROPFIND /capture', from: ['none'] },
  { name: 'method that nobody knows', line: 'BREW /capture', from: ['none'] },
  { name: 'method in lower case', line: 'get /things', from: ['none'] },
];

/** Requests that gateways may well read in different ways. */
export const AWKWARD_REQUESTS: readonly AwkwardRequest[] = [
  ...PATHS,
  ...QUERIES,
  ...HEADERS,
  ...BODIES,
  ...METHODS,
];
