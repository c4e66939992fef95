import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Scanner } from '#domain/vocabulary.ts';
import { locateScanner } from '#functions/scanner-runner/locate.ts';
import { runScanner } from '#functions/scanner-runner/run-scanner.ts';
import { isFitting } from '#functions/scanner-runner/versions.ts';
import { createVulnerableRepository } from '#test/harness/vulnerable-repository.ts';
import { EMPTY, fake } from './fake-scanner.ts';

let root: string;
let bin: string;
let checkout: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'run-scanner-'));
  ({ path: checkout } = await createVulnerableRepository({ path: await mkdtemp(join(root, 'repo-')) }));
});
afterAll(() => rm(root, { recursive: true, force: true }));
beforeEach(async () => {
  bin = await mkdtemp(join(root, 'bin-'));
  const temporary = await mkdtemp(join(root, 'tmp-'));
  env = {
    PATH: `${bin}:/usr/bin:/bin`,
    HOME: root,
    TMPDIR: temporary,
    ASPM_SCANNERS_DIR: join(root, 'none'),
  };
});

async function run(scanner: Scanner, more: { seconds?: number; signal?: AbortSignal } = {}) {
  const outDir = await mkdtemp(join(root, 'out-'));
  const result = await runScanner({
    scanner,
    checkout,
    outDir,
    deadline: Date.now() + (more.seconds ?? 20) * 1000,
    settings: { semgrepConfig: join(root, 'rules'), offline: true },
    env,
    signal: more.signal,
  });
  expect(await readdir(outDir), 'nothing stays behind').toEqual([]);
  return result;
}

/** Resolves once the process is gone, or dead and waiting for its parent to notice. */
async function gone(pid: number): Promise<void> {
  for (;;) {
    const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
    if (state === null || / Z /.test(state)) return;
    await sleep(20);
  }
}

describe('finding a scanner', () => {
  test('neither on PATH nor installed', async () => {
    const result = await run('grype');
    expect(result).toMatchObject({ status: 'failed', code: 'scanner_not_installed' });
    expect(result).toMatchObject({ message: expect.stringContaining('npm run scanners -- grype') });
  });

  test('on PATH in a fitting version, in another one, and without telling one', async () => {
    await fake(bin, 'trivy', '', '0.99.1');
    expect(await locateScanner('trivy', env)).toEqual({
      path: join(bin, 'trivy'),
      version: '0.99.1',
      from: 'path',
    });
    await fake(bin, 'trivy', '', '0.1.0');
    expect(await locateScanner('trivy', env)).toBeNull();
    await fake(bin, 'trivy', '', 'version is set by build process');
    expect(await locateScanner('trivy', env)).toEqual({
      path: join(bin, 'trivy'),
      version: 'unknown',
      from: 'path',
    });
  });

  test('one that hangs even when it is asked for its version, with a child that holds its output', async () => {
    await writeFile(join(bin, 'grype'), '#!/bin/sh\nsleep 600\n', { mode: 0o755 });
    const started = performance.now();
    expect(await locateScanner('grype', env)).toMatchObject({ version: 'unknown' });
    expect(performance.now() - started).toBeLessThan(6000);
  });

  test('a relative folder on PATH, which could be the checkout, is passed over', async () => {
    expect(await locateScanner('semgrep', { ...env, PATH: `.:${checkout.slice(1)}:` })).toBeNull();
  });

  test.each([
    ['semgrep', '1.0.0', false],
    ['semgrep', '1.999.0', true],
    ['semgrep', '2.0.0', false],
    ['grype', '0.109.9', false],
    ['grype', '0.110.7', true],
    ['gitleaks', '8.31.0', true],
    ['gitleaks', '9.0.0', false],
    ['trivy', '0.69.4', false],
  ] as const)('%s %s fits: %s', (scanner, version, fits) => {
    expect(isFitting(scanner, version)).toBe(fits);
  });
});

describe('a scanner that goes wrong', () => {
  test('crashes', async () => {
    await fake(bin, 'semgrep', 'echo "something broke" >&2; exit 3');
    expect(await run('semgrep')).toMatchObject({
      status: 'failed',
      code: 'scanner_failed',
      message: 'semgrep failed (exit code 3): something broke',
    });
    await fake(bin, 'semgrep', 'kill -SEGV $$');
    expect(await run('semgrep')).toMatchObject({
      code: 'scanner_failed',
      message: expect.stringContaining('SIGSEGV'),
    });
  });

  test('can not be started', async () => {
    await writeFile(join(bin, 'grype'), '\u007fELF rubbish', { mode: 0o755 });
    expect(await run('grype')).toMatchObject({ status: 'failed', code: 'scanner_failed' });
  });

  test.each([
    ['prints rubbish', 'echo rubbish > "$report"'],
    ['prints nothing', ': > "$report"'],
    ['writes no report', ':'],
    ['is cut off', 'printf "{\\"results\\": [" > "$report"'],
    ["writes another scanner's report", `echo '${EMPTY.grype}' > "$report"`],
  ])('%s', async (_, body) => {
    await fake(bin, 'semgrep', body);
    expect(await run('semgrep')).toMatchObject({ status: 'failed', code: 'report_invalid' });
  });

  test('begins its report with a byte order mark: that is none of it', async () => {
    await fake(bin, 'gitleaks', `printf '\\357\\273\\277[]' > "$report"`);
    expect(await run('gitleaks')).toMatchObject({ status: 'completed', report: [] });
  });

  test('hangs: it and what it forked are killed at the deadline', async () => {
    const pids = join(root, 'hang.pids');
    await fake(bin, 'trivy', `trap "" TERM; sleep 600 & echo $$ $! > ${pids}; wait; sleep 600`);
    const started = performance.now();
    const result = await run('trivy', { seconds: 1 });
    expect(result).toMatchObject({ status: 'failed', code: 'scanner_timeout' });
    expect(performance.now() - started).toBeLessThan(8000);
    for (const pid of (await readFile(pids, 'utf8')).trim().split(' ')) await gone(Number(pid));
  });

  test('is cancelled', async () => {
    await fake(bin, 'grype', 'sleep 600');
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 500);
    expect(await run('grype', { signal: controller.signal })).toMatchObject({
      status: 'failed',
      code: 'cancelled',
    });
  });

  test('ends and leaves a child behind: the child goes too', async () => {
    const pids = join(root, 'left.pids');
    await fake(bin, 'grype', `sleep 600 & echo $! > ${pids}; echo '${EMPTY.grype}' > "$report"`);
    expect(await run('grype')).toMatchObject({ status: 'completed', report: { matches: [] } });
    await gone(Number(await readFile(pids, 'utf8')));
  });

  test('floods its standard error: the end of it is told, without colours and tokens', async () => {
    const token = `tok${randomBytes(16).toString('hex')}`;
    await fake(
      bin,
      'grype',
      `yes 'noise noise noise' | head -c 9000000 >&2; printf '\\033[31mlast words ${token} https://ann:pw@host/x' >&2; exit 1`,
    );
    const result = await run('grype');
    expect(result).toMatchObject({
      code: 'scanner_failed',
      message: expect.stringContaining('last words REDACTED https://host/x'),
    });
    expect(JSON.stringify(result).length).toBeLessThan(1000);
  });

  test('writes a report that is too large', async () => {
    await fake(bin, 'grype', 'head -c 110000000 /dev/zero > "$report"; sleep 600');
    expect(await run('grype')).toMatchObject({
      code: 'report_invalid',
      message: expect.stringContaining('100 MB'),
    });
  });

  test('gitleaks: git failed below it, though it exits 0 with an empty report', async () => {
    await fake(bin, 'gitleaks', `echo '2:39AM ERR [git] fatal: bad object HEAD' >&2; echo '[]' > "$report"`);
    expect(await run('gitleaks')).toMatchObject({
      code: 'scanner_failed',
      message: expect.stringContaining('bad object'),
    });
  });

  test('trivy and grype without a database say what to do', async () => {
    await fake(
      bin,
      'trivy',
      'echo "FATAL init error: DB error: --skip-db-update cannot be specified on the first run" >&2; exit 1',
    );
    expect(await run('trivy')).toMatchObject({
      code: 'scanner_failed',
      message: expect.stringContaining('TRIVY_CACHE_DIR'),
    });
    await fake(
      bin,
      'grype',
      'echo "ERROR failed to load vulnerability db: database does not exist" >&2; exit 1',
    );
    expect(await run('grype')).toMatchObject({
      code: 'scanner_failed',
      message: expect.stringContaining('GRYPE_DB_CACHE_DIR'),
    });
  });
});

describe('what a scanner gets to see', () => {
  test('its own settings and no credentials of ours', async () => {
    const seen = join(root, 'seen.env');
    await fake(bin, 'trivy', `env > ${seen}; echo '${EMPTY.trivy}' > "$report"`);
    Object.assign(env, {
      AWS_SECRET_ACCESS_KEY: 'x',
      RUN_CLAIM: 'x',
      GIT_DIR: '/x',
      TRIVY_CACHE_DIR: '/cache',
      HTTPS_PROXY: 'p',
    });
    expect(await run('trivy')).toMatchObject({ status: 'completed' });
    const names = (await readFile(seen, 'utf8')).split('\n').map((line) => line.split('=')[0]);
    expect(names).toEqual(
      expect.arrayContaining(['PATH', 'HOME', 'TRIVY_CACHE_DIR', 'HTTPS_PROXY', 'GIT_CONFIG_GLOBAL']),
    );
    for (const name of ['AWS_SECRET_ACCESS_KEY', 'RUN_CLAIM', 'GIT_DIR', 'ASPM_SCANNERS_DIR'])
      expect(names).not.toContain(name);
  });
});
