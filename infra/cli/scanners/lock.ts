import { link, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '#shared/is-alive.ts';

/** The holder touches its lock this often; one that was not touched for six times as long has no holder. */
const HEARTBEAT_MS = 10_000;
const STALE_MS = 6 * HEARTBEAT_MS;
const POLL_MS = 1000;

interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  /** Told once, where another run holds the lock. */
  readonly onWait?: () => void;
}

/**
 * One installer at a time in a cache folder, also where several machines share it. A lock whose process is
 * gone is taken over. Dispose of it to release it.
 */
export async function lockFolder(folder: string, options: WaitOptions = {}): Promise<AsyncDisposable> {
  const path = join(folder, '.lock');
  let waited = false;
  while (!(await create(path))) {
    const holder = await readFile(path, 'utf8').catch(() => null);
    if (holder !== null && (await isStale(path, holder))) {
      await takeAway(path, holder);
      continue;
    }
    if (!waited) options.onWait?.();
    waited = true;
    await sleep(POLL_MS, undefined, { signal: options.signal });
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => undefined);
  }, HEARTBEAT_MS);
  heartbeat.unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(heartbeat);
      await rm(path, { force: true });
    },
  };
}

async function create(path: string): Promise<boolean> {
  try {
    await using file = await open(path, 'wx');
    await file.writeFile(`${hostname()} ${process.pid}`);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

async function isStale(path: string, holder: string): Promise<boolean> {
  const [host, pid] = holder.split(' ');
  if (host === hostname() && pid !== undefined && !isAlive(Number(pid))) return true;
  const touched = await stat(path).catch(() => null);
  return touched !== null && performance.timeOrigin + performance.now() - touched.mtimeMs > STALE_MS;
}

/** Two that find the same stale lock must not both go on: whoever moved a live one away puts it back. */
async function takeAway(path: string, holder: string): Promise<void> {
  const aside = `${path}-${process.pid}`;
  try {
    await rename(path, aside);
    if ((await readFile(aside, 'utf8')) !== holder) await link(aside, path).catch(() => undefined);
  } catch {
    // Somebody else took it away first.
  } finally {
    await rm(aside, { force: true });
  }
}
