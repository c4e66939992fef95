import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SCANNERS } from '#domain/vocabulary.ts';
import { locateScanner } from '#functions/scanner-runner/locate.ts';
import { SCANNER_RELEASES } from '#functions/scanner-runner/versions.ts';
import type { EnsureProgress } from '#infra/cli/scanners/ensure.ts';
import { ensureScanners } from '#infra/cli/scanners/ensure.ts';
import { lockFolder } from '#infra/cli/scanners/lock.ts';

const CLI = fileURLToPath(new URL('../../infra/cli/scanners.ts', import.meta.url));

let root: string;
let bin: string;
let cache: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'install-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));
beforeEach(async () => {
  bin = await mkdtemp(join(root, 'bin-'));
  cache = join(await mkdtemp(join(root, 'cache-')), 'scanners');
  env = { PATH: bin, HOME: root, ASPM_SCANNERS_DIR: cache };
});

/** A registry's client on PATH that does what the script says; the shell's own tools are by full path. */
async function client(name: string, body: string): Promise<void> {
  await writeFile(join(bin, name), `#!/bin/sh\nPATH=/usr/bin:/bin\n${body}\n`);
  await chmod(join(bin, name), 0o755);
}

const GO_INSTALLS =
  'echo "$@" >> "$HOME/go.log"; printf "#!/bin/sh\\necho 8.30.1\\n" > "$GOBIN/gitleaks"; chmod +x "$GOBIN/gitleaks"';

describe('installing', () => {
  test('by Go, once, with the version linked in; the second time it is there', async () => {
    await client('go', GO_INSTALLS);
    const events: EnsureProgress[] = [];
    const [first] = await ensureScanners(['gitleaks'], { env, onProgress: (event) => events.push(event) });
    expect(first).toEqual({
      scanner: 'gitleaks',
      status: 'installed',
      path: join(cache, 'gitleaks-8.30.1/bin/gitleaks'),
      version: '8.30.1',
    });
    expect(events.map(({ type }) => type)).toEqual(['installing', 'done']);
    expect(await readFile(join(root, 'go.log'), 'utf8')).toContain(
      '-X github.com/zricethezav/gitleaks/v8/version.Version=8.30.1',
    );
    expect(await ensureScanners(['gitleaks'], { env })).toMatchObject([{ status: 'present' }]);
    expect(await readdir(cache)).toEqual(['gitleaks-8.30.1']);
  });

  test('by pip: the programs name the final folder', async () => {
    // `python3 -m venv --clear FOLDER` makes an environment whose python "installs" semgrep.
    await client(
      'python3',
      `case "$2" in venv) mkdir -p "$4/bin"; cp "$0" "$4/bin/python3";;
pip) here="$(dirname "$0")"; printf "#!$here/python3\\n" > "$here/semgrep"; chmod +x "$here/semgrep"; touch "$here/../pyvenv.cfg";; esac`,
    );
    const [outcome] = await ensureScanners(['semgrep'], { env });
    expect(outcome).toMatchObject({ status: 'installed', version: SCANNER_RELEASES.semgrep.version });
    const folder = join(cache, `semgrep-${SCANNER_RELEASES.semgrep.version}`);
    expect(await readFile(join(folder, 'bin/semgrep'), 'utf8')).toBe(`#!${folder}/bin/python3\n`);
  });

  test('what is on PATH in a fitting version is used as it is', async () => {
    await client('grype', 'echo "Version: 0.111.0"');
    expect(await ensureScanners(['grype'], { env })).toEqual([
      { scanner: 'grype', status: 'on_path', path: join(bin, 'grype'), version: '0.111.0' },
    ]);
  });

  test('what a killed run left is cleared away, its lock too', async () => {
    await client('go', GO_INSTALLS);
    await mkdir(join(cache, '.partial-trivy/bin'), { recursive: true });
    await writeFile(join(cache, '.lock'), `${hostname()} 999999999`);
    expect(await ensureScanners(['gitleaks'], { env })).toMatchObject([{ status: 'installed' }]);
    expect(await readdir(cache)).toEqual(['gitleaks-8.30.1']);
  });

  test('two runs at once install once', async () => {
    await rm(join(root, 'go.log'), { force: true });
    await client('go', `sleep 0.5; ${GO_INSTALLS}`);
    const outcomes = await Promise.all([
      ensureScanners(['gitleaks'], { env }),
      ensureScanners(['gitleaks'], { env }),
    ]);
    expect(
      outcomes
        .flat()
        .map(({ status }) => status)
        .sort(),
    ).toEqual(['installed', 'present']);
    expect((await readFile(join(root, 'go.log'), 'utf8')).trim().split('\n')).toHaveLength(1);
  });
});

describe('what can not be installed', () => {
  test('each says why and what to do, and none keeps the next from being installed', async () => {
    await client(
      'python3',
      'echo "ERROR: Could not find: [Errno -3] Temporary failure in name resolution" >&2; exit 1',
    );
    const outcomes = await ensureScanners(['semgrep', 'gitleaks'], { env });
    expect(outcomes).toEqual([
      {
        scanner: 'semgrep',
        status: 'failed',
        reason: 'the Python package index could not be reached',
        advice: expect.stringContaining('PIP_INDEX_URL'),
      },
      {
        scanner: 'gitleaks',
        status: 'failed',
        reason: 'Go was not found',
        advice: expect.stringContaining('Install Go'),
      },
    ]);
    expect(await readdir(cache), 'nothing half is left').toEqual([]);
  });

  test.each([
    ['no python3', '', 'python3 was not found'],
    ['no venv', 'echo "ModuleNotFoundError: No module named \'ensurepip\'" >&2; exit 1', 'no venv'],
  ])('semgrep: %s', async (_, script, reason) => {
    if (script !== '') await client('python3', script);
    expect(await ensureScanners(['semgrep'], { env })).toMatchObject([
      { status: 'failed', reason: expect.stringContaining(reason) },
    ]);
  });

  test.each([
    ['dial tcp: lookup proxy: no such host', 'proxy could not be reached'],
    ['module requires go >= 1.26.1 (running go 1.20; GOTOOLCHAIN=local)', 'needs Go 1.26.1 or newer'],
    ['write /tmp/x: no space left on device', 'the disk is full'],
    ['something else at https://me:pw@proxy/x', 'something else at https://proxy/x'],
  ])('gitleaks: %s', async (said, reason) => {
    await client('go', `echo '${said}' >&2; exit 1`);
    expect(await ensureScanners(['gitleaks'], { env })).toMatchObject([
      { status: 'failed', reason: expect.stringContaining(reason) },
    ]);
  });

  test('a cache folder that can not be written', async () => {
    await writeFile(join(root, 'file'), '');
    const outcomes = await ensureScanners(['gitleaks'], {
      env: { ...env, ASPM_SCANNERS_DIR: join(root, 'file', 'x') },
    });
    expect(outcomes).toMatchObject([
      { status: 'failed', advice: expect.stringContaining('ASPM_SCANNERS_DIR') },
    ]);
  });
});

describe('the lock', () => {
  test('of a live process is waited for; of one that has long not moved it is taken over', async () => {
    const folder = await mkdtemp(join(root, 'lock-'));
    await writeFile(join(folder, '.lock'), `another-machine ${process.pid}`);
    await expect(lockFolder(folder, { signal: AbortSignal.timeout(300) })).rejects.toThrow();
    await utimes(join(folder, '.lock'), new Date(0), new Date(0));
    await (await lockFolder(folder))[Symbol.asyncDispose]();
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('the command', () => {
  function run(...args: string[]) {
    const child = spawn(process.execPath, [CLI, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const ended = new Promise<{ code: number | null; output: string }>((resolve) => {
      child.on('close', (code) => resolve({ code, output }));
    });
    return { child, ended };
  }

  test('exits 0 where all that was asked for is there, else 1, and says which', async () => {
    await client('go', GO_INSTALLS);
    const good = await run('gitleaks').ended;
    expect(good).toMatchObject({ code: 0, output: expect.stringContaining('✓ gitleaks 8.30.1 installed') });
    const half = await run('--quick').ended;
    expect(half).toMatchObject({
      code: 1,
      output: expect.stringContaining('✗ semgrep could not be installed: python3 was not found'),
    });
    expect(half.output).toContain('✓ gitleaks 8.30.1 was installed before');
  });

  test('exits 2 for what it does not know', async () => {
    expect(await run('nmap').ended).toMatchObject({
      code: 2,
      output: expect.stringContaining('"nmap" is no scanner'),
    });
  });

  test('interrupted, it leaves nothing half and no process behind', async () => {
    await client('go', 'echo $$ > "$HOME/go.pid"; exec sleep 600');
    const { child, ended } = run('gitleaks');
    const pid = await new Promise<number>((resolve) => {
      const poll = setInterval(async () => {
        const text = await readFile(join(root, 'go.pid'), 'utf8').catch(() => '');
        if (text.trim() === '') return;
        clearInterval(poll);
        resolve(Number(text));
      }, 50);
    });
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
    expect(await readdir(cache)).toEqual([]);
    expect(() => process.kill(pid, 0)).toThrow();
  });
});

describe('the pinned releases', () => {
  test('are the same in the container image', async () => {
    const dockerfile = await readFile(
      new URL('../../functions/scanner-runner/Dockerfile', import.meta.url),
      'utf8',
    );
    for (const scanner of SCANNERS) {
      const { version, install } = SCANNER_RELEASES[scanner];
      expect(dockerfile).toContain(`ARG ${scanner.toUpperCase()}_VERSION=${version}\n`);
      const variable = `${scanner.toUpperCase()}_VERSION`;
      const named =
        install.by === 'pip'
          ? [`${install.package}==$${variable}`]
          : [`${install.module} "$${variable}"`, `${install.command} ${install.versionVariable}`];
      for (const part of named) expect(dockerfile).toContain(part);
    }
  });

  test('locating the pinned one in the cache folder runs nothing', async () => {
    const folder = join(cache, `trivy-${SCANNER_RELEASES.trivy.version}`, 'bin');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'trivy'), `#!/bin/sh\ntouch ${join(root, 'was-run')}\n`, { mode: 0o755 });
    expect(await locateScanner('trivy', env)).toMatchObject({
      version: SCANNER_RELEASES.trivy.version,
      from: 'cache',
    });
    expect(await readdir(root)).not.toContain('was-run');
  });
});
