import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { assets } from '#contract/operations/assets.ts';
import { exports_ } from '#contract/operations/exports.ts';
import { findings } from '#contract/operations/findings.ts';
import { imports } from '#contract/operations/imports.ts';
import { scans } from '#contract/operations/scans.ts';
import { toOpaque } from '#domain/ids.ts';
import { PROJECT_ROOT } from '#infra/project.ts';
import { createClient } from '#shared/client/client.ts';
import { largeSarif } from '#test/harness/sarif.ts';

const parent = await mkdtemp(join(tmpdir(), 'aspm-restart-'));
const dataDir = `${parent}/data`;
afterAll(() => rm(parent, { recursive: true, force: true }));

interface Started {
  readonly child: ChildProcess;
  readonly url: string;
  readonly lines: readonly string[];
}

/** Starts the program as `npm start` does, and waits for its line. */
async function start(env: Record<string, string> = {}): Promise<Started> {
  const child = spawn(process.execPath, ['infra/local/main.ts'], {
    cwd: PROJECT_ROOT,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0', ASPM_DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    const [, url] = /^ready (http:\/\/127\.0\.0\.1:\d+)$/.exec(line) ?? [];
    if (url !== undefined) return { child, url, lines };
  }
  throw new Error(`The service did not start: ${lines.join('\n')}`);
}

async function end({ child }: Started, signal: NodeJS.Signals): Promise<number | null> {
  child.kill(signal);
  const [code] = await once(child, 'exit');
  return code;
}

const readJson = (name: string) => JSON.parse(readFileSync(`${dataDir}/${name}`, 'utf8'));
const projects = (url: string, init: RequestInit = {}) =>
  fetch(`${url}/api/projects`, {
    ...init,
    headers: { 'x-api-key': readJson('credentials.json').api_key, 'content-type': 'application/json' },
  });
const names = async (url: string) =>
  ((await (await projects(url)).json()) as { data: { name: string }[] }).data.map(({ name }) => name);

describe('npm start', () => {
  it('keeps its data from one start to the next, also where it was killed', async () => {
    const first = await start();
    const [, password] = first.lines.join('\n').match(/^admin admin@example\.com, password (\w{24}) /m) ?? [];
    expect(password).toBeDefined();
    expect(await (await fetch(`${first.url}/api/health`)).json()).toMatchObject({ status: 'ok' });
    expect(readJson('service.json')).toMatchObject({ url: first.url, pid: first.child.pid });
    expect((await projects(first.url, { method: 'POST', body: '{"name":"kept"}' })).status).toBe(201);
    for (const name of ['credentials.json', 'secrets.json', 'service.json', 'dynamodb.sqlite'])
      expect([name, (statSync(`${dataDir}/${name}`).mode & 0o077).toString(8)]).toEqual([name, '0']);
    const login = { email: 'admin@example.com', password };
    const signedIn = await fetch(`${first.url}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(login),
    });
    expect(signedIn.status).toBe(200);

    expect(await end(first, 'SIGTERM')).toBe(0);
    expect(existsSync(`${dataDir}/service.json`)).toBe(false);

    const second = await start();
    expect(await names(second.url)).toEqual(['kept']);
    // Nothing was made anew: no other password, no other key.
    expect(second.lines.filter((line) => line.startsWith('admin '))).toEqual([]);
    expect((await projects(second.url, { method: 'POST', body: '{"name":"also kept"}' })).status).toBe(201);
    await end(second, 'SIGKILL');

    const third = await start();
    expect(await names(third.url)).toEqual(['also kept', 'kept']);
    expect(await end(third, 'SIGINT')).toBe(0);
  }, 90_000);

  it('takes in a report, and writes exports, that were accepted before it was killed', async () => {
    // It asks often until all is there.
    const unlimited = { ASPM_RATE_LIMIT_FACTOR: '1000' };
    const first = await start(unlimited);
    const { api_key: credential, org_id } = readJson('credentials.json');
    const repository = await createClient({ url: first.url, credential }).call(
      assets.operations.addRepository,
      { params: { org_id }, body: { name: 'app', url: 'https://git.example.com/team/app.git' } },
    );
    const accepted = await createClient({ url: first.url, credential }).call(
      imports.operations.importFindings,
      {
        params: { asset_id: toOpaque('asset', repository.id) },
        upload: new Uint8Array(gzipSync(JSON.stringify(largeSarif(2000)))),
        query: { scanner: 'semgrep' },
        headers: { 'content-type': 'application/gzip' },
      },
    );
    expect(accepted.status).toBe('running');
    // More than are written at once: some have not begun.
    const asked = await Promise.all(
      Array.from({ length: 20 }, () =>
        createClient({ url: first.url, credential }).call(exports_.operations.exportFindings, {
          body: { format: 'csv' },
        }),
      ),
    );
    await end(first, 'SIGKILL');

    const second = await start(unlimited);
    const client = createClient({ url: second.url, credential });
    const exported = () =>
      Promise.all(
        asked.map(async ({ id }) => {
          const params = { export_id: id };
          return (await client.call(exports_.operations.getFindingExport, { params })).status;
        }),
      );
    expect(new Set(await exported())).not.toEqual(new Set(['completed']));
    const scan = () => client.call(scans.operations.getScan, { params: { scan_id: accepted.id } });
    await expect
      .poll(async () => (await scan()).status, { timeout: 180_000, interval: 500 })
      .not.toBe('running');
    expect(await scan()).toMatchObject({ status: 'completed' });
    const { pagination } = await client.call(findings.operations.listFindings, { query: {} });
    expect(pagination.total).toBe(2000);
    await expect.poll(exported, { timeout: 180_000, interval: 2000 }).toEqual(asked.map(() => 'completed'));
    expect(await end(second, 'SIGTERM')).toBe(0);
  }, 400_000);

  it('does not start twice on the same data', async () => {
    const first = await start();
    const again = spawn(process.execPath, ['infra/local/main.ts'], {
      cwd: PROJECT_ROOT,
      env: { PATH: process.env.PATH, PORT: '0', ASPM_DATA_DIR: dataDir },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let complaint = '';
    again.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint += text;
    });
    const [code] = await once(again, 'close');
    expect(code).toBe(1);
    expect(complaint).toContain(`The service runs already: ${first.url}`);
    await end(first, 'SIGTERM');
  }, 60_000);

  it('refuses a first password that nobody may choose', async () => {
    const refused = spawn(process.execPath, ['infra/local/main.ts'], {
      cwd: PROJECT_ROOT,
      env: {
        PATH: process.env.PATH,
        PORT: '0',
        ASPM_IN_MEMORY: '1',
        ASPM_DATA_DIR: `${parent}/refused`,
        ASPM_ADMIN_PASSWORD: 'too short',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let complaint = '';
    refused.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint += text;
    });
    const [code] = await once(refused, 'close');
    expect(code).toBe(1);
    expect(complaint).toContain('ASPM_ADMIN_PASSWORD must have at least 15 characters');
    expect(complaint).not.toContain('too short');
  }, 60_000);

  it('leaves nothing behind where it keeps nothing', async () => {
    const started = await start({
      ASPM_IN_MEMORY: '1',
      ASPM_DATA_DIR: `${parent}/memory`,
      ASPM_ADMIN_PASSWORD: 'a long enough one',
    });
    expect(existsSync(`${parent}/memory/dynamodb.sqlite`)).toBe(false);
    expect(existsSync(`${parent}/memory/secrets.json`)).toBe(false);
    // A password that was given is not shown.
    expect(started.lines.join('\n')).not.toContain('a long enough one');
    await end(started, 'SIGTERM');
  }, 60_000);
});
