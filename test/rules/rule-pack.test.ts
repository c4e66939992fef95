import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, extname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { locateScanner } from '#functions/scanner-runner/locate.ts';

/**
 * Every rule is proven by one example file: Semgrep's own annotations say at which lines it must
 * report (`ruleid:`) and at which it must not (`ok:`), both for the line after the comment.
 * Semgrep runs once, over all of them.
 */

const RULES = join(import.meta.dirname, '../../functions/scanner-runner/rules');
const EXAMPLES = join(import.meta.dirname, 'examples');

const Result = z.object({
  check_id: z.string(),
  path: z.string(),
  start: z.object({ line: z.number() }),
  extra: z.object({
    message: z.string(),
    severity: z.enum(['CRITICAL', 'HIGH', 'MEDIUM', 'LOW']),
    metadata: z.object({
      title: z.string().min(1).max(70),
      fix: z.string().regex(/^[A-Z].*\.$/),
      cwe: z.array(z.string().regex(/^CWE-\d+: ./)).min(1),
      owasp: z.array(z.string().regex(/^A\d\d:2021 - ./)).min(1),
      category: z.literal('security'),
      confidence: z.enum(['HIGH', 'MEDIUM', 'LOW']),
    }),
  }),
});

/** Metadata are read from the results: each rule has at least one, by its positive example. */
const Report = z.object({
  errors: z.array(z.unknown()),
  results: z.array(z.looseObject({ check_id: z.string(), path: z.string() })),
});

interface Rule {
  readonly id: string;
  readonly language: string;
}

const rules = await readRules();
const examples = await filesIn(EXAMPLES);
const report = await scanExamples();

describe('the rule pack', () => {
  it('is read by Semgrep without an error', () => {
    expect(report.errors).toEqual([]);
  });

  it('names each rule once, after its language', () => {
    expect(rules.length).toBeGreaterThan(0);
    expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length);
    for (const { id, language } of rules) expect(id).toMatch(new RegExp(`^${language}(-[a-z0-9]+)+$`));
  });

  it('has no example without a rule', () => {
    const expected = new Set(rules.map(({ id, language }) => `${language}/${id}`));
    const orphans = examples.filter((path) => !expected.has(path.slice(0, -extname(path).length)));
    expect(orphans).toEqual([]);
  });

  it('is listed in its README', async () => {
    const readme = await readFile(join(RULES, 'README.md'), 'utf8');
    const listed = [...readme.matchAll(/^\| `([^`]+)` +\|/gm)].map((match) => match[1]);
    expect(listed.sort()).toEqual(rules.map(({ id }) => id).sort());
  });

  it.each(rules)('$id reports what its example says', async ({ id, language }) => {
    const paths = examples.filter((path) => path.startsWith(`${language}/${id}.`));
    expect(paths, 'one example file').toHaveLength(1);
    const [path = ''] = paths;
    const source = await readFile(join(EXAMPLES, path), 'utf8');
    const bad = linesAfter(source, `ruleid: ${id}`);
    const good = linesAfter(source, `ok: ${id}`);
    expect(bad, 'positive examples').not.toEqual([]);
    expect(good, 'negative examples').not.toEqual([]);

    const results = report.results
      .filter((result) => ruleOf(result.check_id) === id && result.path === path)
      .map((result) => Result.parse(result));
    const reported = [...new Set(results.map(({ start }) => start.line))].sort((a, b) => a - b);
    expect(reported, 'reported lines').toEqual(bad);
    // A metavariable in a message could carry a secret out of the code.
    for (const { extra } of results) expect(extra.message).not.toContain('$');
  });
});

/** Neither a YAML parser nor Semgrep's own dump is needed: each rule starts with its id. */
async function readRules(): Promise<readonly Rule[]> {
  const files = await filesIn(RULES);
  const perFile = files
    .filter((file) => file.endsWith('.yaml'))
    .map(async (file) => {
      const text = await readFile(join(RULES, file), 'utf8');
      const language = dirname(file);
      return [...text.matchAll(/^ *- id: *(\S+)$/gm)].map(([, id = '']) => ({ id, language }));
    });
  return (await Promise.all(perFile)).flat();
}

/** As `<folder>/<file>`, sorted. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

async function scanExamples(): Promise<z.infer<typeof Report>> {
  const semgrep = await locateScanner('semgrep');
  if (semgrep === null) throw new Error('Semgrep is missing: run `npm run scanners`.');
  // A copy, because Semgrep passes over folders of the name `test`.
  const folder = await mkdtemp(join(tmpdir(), 'rule-pack-'));
  try {
    await cp(EXAMPLES, folder, { recursive: true });
    const flags = ['--metrics', 'off', '--disable-version-check', '--json', '--quiet', '--no-git-ignore'];
    const { stdout } = await promisify(execFile)(semgrep.path, ['scan', '--config', RULES, ...flags, '.'], {
      cwd: folder,
      // Semgrep starts a helper of its own from PATH.
      env: {
        ...process.env,
        PATH: [dirname(semgrep.path), process.env.PATH ?? ''].join(delimiter),
        SEMGREP_ENABLE_VERSION_CHECK: '0',
        SEMGREP_SEND_METRICS: 'off',
      },
      maxBuffer: 64 * 1024 * 1024,
    });
    return Report.parse(JSON.parse(stdout));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** `check_id` starts with the dotted path of the rules' folder. */
function ruleOf(checkId: string): string {
  return checkId.slice(checkId.lastIndexOf('.') + 1);
}

/** The numbers of the lines that follow a comment with this annotation. */
function linesAfter(source: string, annotation: string): readonly number[] {
  return source
    .split('\n')
    .flatMap((line, index) => (line.trimEnd().endsWith(annotation) ? [index + 2] : []));
}
