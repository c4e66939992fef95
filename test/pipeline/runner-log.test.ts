import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assets } from '#contract/operations/assets.ts';
import { auth } from '#contract/operations/auth.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { SCANNERS } from '#domain/vocabulary.ts';
import type { EmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { prepareRunnerImage } from '#infra/pipeline/runner-image.ts';
import { PROJECT_ROOT } from '#infra/project.ts';
import { createClient } from '#shared/client/client.ts';
import { request } from '#test/harness/http.ts';
import { startHttpServer } from '#test/harness/http-server.ts';
import { requireScanner } from '#test/harness/scanner-databases.ts';
import { startTestCloud } from '#test/harness/test-cloud.ts';
import {
  createVulnerableRepository,
  type VulnerableRepository,
} from '#test/harness/vulnerable-repository.ts';

const PASSWORD = 'a password for this test';
const UUID = '0199c0de-5eed-7000-a000-0000000000aa';

let folder: string;
let repository: VulnerableRepository;
let cloud: EmbeddedCloud;
let accessToken: string;
let orgId: string;

beforeAll(async () => {
  for (const scanner of SCANNERS) await requireScanner(scanner);
  folder = await mkdtemp(join(tmpdir(), 'aspm-runner-log-'));
  repository = await createVulnerableRepository({ currentSecret: true });
  cloud = await startTestCloud({
    port: 0,
    inMemory: true,
    adminPassword: PASSWORD,
    env: { ASPM_RATE_LIMIT_FACTOR: '1000' },
    // The runner itself; what the log of its container would get is in a file of the test's own.
    runner: [
      '/bin/sh',
      '-c',
      `exec '${process.execPath}' functions/scanner-runner/main.ts >>'${folder}/log' 2>&1`,
    ],
  });
  const session = await createClient({ url: cloud.url }).call(auth.operations.login, {
    body: { email: cloud.admin.email, password: PASSWORD },
  });
  accessToken = session.access_token;
  const client = createClient({ url: cloud.url, credential: accessToken, strict: true });
  orgId = (await client.call(auth.operations.getCurrentUser)).org_id ?? '';
});
afterAll(async () => {
  await cloud?.stop();
  await repository?.remove();
  await rm(folder, { recursive: true, force: true });
});

type Line = Record<string, unknown>;
/** Fails where anything but an object a line was written. */
const linesOf = (log: string): Line[] =>
  log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

/** Scans the repository with every scanner; answers the request's id and what became of the scan. */
async function scanToEnd() {
  const client = createClient({ url: cloud.url, credential: accessToken, strict: true });
  const asset = await client.call(assets.operations.addRepository, {
    params: { org_id: orgId },
    body: { name: 'repository', url: pathToFileURL(repository.path).href },
  });
  const call = { url: cloud.url, key: accessToken };
  const body = { scope: 'asset', target_id: toOpaque('asset', asset.id), scanners: [...SCANNERS] };
  const queued = await request('POST', '/api/scans', { ...call, body });
  const read = async () => (await request('GET', `/api/scans/${queued.body.id}`, call)).body;
  while ((await read()).finished_at === null) await sleep(100);
  return { requestId: queued.headers.get('x-request-id') ?? '', scan: await read() };
}

describe('the log of a run that went well', () => {
  let log: string;
  let lines: Line[];
  let ended: Awaited<ReturnType<typeof scanToEnd>>;
  beforeAll(async () => {
    ended = await scanToEnd();
    const read = () => readFile(join(folder, 'log'), 'utf8');
    // The last line is written once the service knows everything already.
    while (!(await read()).includes('"run ended"')) await sleep(50);
    log = await read();
    lines = linesOf(log);
  });

  it('has a line for each step, with its time, and with the ids of request and run', () => {
    expect(ended.scan).toMatchObject({ status: 'completed' });
    expect(lines.map(({ message, scanner = '' }) => `${message} ${scanner}`.trim()).sort()).toEqual(
      [
        'run began',
        'repository cloned',
        ...SCANNERS.map((scanner) => `report handed over ${scanner}`),
        'run ended',
      ].sort(),
    );
    const ids = {
      org_id: orgId,
      scan_id: fromOpaque('scan', String(ended.scan.id)),
      run_id: expect.any(String),
      request_id: ended.requestId,
    };
    for (const line of lines) {
      expect(line).toMatchObject({ level: 'INFO', ...ids });
      if (line.message !== 'run began') expect(line.duration_ms).toEqual(expect.any(Number));
    }
  });

  it('is small: nothing of what scanners say of their work', () => {
    // Measured: 2.0 KB for four scanners.
    expect(Buffer.byteLength(log)).toBeGreaterThan(0);
    expect(Buffer.byteLength(log)).toBeLessThan(2560);
  });

  it('holds nothing of the repository, and nothing with which somebody could do something', () => {
    const known =
      /^(?:level|message|org_id|scan_id|run_id|request_id|scanners|scanner|findings|bytes|duration_ms|stopped)$/;
    expect(lines.flatMap((line) => Object.keys(line)).filter((name) => !known.test(name))).toEqual([]);
    const { secret, currentSecret, path, head } = repository;
    const found = lines.map(({ findings }) => Number(findings ?? 0));
    // There was something to tell.
    expect(Math.max(...found)).toBeGreaterThan(0);
    for (const text of [
      secret,
      currentSecret ?? '',
      path,
      head,
      'file:',
      'app/main.py',
      '.env',
      cloud.url,
      folder,
    ])
      expect(log).not.toContain(text);
    for (const text of ['X-Amz-', 'claim', 'token', 'fingerprint']) expect(log).not.toContain(text);
  });
});

describe('the log of a run that failed', () => {
  /** The runner alone, with a claim that the service never gave. */
  async function run(apiUrl: string, program = 'functions/scanner-runner/main.ts') {
    const claim = 'a-claim-that-opens-nothing-at-all';
    const child = spawn(process.execPath, [program], {
      cwd: PROJECT_ROOT,
      env: { PATH: process.env.PATH, ORG_ID: orgId, RUN_ID: UUID, RUN_CLAIM: claim, RUNNER_API_URL: apiUrl },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [said, complained, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    expect(code).toBe(1);
    expect(said + complained).not.toContain(claim);
    return linesOf(said + complained);
  }
  const line = { level: 'ERROR', message: 'run failed', org_id: expect.any(String), run_id: UUID };

  it('says what the service answered, and where it was asked', async () => {
    expect(await run(cloud.url)).toEqual([
      {
        ...line,
        error: expect.stringMatching(/^Refused: The service answered 4\d\d$/),
        where: expect.stringContaining('functions/scanner-runner/gate-client.ts'),
      },
    ]);
  });

  it('names the functions, where the runner is the one file of its image', async () => {
    await prepareRunnerImage(join(folder, 'image'));
    expect(await run(cloud.url, join(folder, 'image/app/main.mjs'))).toEqual([
      {
        ...line,
        error: expect.stringMatching(/^Refused: The service answered 4\d\d$/),
        where: expect.stringMatching(/^withRetries < post < Object\.claim$/),
      },
    ]);
  });

  it('names a fault of the network by its code, and no address', async () => {
    const { port, ...server } = await startHttpServer(() => {});
    await server[Symbol.asyncDispose]();
    expect(await run(`http://127.0.0.1:${port}`)).toEqual([
      {
        ...line,
        error: 'TypeError',
        code: 'ECONNREFUSED',
      },
    ]);
  });
});
