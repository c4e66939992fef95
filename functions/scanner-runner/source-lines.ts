import { open, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';

/** Semgrep passes over files above 1 MB by itself; nothing larger is ever asked for in earnest. */
const LARGEST_READ = 16 * 1024 * 1024;
/** Findings come by file: a few are enough. */
const FILES_KEPT = 8;

export type SourceLines = (path: string, start: number, end: number) => Promise<readonly string[] | null>;

/**
 * Reads lines of a checkout's files, and of nothing else: a path that leads out of the checkout, by `..`
 * or by a link, is answered as a file that does not exist.
 */
export function sourceLines(checkout: string): SourceLines {
  const kept = new Map<string, Promise<readonly string[] | null>>();
  return async (path, start, end) => {
    const lines = kept.get(path) ?? readLines(checkout, path);
    kept.delete(path);
    kept.set(path, lines);
    const oldest = kept.keys().next().value;
    if (kept.size > FILES_KEPT && oldest !== undefined) kept.delete(oldest);
    const all = await lines;
    return all === null || start > all.length ? null : all.slice(start - 1, end);
  };
}

async function readLines(checkout: string, path: string): Promise<readonly string[] | null> {
  try {
    const root = await realpath(checkout);
    const file = await realpath(join(root, path));
    if (!file.startsWith(root + sep)) return null;
    await using handle = await open(file, 'r');
    const found = await handle.stat();
    if (!found.isFile() || found.size > LARGEST_READ) return null;
    return (await handle.readFile('utf8')).split(/\r?\n/);
  } catch {
    return null;
  }
}
