import { lstat, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CloneRequest } from '#functions/scanner-runner/clone.ts';
import { CloneError, cloneRepository } from '#functions/scanner-runner/clone.ts';
import { unreachable } from '#functions/scanner-runner/clone-failure.ts';
import { sourceLines } from '#functions/scanner-runner/source-lines.ts';
import { commitFiles, git } from '#test/harness/vulnerable-repository.ts';

let root: string;
let repository: string;
let first: string;
let last: string;

async function folder(): Promise<string> {
  return mkdtemp(join(root, 'f-'));
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'clone-test-'));
  repository = await folder();
  await git(repository, 'init', '--quiet', '--initial-branch=trunk');
  first = await commitFiles(repository, { 'a.txt': 'one\n', 'old.txt': 'old\n' }, 'first');
  await git(repository, 'rm', '--quiet', 'old.txt');
  last = await commitFiles(repository, { 'a.txt': 'two\n', 'sub/b.txt': 'b\n' }, 'last');
  await git(repository, 'branch', 'other', first);
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function clone(request: Partial<CloneRequest> & { url: string }) {
  const into = await folder();
  return {
    into,
    clone: await cloneRepository({
      into,
      protocols: ['file', 'http', 'https'],
      network: { policy: 'all' },
      ...request,
    }),
  };
}

async function failure(request: Partial<CloneRequest> & { url: string }): Promise<CloneError> {
  const outcome = await clone(request).catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(CloneError);
  expect(outcome).toMatchObject({ code: 'clone_failed' });
  return outcome as CloneError;
}

describe('a repository on this machine', () => {
  test('by path and by file: address, on its current branch', async () => {
    for (const url of [repository, pathToFileURL(repository).href]) {
      const { into, clone: made } = await clone({ url });
      expect(made).toEqual({ commit: last, branch: 'trunk', headBranch: 'trunk', skipped: [] });
      expect((await readdir(into)).sort()).toEqual(['.git', 'a.txt', 'sub']);
      expect(await readFile(join(into, 'a.txt'), 'utf8')).toBe('two\n');
    }
  });

  test('history holds the commits of the branch', async () => {
    const { into } = await clone({ url: repository, history: true });
    expect((await git(into, 'log', '--all', '--format=%H')).split('\n')).toEqual([last, first]);
  });

  test('another branch, and nothing of the first', async () => {
    const { into, clone: made } = await clone({ url: repository, branch: 'other', history: true });
    expect(made).toMatchObject({ commit: first, branch: 'other' });
    expect(await git(into, 'log', '--all', '--format=%H')).toBe(first);
  });

  test('exactly one commit, and none after it', async () => {
    const { into, clone: made } = await clone({
      url: repository,
      branch: 'trunk',
      commit: first,
      history: true,
    });
    expect(made).toMatchObject({ commit: first, branch: 'trunk' });
    expect(await readdir(into)).toContain('old.txt');
    expect(await git(into, 'log', '--all', '--format=%H')).toBe(first);
  });

  test('what is not committed is not scanned', async () => {
    const path = await folder();
    await git(path, 'init', '--quiet');
    await commitFiles(path, { 'a.txt': 'committed\n' }, 'a');
    await writeFile(join(path, 'a.txt'), 'changed\n');
    await writeFile(join(path, 'b.txt'), 'new\n');
    const { into } = await clone({ url: path });
    expect(await readFile(join(into, 'a.txt'), 'utf8')).toBe('committed\n');
    expect(await readdir(into)).not.toContain('b.txt');
  });

  test('the original is left as it was', async () => {
    const before = await git(repository, 'for-each-ref');
    await clone({ url: repository, commit: first });
    expect(await git(repository, 'for-each-ref')).toBe(before);
    expect(await git(repository, 'status', '--porcelain')).toBe('');
  });

  test('hooks and filters of the repository do not run', async () => {
    const path = await folder();
    await git(path, 'init', '--quiet');
    await commitFiles(path, { '.gitattributes': '*.txt filter=evil diff=evil\n', 'a.txt': 'a\n' }, 'a');
    await git(path, 'config', 'filter.evil.smudge', `touch ${join(path, 'ran')}`);
    await writeFile(join(path, '.git/hooks/post-checkout'), `#!/bin/sh\ntouch ${join(path, 'ran')}\n`, {
      mode: 0o755,
    });
    await clone({ url: path });
    expect(await readdir(path)).not.toContain('ran');
  });
});

describe('links out of the checkout', () => {
  test('arrive as plain files, and lines are read from inside alone', async () => {
    const outside = join(root, 'outside.txt');
    await writeFile(outside, 'private\n');
    const path = await folder();
    await git(path, 'init', '--quiet');
    await symlink(outside, join(path, 'link.txt'));
    await symlink(root, join(path, 'folder'));
    await commitFiles(path, { 'a.txt': 'one\ntwo\nthree\n' }, 'links');
    const { into } = await clone({ url: path });
    expect((await lstat(join(into, 'link.txt'))).isFile()).toBe(true);
    expect((await lstat(join(into, 'folder'))).isFile()).toBe(true);
    const lines = sourceLines(into);
    expect(await lines('a.txt', 2, 3)).toEqual(['two', 'three']);
    expect(await lines('link.txt', 1, 1)).toEqual([outside]);
    expect(await lines('a.txt', 9, 9)).toBeNull();
    // Not even a link that appears in the checkout later.
    await symlink(outside, join(into, 'late.txt'));
    for (const way of ['late.txt', '../outside.txt', 'folder/outside.txt', outside, '.', '']) {
      expect(await lines(way, 1, 1), way).toBeNull();
    }
  });
});

describe('limits', () => {
  test('a file over the limit is left out and named', async () => {
    const path = await folder();
    await git(path, 'init', '--quiet');
    await commitFiles(
      path,
      { 'big.bin': 'x'.repeat(20_000), 'odd\nname.txt': 'y'.repeat(11_000), 'a.txt': 'a\n' },
      'big',
    );
    const { into, clone: made } = await clone({ url: path, limits: { fileBytes: 10_000 } });
    expect(made.skipped).toEqual([
      { path: 'big.bin', bytes: 20_000 },
      { path: 'odd\nname.txt', bytes: 11_000 },
    ]);
    expect((await readdir(into)).sort()).toEqual(['.git', 'a.txt']);
  });

  test('too much in all, and too little time', async () => {
    expect((await failure({ url: repository, limits: { totalBytes: 5 } })).message).toContain(
      'larger than the limit',
    );
    expect((await failure({ url: repository, limits: { timeoutMs: 0 } })).message).toContain(
      'could not be cloned within',
    );
  });

  test('a cancelled clone ends', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 300);
    const error = await failure({ url: `http://127.0.0.1:${port}/x.git`, signal: controller.signal });
    expect(error.message).toBe('The clone was cancelled.');
    silent.closeAllConnections();
    await new Promise((resolve) => silent.close(resolve));
  });
});

describe('what can not be cloned', () => {
  test('a path that is none, a file, a folder that is no repository, one without a commit', async () => {
    const empty = await folder();
    await git(empty, 'init', '--quiet');
    const plain = await folder();
    await writeFile(join(plain, 'file'), '');
    expect((await failure({ url: join(plain, 'none') })).message).toMatch(/none does not exist\.$/);
    expect((await failure({ url: join(plain, 'file') })).message).toContain('is a file');
    expect((await failure({ url: plain })).message).toBe(`${plain} is no git repository.`);
    expect((await failure({ url: empty })).message).toContain('has no commit yet');
  });

  test('an unknown branch and an unknown commit', async () => {
    expect((await failure({ url: repository, branch: 'nope' })).message).toBe(
      `The branch does not exist in ${repository}.`,
    );
    expect((await failure({ url: repository, commit: 'f'.repeat(40) })).message).toContain('is not in');
    expect((await failure({ url: repository, commit: '--all' })).message).toContain('is no commit id');
  });

  test('an address that nobody serves, and what is no address', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    expect((await failure({ url: `http://127.0.0.1:${port}/x.git` })).message).toBe(
      unreachable(`http://127.0.0.1:${port}/x.git`),
    );
    for (const url of ['ext::sh -c id', '-u/x', '', 'ftp://127.0.0.1/x', 'https://', 'a\nb']) {
      expect((await failure({ url })).message, url).toContain(
        'neither the address of a repository nor a path',
      );
    }
  });

  test('a protocol that is not allowed', async () => {
    expect((await failure({ url: repository, protocols: ['https'] })).message).toContain(
      "Local paths can't be scanned here",
    );
    expect((await failure({ url: 'http://127.0.0.1/x', protocols: ['https'] })).message).toContain(
      'http addresses',
    );
  });

  test('credentials reach their host alone, and no message', async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const error = await failure({ url: `http://ann:pass%40word@127.0.0.1:${port}/x.git` });
    await new Promise((resolve) => server.close(resolve));
    expect(error.message).toBe(unreachable(`http://127.0.0.1:${port}/x.git`));
    expect(seen).toContain(`Basic ${Buffer.from('ann:pass@word').toString('base64')}`);
  });
});
