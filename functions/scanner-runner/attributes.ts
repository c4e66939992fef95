import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * What git would let a tree's `.gitattributes` decide, and that decides what scanners get to see: whether a file
 * has a diff at all (`-diff`, `binary`), and what is written of it at a checkout. `diff` is named for files of
 * its own; the macro `binary` sets nothing that is named here.
 */
const UNDONE = [
  'text',
  'crlf',
  'eol',
  'ident',
  'filter',
  'working-tree-encoding',
  'merge',
  'conflict-marker-size',
  'whitespace',
  'encoding',
];

/**
 * Files whose differences are shown as text whatever is in them: one NUL byte would make git take them for binary,
 * and `git log` shows nothing of such. Not all files: random bytes take Gitleaks a second a megabyte.
 */
const TEXT =
  'bash bat bicep c cc cfg clj cnf conf config cpp cs cshtml css csv dart env erb ex exs fs go gql gradle graphql groovy h hcl hpp htm html ini ipynb java js json json5 jsonc jsx key kt kts less lua m md mjs cjs mts cts mm npmrc php pl plist pm properties ps1 psm1 pub py pypirc r rb rego rs rst sbt scala scss sh sql sum svelte swift tf tfvars tmpl toml tpl ts tsx txt vb vue xml yaml yml zsh pem crt cer'.split(
    ' ',
  );
const TEXT_NAMES = ['.env*', '.*rc', '*config', 'Dockerfile*', 'Makefile', 'Jenkinsfile', 'credentials*'];

/**
 * `info/attributes` of a clone outranks every `.gitattributes` of the tree. `diff` comes first in its line: git
 * goes through a line from its end, and a tree could make a macro of that name, which then finds everything named.
 */
const ATTRIBUTES = [
  `* !diff ${UNDONE.map((name) => `!${name}`).join(' ')}`,
  ...[...TEXT.map((ending) => `*.${ending}`), ...TEXT_NAMES].map(
    (pattern) => `${pattern} diff ${UNDONE.map((name) => `!${name}`).join(' ')}`,
  ),
  '',
].join('\n');

/** Takes from the tree of a clone its say in how git shows and writes its files. Before anything is checked out. */
export async function overruleAttributes(clone: string): Promise<void> {
  const info = join(clone, '.git', 'info');
  await mkdir(info, { recursive: true });
  await writeFile(join(info, 'attributes'), ATTRIBUTES);
}
