import { request as openRequest } from 'node:http';
import { AwsV4Signer } from 'aws4fetch';
import { beforeAll, describe, expect, inject } from 'vitest';
import { openJsonEndpoint } from '#infra/local/aws-json.ts';
import { makeCredentials } from '#infra/local/signatures.ts';
import { UPLOAD_SECONDS } from '#shared/report-bucket.ts';
import { attack } from '#test/harness/attack.ts';

const KEY = 'raw/0199c0de-5eed-7000-a000-0000000000aa/exports/attacked.gz';
const CONTENT = 'a report that nobody may read';

interface Signing {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly query?: string;
  /** Seconds ago. */
  readonly age?: number;
  readonly credentials?: { accessKeyId: string; secretAccessKey: string };
}

/** An address of the object as the service signs one. */
async function signed({ method = 'GET', headers = {}, query, age = 0, credentials }: Signing = {}) {
  const { bucketUrl, credentials: own } = inject('service');
  const at = new Date(Date.now() - age * 1000);
  const signer = new AwsV4Signer({
    ...(credentials ?? own),
    service: 's3',
    method,
    url: `${bucketUrl}/${KEY}?${query ?? `X-Amz-Expires=${UPLOAD_SECONDS}`}`,
    headers,
    signQuery: true,
    allHeaders: true,
    datetime: at.toISOString().replace(/[:-]|\.\d{3}/g, ''),
  });
  return (await signer.sign()).url;
}

/** Over a bare connection, so that headers go out as they are written. */
function ask(
  url: URL | string,
  method = 'GET',
  headers: Record<string, string> = {},
  body = '',
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = openRequest(url, { method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      );
    });
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

const withQuery = (url: URL, change: (query: URLSearchParams) => void) => {
  const changed = new URL(url);
  change(changed.searchParams);
  return changed;
};

beforeAll(async () => {
  const headers = { 'content-type': 'application/gzip', 'content-length': String(CONTENT.length) };
  expect((await ask(await signed({ method: 'PUT', headers }), 'PUT', headers, CONTENT)).status).toBe(200);
  expect(await ask(await signed())).toEqual({ status: 200, text: CONTENT });
});

describe('the object store', () => {
  attack('object store', 'got through', 'without a signature: read, written, listed, deleted', async () => {
    const { bucketUrl } = inject('service');
    for (const [method, path] of [
      ['GET', `/${KEY}`],
      ['HEAD', `/${KEY}`],
      ['PUT', '/raw/forged'],
      ['DELETE', `/${KEY}`],
      ['GET', '?list-type=2'],
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '?delete'],
      ['OPTIONS', `/${KEY}`],
    ] as const)
      expect([method, path, (await ask(`${bucketUrl}${path}`, method)).status]).toEqual([method, path, 403]);
    expect(await ask(await signed())).toEqual({ status: 200, text: CONTENT });
  });

  attack('object store', 'got through', 'by an address after its time', async () => {
    expect((await ask(await signed({ age: UPLOAD_SECONDS + 1 }))).status).toBe(403);
    expect((await ask(await signed({ age: -3600 }))).status).toBe(403);
    const stretched = withQuery(await signed({ age: UPLOAD_SECONDS + 1 }), (query) =>
      query.set('X-Amz-Expires', '86400'),
    );
    expect((await ask(stretched)).status).toBe(403);
    for (const seconds of ['0', '-1', '99999999', 'x', ''])
      expect([seconds, (await ask(await signed({ query: `X-Amz-Expires=${seconds}` }))).status]).toEqual([
        seconds,
        403,
      ]);
  });

  attack('object store', 'got through', 'by an address of another object, method or length', async () => {
    const other = await signed();
    other.pathname = other.pathname.replace('attacked', 'another');
    expect((await ask(other)).status).toBe(403);
    expect((await ask(await signed(), 'DELETE')).status).toBe(403);
    const headers = { 'content-type': 'application/gzip', 'content-length': '5' };
    const upload = await signed({ method: 'PUT', headers });
    expect((await ask(upload, 'PUT', { ...headers, 'content-length': '9' }, 'nine byte')).status).toBe(403);
    expect((await ask(upload, 'PUT', { ...headers, 'content-type': 'text/html' }, '12345')).status).toBe(403);
  });

  attack('object store', 'got through', 'by a signature that is altered, or of somebody else', async () => {
    const own = await signed();
    const signature = own.searchParams.get('X-Amz-Signature') ?? '';
    const flipped = signature.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    for (const wrong of [flipped, signature.slice(1), '', `${signature}0`, 'é'.repeat(64)])
      expect((await ask(withQuery(own, (query) => query.set('X-Amz-Signature', wrong)))).status).toBe(403);
    expect((await ask(await signed({ credentials: makeCredentials() }))).status).toBe(403);
    const { accessKeyId } = inject('service').credentials;
    const guessed = { accessKeyId, secretAccessKey: 'local' };
    expect((await ask(await signed({ credentials: guessed }))).status).toBe(403);
    // One parameter signed, the other obeyed.
    const twice = withQuery(own, (query) => query.append('response-content-type', 'text/html'));
    expect((await ask(twice)).status).toBe(403);
    const doubled = withQuery(own, (query) => query.append('X-Amz-Expires', '86400'));
    expect((await ask(doubled)).status).toBe(403);
  });

  attack('object store', 'got through', 'on the way of the queues', async () => {
    const { origin } = new URL(inject('service').bucketUrl);
    for (const action of ['ListQueues', 'ReceiveMessage', 'SendMessage', 'PurgeQueue']) {
      const headers = { 'x-amz-target': `AmazonSQS.${action}`, 'content-type': 'application/x-amz-json-1.0' };
      expect((await ask(`${origin}/`, 'POST', headers, '{}')).status).toBe(403);
    }
  });
});

describe('secrets and executions', () => {
  attack('object store', 'got through', 'asked for by who merely reaches the port', async () => {
    const credentials = makeCredentials();
    let told = 0;
    const endpoint = await openJsonEndpoint(
      {
        'secretsmanager.GetSecretValue': () => {
          told += 1;
          return { SecretString: 'hush' };
        },
      },
      credentials,
    );
    const headers = {
      'x-amz-target': 'secretsmanager.GetSecretValue',
      'content-type': 'application/x-amz-json-1.1',
    };
    expect((await ask(endpoint.url, 'POST', headers, '{}')).text).toContain('AccessDeniedException');
    const digest = { ...headers, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' };
    for (const [by, age, granted] of [
      [credentials, 0, true],
      [credentials, 3600, false],
      [makeCredentials(), 0, false],
    ] as const) {
      const datetime = new Date(Date.now() - age * 1000).toISOString().replace(/[:-]|\.\d{3}/g, '');
      const signer = new AwsV4Signer({
        ...by,
        url: endpoint.url,
        method: 'POST',
        headers: digest,
        service: 'secretsmanager',
        region: 'eu-west-1',
        datetime,
      });
      const { headers: sent } = await signer.sign();
      expect((await ask(endpoint.url, 'POST', Object.fromEntries(sent), '{}')).text.includes('hush')).toBe(
        granted,
      );
    }
    expect(told).toBe(1);
    await endpoint.close();
  });
});
