import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readScanArguments } from '#infra/cli/arguments.ts';
import {
  commitFiles,
  createVulnerableRepository,
  git,
  type VulnerableRepository,
} from '#test/harness/vulnerable-repository.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

let folder: string;
let repository: VulnerableRepository;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aspm-cli-'));
  repository = await createVulnerableRepository();
});
afterAll(async () => {
  await command('stop', []);
  await repository?.remove();
  await rm(folder, { recursive: true, force: true });
});

/** A user's environment names no table: that of the service under test must not shine through. */
const { TABLE_NAME: _, ...withoutTable } = process.env;

/** Runs a command of the project as a user would, in a data folder of the test's own. */
async function command(name: 'scan' | 'stop' | 'admin', words: readonly string[]) {
  const child = spawn(process.execPath, [join(PROJECT, `infra/cli/${name}.ts`), ...words], {
    cwd: PROJECT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...withoutTable,
      INIT_CWD: folder,
      ASPM_DATA_DIR: join(folder, 'data'),
      PORT: '0',
      ASPM_RATE_LIMIT_FACTOR: '1000',
      ASPM_DEFAULT_TIER: 'free',
      ASPM_ALLOW_PRIVATE_ADDRESSES: '1',
      NO_COLOR: '1',
    },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr };
}

describe('npm run scan', () => {
  it('starts the service, scans, and shows the findings by severity', async () => {
    const { code, stdout, stderr } = await command('scan', [
      repository.path,
      '--scanners',
      'semgrep,gitleaks',
    ]);
    expect(code).toBe(0);
    expect(stderr).toContain('Starting the embedded service');
    expect(stderr).toMatch(/✓ gitleaks +1 finding/);
    expect(stdout).toMatch(/CRITICAL \(\d+\)/);
    expect(stdout).toContain('app/config.py:1  gitleaks: github-pat');
    expect(stdout).toMatch(/fix: /);
    expect(stdout).toMatch(/API: +http:\/\/127\.0\.0\.1:\d+\/api\/scans\/scan_/);
    expect(stdout).toMatch(/Reference: http:\/\/127\.0\.0\.1:\d+\/docs/);
    expect(stdout).toMatch(/Sign in: +admin admin@example\.com, password \S{24}/);
    expect(stdout + stderr).not.toContain(repository.secret);
    // The password is for the terminal alone.
    const password = /password (\S{24})/.exec(stdout)?.[1] ?? '';
    expect(await readFile(join(folder, 'data/start.log'), 'utf8')).not.toContain(password);
  });

  it('uses the service that runs, and speaks JSON and SARIF', async () => {
    const { code, stdout, stderr } = await command('scan', [
      repository.path,
      '--scanners',
      'gitleaks',
      '--json',
      '--sarif',
      'out.sarif',
      '--fail-on',
      'critical',
    ]);
    expect(code).toBe(1);
    expect(stderr).not.toContain('Starting');
    const result = JSON.parse(stdout) as { scan: { status: string }; findings: { rule_id: string }[] };
    expect(result.scan.status).toBe('completed');
    expect(result.findings.map(({ rule_id }) => rule_id)).toEqual(['github-pat']);
    const sarif = JSON.parse(await readFile(join(folder, 'out.sarif'), 'utf8')) as {
      version: string;
      runs: { results: unknown[] }[];
    };
    expect(sarif.version).toBe('2.1.0');
    expect(sarif.runs[0]?.results).toHaveLength(1);
  });

  it('goes with the operator’s command: a tier counts from the next request on', async () => {
    const before = await command('admin', ['org', 'set-tier', 'default', 'pro']);
    expect([before.code, before.stdout]).toEqual([
      0,
      expect.stringContaining('(default) is pro now; it was free'),
    ]);
    const limit = async () => {
      const { api_key } = JSON.parse(await readFile(join(folder, 'data/credentials.json'), 'utf8')) as {
        api_key: string;
      };
      const { url } = JSON.parse(await readFile(join(folder, 'data/service.json'), 'utf8')) as {
        url: string;
      };
      return (await fetch(`${url}/api/projects`, { headers: { 'x-api-key': api_key } })).headers.get(
        'x-ratelimit-limit',
      );
    };
    expect(await limit()).toBe('300000');
    expect((await command('admin', ['org', 'set-tier', 'nobody', 'pro'])).code).toBe(1);
    expect((await command('admin', ['org', 'set-tier', 'default', 'gold'])).code).toBe(2);
  });

  it('goes with the operator’s command: an organization with its first admin', async () => {
    const made = await command('admin', ['org', 'create', 'acme', 'Admin@acme.example']);
    expect([made.code, made.stdout]).toEqual([0, expect.stringContaining('admin@acme.example')]);
    const password = /password (\S{24})/.exec(made.stdout)?.[1];
    const { url } = JSON.parse(await readFile(join(folder, 'data/service.json'), 'utf8')) as { url: string };
    const login = await fetch(`${url}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'admin@acme.example', password }),
    });
    expect(login.status).toBe(200);
    // Neither slug nor e-mail is there twice.
    expect((await command('admin', ['org', 'create', 'acme', 'other@acme.example'])).code).toBe(1);
    expect((await command('admin', ['org', 'create', 'other', 'admin@acme.example'])).code).toBe(1);
    expect((await command('admin', ['org', 'create', 'Not A Slug', 'x@acme.example'])).code).toBe(2);
    const invited = await command('admin', ['org', 'invite', 'acme', 'admin@example.com']);
    const token = /token: (\S{43})/.exec(invited.stdout)?.[1];
    const accepted = await fetch(`${url}/api/auth/invitations/password`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token, password: 'ladder copper violin meadow' }),
    });
    expect(await accepted.json()).toMatchObject({ accepted: true, role: 'Admin' });
    expect((await command('admin', ['org', 'invite', 'acme', 'nobody@acme.example'])).code).toBe(1);
  });

  it('takes a service that was stopped up again, with its data', async () => {
    expect((await command('stop', [])).stdout).toContain('Stopped');
    const { code, stdout, stderr } = await command('scan', [
      repository.path,
      '--scanners',
      'gitleaks',
      '--fail-on',
      'critical',
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain('Starting the embedded service');
    expect(stdout).toContain('0 new, 0 resolved');
    expect(stdout).not.toContain('Sign in:');
  });

  it('scans what is checked out now, whatever was scanned before, and runs nothing of the repository', async () => {
    const own = await createVulnerableRepository();
    try {
      const marker = join(folder, 'fsmonitor-ran');
      await git(own.path, 'config', 'core.fsmonitor', `touch ${marker}`);
      await git(own.path, 'checkout', '--quiet', '-b', 'feature/one');
      const scan = async () => {
        const { stdout } = await command('scan', [own.path, '--scanners', 'gitleaks', '--json']);
        return (JSON.parse(stdout) as { scan: { commit: string; status: string } }).scan;
      };
      await scan();
      await git(own.path, '-c', 'core.fsmonitor=false', 'checkout', '--quiet', 'main');
      const head = await commitFiles(own.path, { 'more.txt': 'x' }, 'more');
      await git(own.path, 'branch', '-D', 'feature/one');
      await rm(marker, { force: true });
      expect(await scan()).toMatchObject({ status: 'completed', commit: head });
      await expect(readFile(marker)).rejects.toMatchObject({ code: 'ENOENT' });
    } finally {
      await own.remove();
    }
  });

  it.each([
    ['a path that is no repository', () => folder, /clone_failed|git repository/],
    ['a path that is not there', () => join(folder, 'nowhere'), /no folder of this machine/],
    ['a URL that can not be cloned', () => 'http://127.0.0.1:9/x.git', /can't be reached/],
  ])('ends with 2 and says why: %s', async (_, target, message) => {
    const { code, stdout, stderr } = await command('scan', [target(), '--scanners', 'gitleaks']);
    expect(code).toBe(2);
    expect(stdout + stderr).toMatch(message);
  });
});

describe('the command line', () => {
  it.each([
    [[], 'Name one path or URL'],
    [['a', 'b'], 'Name one path or URL'],
    [['.', '--scanners', ''], '--scanners must be of'],
    [['.', '--scanners', 'nmap'], '--scanners must be of'],
    [['.', '--fail-on', 'awful'], '--fail-on must be one of'],
    [['.', '--what'], 'Unknown option'],
  ])('%j is refused', (words, problem) => {
    expect(readScanArguments(words)).toEqual({ problem: expect.stringContaining(problem) });
  });

  it('is read whole', () => {
    expect(
      readScanArguments([
        '../x',
        '--scanners',
        'trivy, grype',
        '--branch',
        'b',
        '--json',
        '--sarif',
        'f',
        '--fail-on',
        'high',
      ]),
    ).toEqual({
      target: '../x',
      scanners: ['trivy', 'grype'],
      branch: 'b',
      json: true,
      sarif: 'f',
      failOn: 'high',
    });
    expect(readScanArguments(['--help'])).toBe('help');
  });
});
