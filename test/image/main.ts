import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as z from 'zod';
import { assets } from '#contract/operations/assets.ts';
import { auth } from '#contract/operations/auth.ts';
import { scans } from '#contract/operations/scans.ts';
import { toOpaque } from '#domain/ids.ts';
import { SCANNERS } from '#domain/vocabulary.ts';
import { SCANNER_RELEASES } from '#functions/scanner-runner/versions.ts';
import { startEmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { prepareRunnerImage } from '#infra/pipeline/runner-image.ts';
import { type Client, createClient } from '#shared/client/client.ts';
import { createReportBucket } from '#shared/report-bucket.ts';
import { serveGit } from '#test/harness/git-server.ts';
import { createVulnerableRepository } from '#test/harness/vulnerable-repository.ts';
import { buildah, buildImage, buildStage, makeBase, mounted } from './build.ts';

/**
 * `npm run test:image`: carries out every step of the scanner image's Dockerfile without a container engine, and
 * lets the image scan a repository in the place of the service's own runner: as its own user, on a root file system
 * that can't be written to. Needs Linux, root, `buildah` and `debootstrap`; the first run compiles for half an hour.
 */
const HERE = fileURLToPath(new URL('.', import.meta.url));
const DATABASES = fileURLToPath(new URL('../fixtures/databases', import.meta.url));
const PASSWORD = 'a password for the image';
const execute = promisify(execFile);

const Inspected = z.object({
  OCIv1: z.object({
    config: z.object({ User: z.string(), Env: z.array(z.string()), Entrypoint: z.array(z.string()) }),
  }),
  Docker: z.object({
    config: z.object({
      Healthcheck: z.object({ Test: z.array(z.string()) }),
      Volumes: z.record(z.string(), z.unknown()),
    }),
  }),
});

const folder = await mkdtemp(join(tmpdir(), 'aspm-image-'));
try {
  await makeBase();
  const context = join(folder, 'context');
  await prepareRunnerImage(context);
  await checkCrossBuild(context);
  const image = await buildImage(context);
  await mounted(image, (root) => checkImage(image, root));
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** What an x86 machine makes for arm64 is of arm64, and was not emulated: nothing here could run it. */
async function checkCrossBuild(context: string): Promise<void> {
  const other = process.arch === 'arm64' ? 'amd64' : 'arm64';
  const machine = other === 'arm64' ? 0xb7 : 0x3e;
  for (const [stage, place] of [
    ['gitleaks', 'scanners'],
    ['node', 'usr/local/bin/runner-node'],
    ['semgrep', 'opt/semgrep'],
  ] as const) {
    const stageImage = await buildStage(context, stage, other);
    const programs = await mounted(stageImage, (root) => elfFiles(join(root, place)));
    assert.ok(programs.length > 0, `${stage} has made no program`);
    for (const { path, machine: found } of programs)
      assert.equal(found, machine, `${path} is not for ${other}`);
    console.log(`✓ ${stage}: ${programs.length} programs and libraries for ${other}`);
  }
}

/** Every ELF file below a path, with the processor that it is for. */
async function elfFiles(path: string): Promise<{ path: string; machine: number }[]> {
  const below = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => null);
  const files =
    below === null
      ? [path]
      : below.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const read = files.map(async (file) => {
    await using handle = await open(file);
    const { buffer } = await handle.read(Buffer.alloc(20), 0, 20, 0);
    return buffer.subarray(0, 4).toString('latin1') === '\x7fELF'
      ? [{ path: file, machine: buffer.readUInt16LE(18) }]
      : [];
  });
  return (await Promise.all(read)).flat();
}

async function checkImage(image: string, root: string): Promise<void> {
  const { OCIv1, Docker } = Inspected.parse(JSON.parse(await buildah('inspect', '--type', 'image', image)));
  const { User, Env, Entrypoint } = OCIv1.config;
  assert.match(User, /^[1-9]\d*:[1-9]\d*$/);
  assert.deepEqual(Object.keys(Docker.config.Volumes), ['/scratch']);
  const { stdout: privileged } = await execute('find', [root, '-xdev', '-type', 'f', '-perm', '/6000']);
  assert.equal(privileged, '', 'programs that give rights away');
  assert.deepEqual(await readdir(join(root, 'scratch')), []);

  const environment = join(folder, 'environment');
  await writeFile(environment, `${Env.join('\n')}\n`);
  const inImage = [join(HERE, 'run-in-image.sh'), root, User, environment] as const;
  const [wrapper, ...rest] = inImage;
  const inside = async (...program: string[]) => (await execute(wrapper, [...rest, ...program])).stdout;
  for (const path of ['/etc', '/app', '/opt', '/tmp', '/usr/local/bin', '/var'])
    await assert.rejects(inside('touch', `${path}/written`), /Read-only file system|Permission denied/);
  await inside('touch', '/scratch/written');
  assert.match(await inside('cat', '/proc/self/status'), /^CapEff:\s+0+$/m);
  for (const scanner of SCANNERS) {
    const told = await inside(
      scanner,
      scanner === 'semgrep' || scanner === 'trivy' ? '--version' : 'version',
    );
    assert.ok(told.includes(SCANNER_RELEASES[scanner].version), `${scanner} tells ${told}`);
  }
  console.log('✓ the root file system is read-only, and no rights are left');
  await scanByImage([wrapper, ...rest, ...Entrypoint], Docker.config.Healthcheck.Test);
}

async function scanByImage(runner: [string, ...string[]], healthcheck: string[]): Promise<void> {
  const repositories = join(folder, 'repositories');
  const path = join(repositories, 'vulnerable');
  await mkdir(path, { recursive: true });
  await createVulnerableRepository({ path });
  const server = createServer(serveGit(repositories));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cloud = await startEmbeddedCloud({
    port: 0,
    inMemory: true,
    dataDir: join(folder, 'data'),
    adminPassword: PASSWORD,
    env: { ASPM_ALLOW_PRIVATE_ADDRESSES: '1', ASPM_RATE_LIMIT_FACTOR: '1000' },
    runner,
  });
  try {
    await keepDatabases();
    const client = await signIn(cloud.url, cloud.admin.email);
    const me = await client.call(auth.operations.getCurrentUser);
    const { id } = await client.call(assets.operations.addRepository, {
      params: { org_id: me.org_id ?? '' },
      body: {
        name: 'vulnerable',
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/vulnerable`,
      },
    });
    const target = toOpaque('asset', id);
    const { id: scan_id } = await client.call(scans.operations.createScan, {
      body: { scope: 'asset', target_id: target, scanners: [...SCANNERS] },
    });
    const scan = await ended(client, scan_id);
    const found = await client.call(scans.operations.listScanFindings, {
      params: { scan_id },
      query: { per_page: 100 },
    });
    const by = Map.groupBy(found.data, ({ scanner }) => scanner);
    console.log(`scan ${scan.status}:`, Object.fromEntries([...by].map(([name, of]) => [name, of.length])));
    if (scan.status !== 'completed')
      console.error(JSON.stringify(scan.error), await readFile(join(cloud.dataDir, 'service.log'), 'utf8'));
    assert.equal(scan.status, 'completed');
    assert.deepEqual([...by.keys()].sort(), [...SCANNERS].sort());
    console.log(
      `✓ the image has scanned a repository with ${SCANNERS.join(', ')}; healthy by ${healthcheck[1]}`,
    );
  } finally {
    await cloud.stop();
    server.closeAllConnections();
    server.close();
  }
}

/** The test databases, where the service would keep the published ones. The image has none, and reaches no other. */
async function keepDatabases(): Promise<void> {
  const bucket = createReportBucket(process.env.REPORT_BUCKET_URL ?? '');
  await bucket.writeDatabase('grype', join(DATABASES, 'tinydb.tar.gz'));
  const packed = join(folder, 'trivy.tar.gz');
  await execute('tar', ['-czf', packed, '-C', join(DATABASES, 'trivy-db'), '.']);
  await bucket.writeDatabase('trivy', packed);
}

async function signIn(url: string, email: string): Promise<Client> {
  const pair = await createClient({ url }).call(auth.operations.login, {
    body: { email, password: PASSWORD },
  });
  return createClient({ url, credential: pair.access_token });
}

async function ended(client: Client, scan_id: string) {
  for (;;) {
    const scan = await client.call(scans.operations.getScan, { params: { scan_id } });
    if (scan.status !== 'queued' && scan.status !== 'running') return scan;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
