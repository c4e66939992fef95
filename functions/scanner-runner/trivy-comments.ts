import { linkSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { CheckoutGit } from './checkout-git.ts';
import type { TrackedFile } from './tracked-files.ts';

/** Files with a comment that makes Trivy pass over a misconfiguration. */
export async function commentedFiles(git: CheckoutGit): Promise<string[]> {
  const found = await git.ask('grep', '-l', '-a', '-z', '-E', '(trivy|tfsec):[^ ]*ignore', '--', '.');
  return (found ?? '').split('\0').filter((path) => path !== '');
}

/**
 * A copy of the checkout in which Trivy's comments mean nothing: it has no option for that. All but the files that
 * hold one are links to the checkout's own; in those no line and no column moves.
 */
export async function withoutComments(
  checkout: string,
  files: readonly TrackedFile[],
  commented: readonly string[],
  into: string,
): Promise<void> {
  const held = new Set(commented);
  const made = new Set<string>();
  for (const [number, { path }] of files.entries()) {
    const folder = dirname(join(into, path));
    if (!made.has(folder)) mkdirSync(folder, { recursive: true });
    made.add(folder);
    whereThere(() => {
      const [from, to] = [join(checkout, path), join(into, path)];
      if (held.has(path)) writeFileSync(to, silenced(readFileSync(from)));
      else linkSync(from, to);
    });
    if (number % 100 === 0) await turn();
  }
}

/** What was too large to be checked out is not there. */
function whereThere(take: () => void): void {
  try {
    take();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}

/** Word by word, as Trivy reads them; bytes that are no text stay as they are. */
function silenced(contents: Buffer): Buffer {
  const text = contents
    .toString('latin1')
    .replace(/[^ \n]+/g, (word) => (word.includes('ignore') ? word.replace(/(trivy|tfsec):/g, '$1;') : word));
  return Buffer.from(text, 'latin1');
}
