import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'smol-toml';
import * as z from 'zod';
import { SCANNER_RELEASES } from '#functions/scanner-runner/versions.ts';

/**
 * `npm run gitleaks-rules`: takes the rules of the pinned Gitleaks over as data, with its licence. Needs Go, which
 * fetches the module's source.
 */
const Allowlist = z.object({
  condition: z.enum(['AND', 'OR']).default('OR'),
  regexTarget: z.enum(['match', 'line', 'secret']).default('secret'),
  regexes: z.array(z.string()).default([]),
  stopwords: z.array(z.string()).default([]),
  paths: z.array(z.string()).default([]),
});
const Configuration = z.object({
  allowlist: Allowlist,
  rules: z.array(
    z.object({
      id: z.string(),
      regex: z.string().optional(),
      secretGroup: z.number().default(0),
      entropy: z.number().default(0),
      keywords: z.array(z.string()).default([]),
      allowlists: z.array(Allowlist).default([]),
    }),
  ),
});

const REPLACED: Readonly<Record<string, string>> = {
  '\\z': '(?![\\s\\S])',
  '\\A': '(?<![\\s\\S])',
  '[:alnum:]': 'A-Za-z0-9',
};

const TARGET = fileURLToPath(new URL('../../shared/reports/gitleaks-rules/', import.meta.url));
const { version, install } = SCANNER_RELEASES.gitleaks;
if (install.by === 'pip') throw new Error('Gitleaks is a Go module');
const downloaded = execFileSync('go', ['mod', 'download', '-json', `${install.module}@v${version}`], {
  encoding: 'utf8',
});
const { Dir: source } = z.object({ Dir: z.string() }).parse(JSON.parse(downloaded));
const { rules, allowlist } = Configuration.parse(
  parse(readFileSync(join(source, 'config', 'gitleaks.toml'), 'utf8')),
);
const taken = rules.flatMap(({ regex, ...rule }) =>
  // A rule without one is about the names of files.
  regex === undefined
    ? []
    : [{ ...rule, regex: toJavaScript(regex), allowlists: rule.allowlists.map(translated) }],
);
const data = { version, allowlist: translated(allowlist), rules: taken };
writeFileSync(join(TARGET, 'rules.json'), `${JSON.stringify(data, null, 1)}\n`);
copyFileSync(join(source, 'LICENSE'), join(TARGET, 'LICENSE'));
console.log(`${taken.length} rules of Gitleaks ${version}`);

function translated(list: z.output<typeof Allowlist>): z.output<typeof Allowlist> {
  return { ...list, regexes: list.regexes.map(toJavaScript) };
}

/**
 * Go's regular expressions (RE2) as JavaScript's: flags in the middle of a group become a group of their own that
 * ends with it, `\z` and `\A` become what JavaScript has for them, as do POSIX classes and names of groups.
 */
function toJavaScript(pattern: string): string {
  let out = '';
  let inClass = false;
  // How many groups of our own end with the group that we are in; the first is the whole pattern.
  const opened = [0];
  for (let at = 0; at < pattern.length; at += 1) {
    const rest = pattern.slice(at);
    const special = inClass
      ? (/^\\[\s\S]/.exec(rest) ?? /^\[:(\w+):\]/.exec(rest))
      : (/^\\[\s\S]/.exec(rest) ?? /^\(\?([a-z]+)\)/.exec(rest) ?? /^\(\?P</.exec(rest));
    const [found = ''] = special ?? [];
    if (found !== '') {
      at += found.length - 1;
      if (found.startsWith('(?') && found.endsWith(')')) {
        out += `(?${special?.[1]}:`;
        opened[opened.length - 1] = (opened.at(-1) ?? 0) + 1;
      } else if (found === '(?P<') {
        out += '(?<';
        opened.push(0);
      } else out += REPLACED[found] ?? found;
      continue;
    }
    const character = pattern[at] ?? '';
    if (inClass) inClass = character !== ']';
    else if (character === '[') inClass = true;
    else if (character === '(') opened.push(0);
    else if (character === ')') out += ')'.repeat(opened.pop() ?? 0);
    out += character;
  }
  out += ')'.repeat(opened.pop() ?? 0);
  // Tells whatever JavaScript would not take.
  new RegExp(out);
  return out;
}
