import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assets } from '#contract/operations/assets.ts';
import { auth } from '#contract/operations/auth.ts';
import { scans } from '#contract/operations/scans.ts';
import { toOpaque } from '#domain/ids.ts';
import type { Scanner } from '#domain/vocabulary.ts';
import type { EmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { type Client, createClient } from '#shared/client/client.ts';
import { startTestCloud } from '#test/harness/test-cloud.ts';
import {
  createVulnerableRepository,
  git,
  type VulnerableRepository,
} from '#test/harness/vulnerable-repository.ts';

const PASSWORD = 'a password for this test';

let folder: string;
let cloud: EmbeddedCloud;
let client: Client;
let orgId: string;
let repository: VulnerableRepository;
let assetId: string;

/** A scanner of the test's own on PATH: a real program that misbehaves. */
async function fakeScanner(name: Scanner, version: string, script: string): Promise<void> {
  const path = join(folder, 'bin', name);
  await writeFile(
    path,
    `#!/bin/sh\ncase "$1" in version|--version|-v) echo "${version}"; exit 0;; esac\n${script}\n`,
  );
  await chmod(path, 0o755);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aspm-failing-'));
  await mkdir(join(folder, 'bin'));
  await fakeScanner('gitleaks', '8.30.1', 'echo "panic: nil map" >&2; exit 2');
  await fakeScanner(
    'semgrep',
    '1.182.0',
    'echo "not json at all"; for word in "$@"; do last="$previous"; previous="$word"; done; exit 0',
  );
  repository = await createVulnerableRepository();
  cloud = await startTestCloud({
    port: 0,
    inMemory: true,
    adminPassword: PASSWORD,
    env: {
      PATH: `${join(folder, 'bin')}:/usr/bin:/bin`,
      ASPM_SCANNERS_DIR: join(folder, 'nothing-installed'),
      ASPM_RATE_LIMIT_FACTOR: '1000',
    },
  });
  const session = await createClient({ url: cloud.url }).call(auth.operations.login, {
    body: { email: cloud.admin.email, password: PASSWORD },
  });
  client = createClient({ url: cloud.url, credential: session.access_token, strict: true });
  orgId = (await client.call(auth.operations.getCurrentUser)).org_id ?? '';
  assetId = await add(pathToFileURL(repository.path).href);
});
afterAll(async () => {
  await cloud?.stop();
  await repository?.remove();
  await rm(folder, { recursive: true, force: true });
});

async function add(url: string): Promise<string> {
  const made = await client.call(assets.operations.addRepository, {
    params: { org_id: orgId },
    body: { name: 'repository', url },
  });
  return toOpaque('asset', made.id);
}

async function scan(scanners: Scanner[], id = assetId) {
  const queued = await client.call(scans.operations.createScan, {
    body: { scope: 'asset', target_id: id, scanners },
  });
  const read = () => client.call(scans.operations.getScan, { params: { scan_id: queued.id } });
  await expect.poll(async () => (await read()).finished_at, { timeout: 50_000 }).not.toBeNull();
  return read();
}

describe('a scanner that', () => {
  it('is not installed fails its part, by a code that says so', async () => {
    expect(await scan(['trivy'])).toMatchObject({
      status: 'failed',
      error: {
        code: 'scanner_not_installed',
        details: [{ asset_id: assetId, scanner: 'trivy', code: 'scanner_not_installed' }],
      },
      progress: { total: 1, done: 0, failed: 1 },
    });
  });

  it('crashes fails its part, with what it said', async () => {
    const ended = await scan(['gitleaks']);
    expect(ended).toMatchObject({ status: 'failed', error: { code: 'scanner_failed' } });
    expect(ended.error?.message).toContain('panic: nil map');
  });

  it('prints rubbish fails its part', async () => {
    expect(await scan(['semgrep'])).toMatchObject({ status: 'failed', error: { code: 'report_invalid' } });
  });

  it('fails among others makes the scan partial, and holds up nobody', async () => {
    const report = '{"version":"1.182.0","results":[],"errors":[],"paths":{"scanned":[]}}';
    await fakeScanner(
      'semgrep',
      '1.182.0',
      `while [ $# -gt 0 ]; do [ "$1" = --output ] && echo '${report}' > "$2"; shift; done`,
    );
    const ended = await scan(['semgrep', 'gitleaks', 'grype']);
    expect(ended).toMatchObject({ status: 'partial', progress: { total: 3, done: 1, failed: 2 } });
    expect(ended.error?.details.map(({ scanner, code }) => [scanner, code]).sort()).toEqual([
      ['gitleaks', 'scanner_failed'],
      ['grype', 'scanner_not_installed'],
    ]);
    // The place of the scan is free again.
    expect(await scan(['semgrep'])).toMatchObject({ status: 'completed' });
  });
});

describe('a scan that is cancelled while its scanner runs', () => {
  it('ends at once, stops the scanner within seconds, and frees what it held', async () => {
    await fakeScanner('gitleaks', '8.30.1', `echo $$ > ${join(folder, 'gitleaks.pid')}; exec sleep 300`);
    const queued = await client.call(scans.operations.createScan, {
      body: { scope: 'asset', target_id: assetId, scanners: ['gitleaks'] },
    });
    const params = { scan_id: queued.id };
    const runOf = async () => (await client.call(scans.operations.listScanRuns, { params })).data[0];
    await expect.poll(async () => (await runOf())?.scanners[0]?.status, { timeout: 20_000 }).toBe('running');
    expect(await client.call(scans.operations.cancelScan, { params })).toMatchObject({ status: 'cancelled' });
    await expect.poll(async () => (await runOf())?.status, { timeout: 15_000 }).toBe('cancelled');
    const pid = Number(await readFile(join(folder, 'gitleaks.pid'), 'utf8'));
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    await fakeScanner('gitleaks', '8.30.1', 'exit 2');
    expect(await scan(['gitleaks'])).toMatchObject({ status: 'failed' });
  });
});

describe('a repository with a file of 200 MB', () => {
  it('is scanned without it, and does not hang', async () => {
    const large = await createVulnerableRepository();
    try {
      const script = `head -c 200000000 /dev/urandom > ${join(large.path, 'large.bin')}`;
      const { execFileSync } = await import('node:child_process');
      execFileSync('sh', ['-c', script]);
      await git(large.path, 'add', '--all');
      await git(large.path, 'commit', '--quiet', '--message', 'add a large file');
      const report = '{"version":"1.182.0","results":[],"errors":[],"paths":{"scanned":[]}}';
      // It reports what it was given: the large file must not be there.
      await fakeScanner(
        'semgrep',
        '1.182.0',
        `[ -e large.bin ] && exit 3\nwhile [ $# -gt 0 ]; do [ "$1" = --output ] && echo '${report}' > "$2"; shift; done`,
      );
      expect(await scan(['semgrep'], await add(pathToFileURL(large.path).href))).toMatchObject({
        status: 'completed',
      });
    } finally {
      await large.remove();
    }
  });
});
