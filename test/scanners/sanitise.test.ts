import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Scanner } from '#domain/vocabulary.ts';
import { SCANNERS } from '#domain/vocabulary.ts';
import { parseReport } from '#shared/reports/parse.ts';
import type { SanitiseContext } from '#shared/reports/sanitise.ts';
import { Redactor, sanitiseReport, secretsIn } from '#shared/reports/sanitise.ts';

function sample(scanner: Scanner): unknown {
  return JSON.parse(readFileSync(new URL(`../fixtures/reports/${scanner}.json`, import.meta.url), 'utf8'));
}

const secret = `s3cret-${randomBytes(12).toString('hex')}`;

function context(more: Partial<SanitiseContext> = {}): SanitiseContext {
  return { key: 'key', readLines: async () => null, secrets: new Set([secret]), ...more };
}

/** The secret in every place that a report has for text. */
function planted(value: unknown): unknown {
  if (typeof value === 'string') return `${value} ${secret}`;
  if (Array.isArray(value)) return value.map(planted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, planted(item)]));
}

describe('sanitising', () => {
  test.each(SCANNERS)('%s: a known secret is nowhere in what comes out', async (scanner) => {
    const raw = planted(sample(scanner));
    expect(JSON.stringify(raw)).toContain(secret);
    expect(JSON.stringify(await sanitiseReport(scanner, raw, context()))).not.toContain(secret);
  });

  test.each(SCANNERS)('%s: once more changes nothing', async (scanner) => {
    const readLines = async () => ['eval(x)'];
    const once = await sanitiseReport(scanner, planted(sample(scanner)), context({ readLines }));
    expect(await sanitiseReport(scanner, once, context({ readLines }))).toEqual(once);
    expect(await sanitiseReport(scanner, once, context())).toEqual(once);
  });

  test.each(SCANNERS)('%s: nothing that a finding shows is lost', async (scanner) => {
    const parsed = parseReport(scanner, await sanitiseReport(scanner, sample(scanner), context()));
    const shown = (findings: typeof parsed.findings) => findings.map(({ fingerprint: _, ...rest }) => rest);
    expect(shown(parsed.findings)).toEqual(shown(parseReport(scanner, sample(scanner)).findings));
    expect(parsed.warnings).toEqual([]);
  });

  test.each(SCANNERS)('%s: what is no report of it stays one that is refused', async (scanner) => {
    for (const rubbish of ['x', null, 7, { a: 1 }]) {
      const clean = await sanitiseReport(scanner, rubbish, context());
      expect(() => parseReport(scanner, clean)).toThrow('This is no');
    }
  });

  test('gitleaks: an HMAC in place of the secret, and no personal data', async () => {
    const leak = {
      RuleID: 'github-pat',
      File: 'a',
      StartLine: 1,
      Secret: secret,
      Match: `T=${secret}`,
      Line: secret,
    };
    const person = {
      Author: 'Ann',
      Email: 'ann@example.test',
      Message: `oops ${secret}`,
      Link: 'https://x',
      Entropy: 4,
    };
    const clean = await sanitiseReport('gitleaks', [{ ...leak, ...person }], context());
    expect(clean).toEqual([
      { RuleID: 'github-pat', File: 'a', StartLine: 1, secret_hmac: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ]);
    const otherKey = await sanitiseReport('gitleaks', [leak], context({ key: 'other' }));
    expect(otherKey).not.toEqual(clean);
  });

  test('gitleaks: the secrets of a report, the lines of a key block among them', () => {
    const line = randomBytes(30).toString('base64');
    const block = `-----BEGIN PRIVATE KEY-----\n${line}\n-----END PRIVATE KEY-----`;
    const report = [{ Secret: secret }, { Secret: 'REDACTED' }, { Secret: block }, { Secret: '' }, null];
    expect(secretsIn(report)).toEqual(new Set([secret, block, line]));
    expect(secretsIn('rubbish')).toEqual(new Set());
  });

  test('semgrep: the rule id alone, code as a hash, and no code', async () => {
    const extra = {
      severity: 'ERROR',
      metadata: {},
      lines: `x = "${secret}"`,
      metavars: { $X: 1 },
      fix: 'y',
      dataflow_trace: {},
    };
    const position = { start: { line: 2, col: 1 }, end: { line: 3, col: 9 } };
    const asked: unknown[] = [];
    const readLines: SanitiseContext['readLines'] = async (...args) => {
      asked.push(args);
      return ['  eval(', '    x)'];
    };
    const report = (message: string) => ({
      results: [
        { check_id: 'home.me.rules.python.eval', path: './a.py', ...position, extra: { ...extra, message } },
      ],
    });
    const rulePrefixes = ['home.me.rules.python.', 'home.me.rules.'];
    const clean = await sanitiseReport('semgrep', report('m'), context({ readLines, rulePrefixes }));
    expect(asked).toEqual([['a.py', 2, 3]]);
    expect(clean).toMatchObject({ results: [{ check_id: 'eval' }] });
    const kept = (clean as { results: [{ extra: object }] }).results[0].extra;
    expect(Object.keys(kept).sort()).toEqual(['code_hash', 'message', 'metadata', 'severity']);
  });

  test('semgrep: a string of the code that the message quotes is taken out of it', async () => {
    const password = `pw-${randomBytes(6).toString('hex')}`;
    const readLines = async () => [`connect("${password}", mode="readonly")`];
    const extra = { severity: 'ERROR', message: `Password ${password} in readonly call` };
    const report = { results: [{ check_id: 'r', path: 'a', start: { line: 1 }, end: { line: 1 }, extra }] };
    const clean = await sanitiseReport('semgrep', report, context({ readLines }));
    expect(clean).toMatchObject({ results: [{ extra: { message: 'Password REDACTED in readonly call' } }] });
  });

  test('semgrep: in an import what the message quotes is known from its metavariables', async () => {
    const password = `pw-${randomBytes(6).toString('hex')}`;
    const extra = {
      severity: 'ERROR',
      message: `Password ${password} in the code`,
      lines: 'requires login',
      metavars: { $PASSWORD: { abstract_content: `"${password}"` } },
    };
    const report = { results: [{ check_id: 'r', path: 'a', start: { line: 1 }, end: { line: 1 }, extra }] };
    const clean = await sanitiseReport('semgrep', report, context());
    expect(JSON.stringify(clean)).not.toContain(password);
    expect(clean).toMatchObject({ results: [{ extra: { message: 'Password REDACTED in the code' } }] });
  });

  // Quadratic time would be hours here.
  test.each([`\\'`, `'"`, `"\\`, "'"])(
    'semgrep: millions of %j in the code cost what they cost',
    async (quotes) => {
      const lines = quotes.repeat(2_000_000);
      const extra = { severity: 'ERROR', message: 'Password "x"', lines };
      const report = { results: [{ check_id: 'r', path: 'a', start: { line: 1 }, end: { line: 1 }, extra }] };
      expect(await sanitiseReport('semgrep', report, context())).toMatchObject({ results: [{ path: 'a' }] });
    },
  );

  test('trivy: no code, no authors, and the secret told apart by its lines', async () => {
    const clean = JSON.stringify(
      await sanitiseReport('trivy', sample('trivy'), context({ readLines: async () => ['x'] })),
    );
    for (const dropped of ['"Code"', '"Match"', 'Author', 'Committer', 'minimist', 'USER root'])
      expect(clean).not.toContain(dropped);
    expect(clean).toContain('secret_hmac');
  });

  test('grype: its configuration stays behind', async () => {
    const clean = JSON.stringify(await sanitiseReport('grype', sample('grype'), context()));
    for (const dropped of ['configuration', 'registry', 'cpes']) expect(clean).not.toContain(dropped);
  });
});

describe('the redactor', () => {
  test('no text holds any of the secrets afterwards, whatever they are', () => {
    const word = fc.string({ minLength: 6, maxLength: 12, unit: fc.constantFrom('a', 'b', 'c') });
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 6 }),
        fc.array(word),
        fc.array(fc.string()),
        (secrets, more, texts) => {
          const text = [...texts, ...secrets, ...more, ...secrets].join('');
          const clean = new Redactor(secrets).text(text);
          for (const value of secrets) expect(clean).not.toContain(value);
          expect(new Redactor(secrets).text(clean)).toBe(clean);
        },
      ),
    );
  });

  test('short values and its own mark are left alone', () => {
    expect(new Redactor(['abc', 'REDACTED', 'REDACT']).text('abc REDACTED')).toBe('abc REDACTED');
  });

  test('a history with thousands of secrets does not slow it down', () => {
    const secrets = Array.from({ length: 5000 }, () => randomBytes(20).toString('hex'));
    const text = 'some ordinary line of a report, over and over\n'.repeat(50_000);
    const started = performance.now();
    expect(new Redactor(secrets).text(`${text}${secrets[7]}`)).toBe(`${text}REDACTED`);
    expect(performance.now() - started).toBeLessThan(3000);
  });
});
