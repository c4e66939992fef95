import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { assets } from '#contract/operations/assets.ts';
import { imports } from '#contract/operations/imports.ts';
import { projects } from '#contract/operations/projects.ts';
import { scans } from '#contract/operations/scans.ts';
import { toOpaque } from '#domain/ids.ts';
import { openGateway } from '#infra/local/gateway.ts';
import { PROJECT_ROOT } from '#infra/project.ts';
import { createClient } from '#shared/client/client.ts';
import { attack } from '#test/harness/attack.ts';
import { largeSarif } from '#test/harness/sarif.ts';

const parent = await mkdtemp(join(tmpdir(), 'aspm-deaths-'));
afterAll(() => rm(parent, { recursive: true, force: true }));

/** The service as `npm start` starts it, and what it says, line by line. */
class Service {
  readonly child: ChildProcess;
  readonly said: string[] = [];
  readonly #dataDir: string;
  #heard = Promise.withResolvers<void>();

  constructor(name: string, env: Record<string, string> = {}) {
    this.#dataDir = `${parent}/${name}`;
    this.child = spawn(process.execPath, ['infra/local/main.ts'], {
      cwd: PROJECT_ROOT,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        PORT: '0',
        ASPM_DATA_DIR: this.#dataDir,
        ASPM_RATE_LIMIT_FACTOR: '1000',
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void this.child.kill('SIGKILL'));
    for (const stream of [this.child.stdout, this.child.stderr])
      if (stream)
        createInterface({ input: stream }).on('line', (line) => {
          this.said.push(line);
          this.#heard.resolve();
          this.#heard = Promise.withResolvers();
        });
  }

  /** The nth line that begins so. */
  async says(start: string, nth = 1): Promise<string> {
    for (;;) {
      const line = this.said.filter((one) => one.startsWith(start))[nth - 1];
      if (line !== undefined) return line;
      await this.#heard.promise;
    }
  }

  async url(nth = 1): Promise<string> {
    return (await this.says('ready ', nth)).slice('ready '.length);
  }

  file(name: string): string {
    return readFileSync(`${this.#dataDir}/${name}`, 'utf8');
  }

  client(url: string) {
    return createClient({ url, credential: JSON.parse(this.file('credentials.json')).api_key });
  }

  /** Processes that it started itself, by their commands. */
  async parts(of = this.child.pid): Promise<Map<string, number>> {
    const children = await readFile(`/proc/${of}/task/${of}/children`, 'utf8');
    const parts = children.trim().split(' ').filter(Boolean).map(Number);
    return new Map(parts.map((pid) => [readFileSync(`/proc/${pid}/cmdline`, 'utf8'), pid]));
  }

  async service(): Promise<number> {
    const [[, pid] = []] = await this.parts();
    if (pid === undefined) throw new Error('There is no service');
    return pid;
  }

  async end(): Promise<number | null> {
    this.child.kill('SIGTERM');
    const [code] = await once(this.child, 'exit');
    return code;
  }
}

const onLinux = process.platform === 'linux' ? it : it.skip;

describe('the embedded service', () => {
  onLinux(
    'is started again where it dies, at the same address and with its data, and says so',
    async () => {
      const service = new Service('killed');
      const url = await service.url();
      await service.client(url).call(projects.operations.createProject, { body: { name: 'kept' } });
      process.kill(await service.service(), 'SIGKILL');
      expect(await service.says('The service died')).toContain('SIGKILL');
      expect(await service.url(2)).toBe(url);
      const { data } = await service.client(url).call(projects.operations.listProjects, { query: {} });
      expect(data.map(({ name }) => name)).toEqual(['kept']);
      expect(service.file('service.log')).toContain('the service died, and was started again');
      expect(await service.end()).toBe(0);
      await expect(fetch(`${url}/api/health`)).rejects.toThrow();
    },
    120_000,
  );

  onLinux(
    'gives up where it dies again and again',
    async () => {
      const service = new Service('hopeless');
      // Asked for first: with its last word it is gone.
      const exit = once(service.child, 'exit');
      for (let death = 1; death <= 5; death += 1) {
        await service.url(death);
        process.kill(await service.service(), 'SIGKILL');
        await service.says('The service died', death);
      }
      expect(await exit).toEqual([1, null]);
      expect(await service.says('It died 5 times')).toContain('is not started again');
    },
    240_000,
  );

  onLinux(
    'starts its store again, with its data, and says so',
    async () => {
      const service = new Service('store');
      const url = await service.url();
      const client = service.client(url);
      await client.call(projects.operations.createProject, { body: { name: 'kept' } });
      const pid = await service.service();
      const [[, store] = []] = await service.parts(pid);
      process.kill(store ?? 0, 'SIGKILL');
      expect(await service.says('DynamoDB ended')).toBe(
        'DynamoDB ended (SIGKILL); it was started again, with its data',
      );
      const { data } = await client.call(projects.operations.listProjects, { query: {} });
      expect(data.map(({ name }) => name)).toEqual(['kept']);
      expect(await service.service()).toBe(pid);
      expect(service.file('service.log')).toContain('it was started again');
      expect(await service.end()).toBe(0);
    },
    120_000,
  );

  onLinux(
    'says that what was in memory is lost',
    async () => {
      const service = new Service('memory', { ASPM_IN_MEMORY: '1' });
      const url = await service.url();
      const [[, store] = []] = await service.parts(await service.service());
      process.kill(store ?? 0, 'SIGKILL');
      await service.says(
        "The service can't go on: DynamoDB ended (SIGKILL); its data were in memory and are lost",
      );
      await service.says('Its data were in memory');
      expect(await service.url(2)).toBe(url);
      expect(await service.end()).toBe(0);
    },
    120_000,
  );

  attack(
    'hostile reports',
    'got through',
    'an upload that arrived before the service was killed is forgotten',
    async () => {
      const first = new Service('upload');
      const url = await first.url();
      const client = first.client(url);
      const { org_id } = JSON.parse(first.file('credentials.json'));
      const body = { name: 'app', url: 'https://git.example.com/team/app.git' };
      const { id } = await client.call(assets.operations.addRepository, { params: { org_id }, body });
      const report = new Uint8Array(gzipSync(JSON.stringify(largeSarif(3000))));
      const { upload, scan } = await client.call(imports.operations.createImportUrl, {
        params: { asset_id: toOpaque('asset', id) },
        body: { bytes: report.length },
      });
      const put = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: report });
      expect(put.status).toBe(200);
      first.child.kill('SIGKILL');
      await once(first.child, 'exit');

      const second = new Service('upload');
      const again = second.client(await second.url());
      const status = async () =>
        (await again.call(scans.operations.getScan, { params: { scan_id: scan.id } })).status;
      await expect.poll(status, { timeout: 120_000, interval: 500 }).toBe('completed');
      expect(await second.end()).toBe(0);
    },
    240_000,
  );
});

attack('oversized input', 'held', 'a request that never ends is ended', async () => {
  const gateway = await openGateway(0, {
    integrationMs: 1000,
    patience: { headersMs: 200, requestMs: 400, checkMs: 100 },
  });
  onTestFinished(() => gateway.close());
  gateway.serve([], { invoke: async () => ({}) });
  const port = Number(new URL(gateway.url).port);
  for (const beginning of [
    'POST /api/projects HTTP/1.1\r\nHost: x\r\n',
    'POST /api/projects HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n{"na',
    'POST /api/projects HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"na',
  ]) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(beginning);
    socket.resume();
    await once(socket, 'close');
  }
});
