import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface VulnerableRepository {
  readonly path: string;
  /** Was committed once and then removed: in the history alone. Made anew for each repository. */
  readonly secret: string;
  /** In a file of the last commit; null unless it was asked for. */
  readonly currentSecret: string | null;
  readonly head: string;
  remove(): Promise<void>;
}

interface RepositoryOptions {
  /** Where to make it; a temporary folder of its own by default. */
  readonly path?: string;
  readonly currentSecret?: boolean;
}

/**
 * A real git repository with something for each scanner: a secret in its history, vulnerable Python and
 * JavaScript, packages with advisories in the test databases, and a Dockerfile that runs as root.
 */
export async function createVulnerableRepository(
  options: RepositoryOptions = {},
): Promise<VulnerableRepository> {
  const path = options.path ?? (await mkdtemp(join(tmpdir(), 'vulnerable-')));
  const secret = githubToken();
  const currentSecret = options.currentSecret === true ? githubToken() : null;
  await git(path, 'init', '--quiet', '--initial-branch=main');
  await commitFiles(path, { 'app/config.py': `TOKEN = "${secret}"\n` }, 'add the configuration');
  await commitFiles(
    path,
    { 'app/config.py': 'import os\n\nTOKEN = os.environ["TOKEN"]\n' },
    'read the token',
  );
  const leak = currentSecret === null ? {} : { 'web/.env': `GH_TOKEN=${currentSecret}\n` };
  const head = await commitFiles(path, { ...FILES, ...leak }, 'add the application');
  return { path, secret, currentSecret, head, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Writes the files, commits them and answers the commit's id. */
export async function commitFiles(
  path: string,
  files: Readonly<Record<string, string>>,
  message: string,
): Promise<string> {
  for (const [name, contents] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), contents);
  }
  await git(path, 'add', '--all', '--force');
  await git(path, 'commit', '--quiet', '--message', message);
  return git(path, 'rev-parse', 'HEAD');
}

/** git in a folder, whatever the machine or its user has configured; answers what it printed. */
export async function git(folder: string, ...args: readonly string[]): Promise<string> {
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Fixture',
    GIT_AUTHOR_EMAIL: 'fixture@example.test',
    GIT_COMMITTER_NAME: 'Fixture',
    GIT_COMMITTER_EMAIL: 'fixture@example.test',
  };
  const { stdout } = await run('git', [...args], { cwd: folder, env, maxBuffer: 16 * 1024 * 1024 });
  return stdout.trim();
}

/**
 * Lets a repository commit its files as they are, whatever its tree's `.gitattributes` say: what it needs to make
 * hostile ones. Clones know nothing of it.
 */
export async function neutralAttributes(path: string): Promise<void> {
  await mkdir(join(path, '.git', 'info'), { recursive: true });
  const undone = ['!text', '!eol', '!ident', '!filter', '!working-tree-encoding'];
  await writeFile(join(path, '.git', 'info', 'attributes'), `* diff ${undone.join(' ')}\n`);
}

/** Looks like a GitHub token to every scanner, and opens nothing. */
export function githubToken(): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  const random = [...randomBytes(36)].map((byte) => letters.charAt(byte % letters.length)).join('');
  return ['ghp', random].join('_');
}

const FILES: Readonly<Record<string, string>> = {
  'app/main.py': `import hashlib
import sqlite3
import subprocess

from flask import Flask, request

app = Flask(__name__)


@app.route("/calculate")
def calculate():
    return str(eval(request.args["expression"]))


@app.route("/ping")
def ping():
    host = request.args["host"]
    return subprocess.check_output("ping -c 1 " + host, shell=True)


@app.route("/user")
def user():
    name = request.args["name"]
    cursor = sqlite3.connect("users.db").cursor()
    cursor.execute("SELECT * FROM users WHERE name = '" + name + "'")
    return str(cursor.fetchall())


def checksum(value):
    return hashlib.md5(value.encode()).hexdigest()
`,
  'web/server.js': `const { exec } = require('child_process');
const express = require('express');
const app = express();

app.get('/list', (req, res) => {
  exec('ls ' + req.query.folder, (error, output) => res.send(output));
});

app.get('/run', (req, res) => {
  res.send(String(eval(req.query.code)));
});

app.listen(8080);
`,
  'web/package.json': `${JSON.stringify({ name: 'web', version: '1.0.0', dependencies: { lodash: '4.17.15' } }, null, 2)}\n`,
  'web/package-lock.json': `${JSON.stringify(
    {
      name: 'web',
      version: '1.0.0',
      lockfileVersion: 3,
      requires: true,
      packages: {
        '': { name: 'web', version: '1.0.0', dependencies: { lodash: '4.17.15' } },
        'node_modules/lodash': { version: '4.17.15' },
      },
    },
    null,
    2,
  )}\n`,
  'requirements.txt': 'django==2.2.0\nflask==0.12\n',
  Dockerfile: 'FROM python:latest\nUSER root\nADD . /app\nCMD ["python", "/app/app/main.py"]\n',
};
