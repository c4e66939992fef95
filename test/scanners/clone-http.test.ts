import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cloneRepository } from '#functions/scanner-runner/clone.ts';
import { serveGit } from '#test/harness/git-server.ts';
import { commitFiles, git } from '#test/harness/vulnerable-repository.ts';

const USER = 'ann:pass@word';

let root: string;
let repository: string;
let commits: string[];
let server: Server;
let address: string;

/** Behind a password. */
function serve(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers.authorization === `Basic ${Buffer.from(USER).toString('base64')}`)
    serveGit(root)(request, response);
  else response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'clone-http-'));
  repository = join(root, 'repository');
  await git(root, 'init', '--quiet', '--initial-branch=trunk', repository);
  commits = [
    await commitFiles(repository, { 'a.txt': 'one\n' }, 'one'),
    await commitFiles(repository, { 'a.txt': 'two\n' }, 'two'),
    await commitFiles(repository, { 'a.txt': 'three\n' }, 'three'),
  ];
  server = createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `127.0.0.1:${(server.address() as AddressInfo).port}/repository/.git`;
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rm(root, { recursive: true, force: true });
});

async function clone(more: { history?: boolean; commit?: string } = {}) {
  const into = await mkdtemp(join(root, 'into-'));
  const url = `http://ann:pass%40word@${address}`;
  const made = await cloneRepository({
    url,
    into,
    protocols: ['http'],
    network: { policy: 'all' },
    ...more,
  });
  const log = await git(into, 'log', '--all', '--format=%H');
  return { made, log: log.split('\n'), text: await readFile(join(into, 'a.txt'), 'utf8'), into };
}

describe('over HTTP', () => {
  test('one commit, and no credentials in what is left of it', async () => {
    const { made, log, text, into } = await clone();
    expect(made).toEqual({ commit: commits[2], branch: 'trunk', headBranch: 'trunk', skipped: [] });
    expect(log).toEqual([commits[2]]);
    expect(text).toBe('three\n');
    expect(await readFile(join(into, '.git/config'), 'utf8')).not.toMatch(/pass|ann/);
  });

  test('with the history', async () => {
    expect((await clone({ history: true })).log).toEqual(commits.toReversed());
  });

  test('an older commit, alone and with what led to it', async () => {
    const [first = '', second = ''] = commits;
    const alone = await clone({ commit: second });
    expect(alone).toMatchObject({ made: { commit: second }, text: 'two\n' });
    expect(alone.log).not.toContain(commits[2]);
    expect(await clone({ commit: second, history: true })).toMatchObject({
      text: 'two\n',
      log: [second, first],
    });
  });

  test('credentials given apart from the address', async () => {
    const into = await mkdtemp(join(root, 'into-'));
    const credentials = { username: 'ann', password: 'pass@word' };
    const made = await cloneRepository({
      url: `http://${address}`,
      into,
      protocols: ['http'],
      network: { policy: 'all' },
      credentials,
    });
    expect(made.commit).toBe(commits[2]);
  });
});
