import { createWriteStream } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '#domain/clock.ts';
import { KEPT_DATABASES, type KeptDatabase } from '#domain/vocabulary.ts';
import { readScannerSettings } from './commands.ts';
import { passedEnvironment } from './environment.ts';
import type { RunnerJob } from './gate-client.ts';
import { locateScanner } from './locate.ts';
import { runProcess } from './process.ts';
import { runError, runInfo } from './run-log.ts';

const DOWNLOAD_MS = 300_000;
const UNPACK_MS = 300_000;
/** Kept once a day; one that was missed three times is left, and the scanner gets its own. */
const MAX_AGE_MS = 3 * 24 * 60 * 60 * 1000;

/**
 * Takes the databases that the service keeps, for the scanners of the job that need one, and answers the settings
 * with which they use these and ask nobody else. A scanner whose database is not there, is too old or can't be used
 * is left as it is: it then sees to its own.
 * @throws never: a scan goes on without
 */
export async function takeDatabases(
  job: Pick<RunnerJob, 'scanners' | 'databases'>,
  folder: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  if (readScannerSettings(env).offline) return {};
  const wanted = KEPT_DATABASES.filter((name) => job.scanners.includes(name));
  const taken = await Promise.all(
    wanted.map(async (name) => {
      const url = job.databases?.[name];
      if (url === undefined) return {};
      const own = join(folder, name);
      const started = performance.now();
      try {
        await mkdir(own, { recursive: true, mode: 0o700 });
        const file = await download(url, own, signal);
        if (file === null) return {};
        const settings = await USE[name](file, own, env, signal);
        runInfo('kept database taken', {
          scanner: name,
          duration_ms: Math.round(performance.now() - started),
        });
        return settings;
      } catch (error) {
        // Never the error's own words, which may name the address: it is signed.
        const cause = error instanceof DatabaseUnusable ? error.message : 'it could not be fetched';
        runError('kept database not used', { scanner: name, cause });
        return {};
      }
    }),
  );
  return Object.assign({}, ...taken);
}

class DatabaseUnusable extends Error {
  override readonly name = 'DatabaseUnusable';
}

/** The file, named by what it is, or null where none is kept (S3 says 403 to whom it does not let look). */
async function download(url: string, folder: string, signal: AbortSignal): Promise<string | null> {
  const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_MS)]) });
  if (answer.status === 404 || answer.status === 403) {
    await answer.body?.cancel();
    return null;
  }
  if (!answer.ok || !answer.body) throw new DatabaseUnusable(`the bucket answered ${answer.status}`);
  const kept = Date.parse(answer.headers.get('last-modified') ?? '');
  if (!(systemClock.now() - kept < MAX_AGE_MS)) {
    await answer.body.cancel();
    throw new DatabaseUnusable('it is older than three days');
  }
  const path = join(folder, 'archive');
  await pipeline(
    Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]),
    createWriteStream(path, { mode: 0o600 }),
  );
  // Grype goes by the name of a file.
  const named = `${path}${await suffixOf(path)}`;
  await rename(path, named);
  return named;
}

async function suffixOf(path: string): Promise<string> {
  await using file = await open(path);
  const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
  return buffer[0] === 0x1f && buffer[1] === 0x8b ? '.tar.gz' : '.tar.zst';
}

type Use = (
  file: string,
  folder: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
) => Promise<Record<string, string>>;

const USE: Readonly<Record<KeptDatabase, Use>> = {
  async grype(file, folder, env, signal) {
    const located = await locateScanner('grype', env);
    if (located === null) return {};
    const own = {
      GRYPE_DB_CACHE_DIR: join(folder, 'cache'),
      GRYPE_DB_AUTO_UPDATE: 'false',
      GRYPE_CHECK_FOR_APP_UPDATE: 'false',
    };
    await execute(located.path, ['db', 'import', file], folder, { ...env, ...own }, signal);
    await rm(file);
    return own;
  },

  async trivy(file, folder, env, signal) {
    const database = join(folder, 'db');
    await mkdir(database);
    await execute('tar', ['-xzf', file, '-C', database, '--no-same-owner'], folder, env, signal);
    await rm(file);
    // The checks of configurations are those that Trivy brings along; its index of Java archives it fetches if need be.
    return { TRIVY_CACHE_DIR: folder, TRIVY_SKIP_DB_UPDATE: 'true', TRIVY_SKIP_CHECK_UPDATE: 'true' };
  },
};

async function execute(
  file: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  const { exitCode } = await runProcess({
    file,
    args,
    cwd,
    env: { ...passedEnvironment(env), TMPDIR: cwd },
    timeoutMs: UNPACK_MS,
    signal,
    stdoutLimit: 0,
  });
  if (exitCode !== 0) throw new DatabaseUnusable('it could not be unpacked');
}
