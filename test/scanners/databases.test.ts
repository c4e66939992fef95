import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { KEPT_DATABASES, type Scanner } from '#domain/vocabulary.ts';
import { keepDatabases } from '#functions/scanner-databases/keep-databases.ts';
import { cloneRepository } from '#functions/scanner-runner/clone.ts';
import { takeDatabases } from '#functions/scanner-runner/databases.ts';
import { scanCheckout } from '#functions/scanner-runner/scan-checkout.ts';
import { createReportBucket } from '#shared/report-bucket.ts';
import { parseReport } from '#shared/reports/parse.ts';
import { startHttpServer, type TestServer } from '#test/harness/http-server.ts';
import { requireScanner } from '#test/harness/scanner-databases.ts';
import {
  createVulnerableRepository,
  type VulnerableRepository,
} from '#test/harness/vulnerable-repository.ts';

const FIXTURES = fileURLToPath(new URL('../fixtures/databases', import.meta.url));
const DATABASE = 'application/vnd.aquasec.trivy.db.layer.v1.tar+gzip';

let root: string;
let grype: Buffer;
let trivy: Buffer;
let server: TestServer;
let repository: VulnerableRepository;
/** What the publishers say now. */
const published = { checksum: '', manifest: 200 };
const digest = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

const { bucketUrl, credentials } = inject('service');
process.env.AWS_ACCESS_KEY_ID = credentials.accessKeyId;
process.env.AWS_SECRET_ACCESS_KEY = credentials.secretAccessKey;
const bucket = createReportBucket(bucketUrl);
const never = new AbortController().signal;

beforeAll(async () => {
  await Promise.all(KEPT_DATABASES.map(requireScanner));
  root = await mkdtemp(join(tmpdir(), 'databases-'));
  repository = await createVulnerableRepository();
  grype = await readFile(join(FIXTURES, 'tinydb.tar.gz'));
  const layer = join(root, 'layer.tar.gz');
  await promisify(execFile)('tar', ['-czf', layer, '-C', join(FIXTURES, 'trivy-db'), '.']);
  trivy = await readFile(layer);
  // Grype's listing and archive; and a registry of images that gives a token to anybody, and nothing without.
  server = await startHttpServer((request, response) => {
    const base = `http://127.0.0.1:${server.port}`;
    const json = (body: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const { url = '', headers } = request;
    if (url === '/databases/v6/latest.json')
      return json({ status: 'active', path: 'tinydb.tar.gz', checksum: published.checksum });
    if (url === '/databases/v6/tinydb.tar.gz') return response.end(grype);
    if (url === '/token?service=images&scope=repository%3Atrivy%3Apull')
      return json({ token: 'for-anybody' });
    if (headers.authorization !== 'Bearer for-anybody') {
      const challenge = `Bearer realm="${base}/token",service="images",scope="repository:trivy:pull"`;
      return response.writeHead(401, { 'www-authenticate': challenge }).end();
    }
    if (url === '/v2/some/trivy-db/manifests/2')
      return json({ layers: [{ mediaType: DATABASE, digest: digest(trivy) }] }, published.manifest);
    if (url === `/v2/some/trivy-db/blobs/${digest(trivy)}`) return response.end(trivy);
    return response.writeHead(404).end();
  });
});
afterAll(async () => {
  await repository?.remove();
  await server?.[Symbol.asyncDispose]();
  await rm(root, { recursive: true, force: true });
});

const sources = () => ({
  grype: `http://127.0.0.1:${server.port}/databases`,
  trivy: `http://127.0.0.1:${server.port}/some/trivy-db:2`,
});
async function keep() {
  const folder = join(root, 'keeping');
  await mkdir(folder, { recursive: true });
  try {
    await keepDatabases({ bucket, folder, sources: sources() });
  } finally {
    // Whatever came of it, the file on its way is gone.
    expect(await readdir(folder)).toEqual([]);
  }
}
const kept = async (name: (typeof KEPT_DATABASES)[number]) =>
  Buffer.from(await (await fetch(await bucket.presignDatabase(name))).arrayBuffer());
const jobFor = async (...scanners: Scanner[]) => ({
  scanners,
  databases: { grype: await bucket.presignDatabase('grype'), trivy: await bucket.presignDatabase('trivy') },
});
/** A machine whose scanners have no databases, and reach none. */
async function bareEnvironment(): Promise<NodeJS.ProcessEnv> {
  const home = await mkdtemp(join(root, 'home-'));
  const nowhere = 'http://127.0.0.1:9';
  return {
    PATH: process.env.PATH,
    ASPM_SCANNERS_DIR: process.env.ASPM_SCANNERS_DIR ?? join(process.env.HOME ?? '', '.cache/aspm/scanners'),
    HOME: home,
    GRYPE_DB_UPDATE_URL: nowhere,
    TRIVY_DB_REPOSITORY: '127.0.0.1:9/trivy-db:2',
    TRIVY_CHECKS_BUNDLE_REPOSITORY: '127.0.0.1:9/checks:1',
  };
}

describe('the databases of the scanners', () => {
  test('are kept as they are published, and a scan finds with them what it would with its own', async () => {
    published.checksum = digest(grype);
    await keep();
    expect(digest(await kept('grype'))).toBe(digest(grype));
    expect(digest(await kept('trivy'))).toBe(digest(trivy));

    const env = await bareEnvironment();
    const job = await jobFor('grype', 'trivy');
    const taken = await takeDatabases(job, join(root, 'taken'), env, never);
    const checkout = await mkdtemp(join(root, 'checkout-'));
    await cloneRepository({ url: repository.path, into: checkout, history: false, protocols: ['file'] });
    const reports = new Map<Scanner, unknown>();
    const outcomes = await scanCheckout({
      checkout,
      scanners: job.scanners,
      key: 'key of the organization',
      deadline: Date.now() + 90_000,
      env: { ...env, ...taken },
      onReport: async (scanner, { report }) => void reports.set(scanner, report),
    });
    expect(outcomes.map(({ scanner, status }) => [scanner, status])).toEqual([
      ['grype', 'completed'],
      ['trivy', 'completed'],
    ]);
    for (const scanner of job.scanners) {
      const { findings } = parseReport(scanner, reports.get(scanner));
      expect(findings.map(({ location }) => location.path)).toContain('requirements.txt');
    }
  });

  test('that do not have the published digest are not kept; the ones before stay', async () => {
    published.checksum = digest(grype);
    await keep();
    published.checksum = digest(Buffer.from('something else'));
    await expect(keep()).rejects.toThrow('Not every database could be kept');
    expect(digest(await kept('grype'))).toBe(digest(grype));
    // Trivy's is kept all the same, and the other way round.
    expect(server.asked.at(-1)).toContain('/blobs/');
    published.checksum = digest(grype);
    published.manifest = 503;
    await expect(keep()).rejects.toThrow('Not every database could be kept');
    published.manifest = 200;
    expect(digest(await kept('trivy'))).toBe(digest(trivy));
  });

  test('that can not be used are left: the scanner gets its own, and the scan goes on', async () => {
    const broken = join(root, 'broken');
    await writeFile(broken, 'no archive');
    await bucket.writeDatabase('grype', broken);
    const env = await bareEnvironment();
    const taken = await takeDatabases(await jobFor('grype', 'trivy'), join(root, 'half'), env, never);
    expect(Object.keys(taken).filter((name) => name.startsWith('GRYPE_'))).toEqual([]);
    expect(Object.keys(taken)).toContain('TRIVY_SKIP_DB_UPDATE');
    const nowhere = { scanners: ['grype' as const], databases: { grype: `${bucketUrl}/databases/none` } };
    expect(await takeDatabases(nowhere, join(root, 'none'), env, never)).toEqual({});
    const old = { scanners: ['grype' as const] };
    expect(await takeDatabases(old, join(root, 'old'), env, never)).toEqual({});
  });

  test('are not asked for where the operator brings them, nor for other scanners', async () => {
    const job = { ...(await jobFor('grype', 'trivy')), databases: { grype: 'http://127.0.0.1:9/never' } };
    const env = { ...(await bareEnvironment()), ASPM_SCANNERS_OFFLINE: '1' };
    expect(await takeDatabases(job, join(root, 'offline'), env, never)).toEqual({});
    expect(await takeDatabases(await jobFor('gitleaks'), join(root, 'others'), {}, never)).toEqual({});
  });
});
