import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * What git would let a tree's `.gitattributes` decide, and that decides what scanners get to see: whether a file
 * has a diff at all (`-diff`, `binary`), and what is written of it at a checkout.
 */
const UNDONE = [
  '!text',
  '!crlf',
  '!eol',
  '!ident',
  '!filter',
  '!working-tree-encoding',
  '!merge',
  '!conflict-marker-size',
  '!whitespace',
  '!encoding',
].join(' ');

/**
 * Takes from the tree of a clone its say in how git shows and writes its files: `info/attributes` outranks every
 * `.gitattributes`, and macros that these define. Before anything is checked out.
 */
export async function overruleAttributes(clone: string): Promise<void> {
  await mkdir(join(clone, '.git', 'info'), { recursive: true });
  await writeFile(attributesOf(clone), `* !diff ${UNDONE}\n`);
}

/**
 * Shows the differences of these files as text, whatever is in them. `diff` comes first in its line: git goes
 * through a line from its end, and a tree could make a macro of that name, which then finds everything decided.
 */
export async function showAsText(clone: string, paths: readonly string[]): Promise<void> {
  const lines = paths.map((path) => `${patternOf(path)} diff ${UNDONE}\n`);
  if (lines.length > 0) await appendFile(attributesOf(clone), lines.join(''));
}

function attributesOf(clone: string): string {
  return join(clone, '.git', 'info', 'attributes');
}

/** Of this one path, in git's quotes: nothing in it is a pattern, or ends the line. */
function patternOf(path: string): string {
  const literal = `/${path.replace(/[*?[\]\\]/g, '\\$&')}`;
  return `"${literal.replace(/["\\]/g, '\\$&').replace(/\n/g, '\\n')}"`;
}
