import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Scanner } from '#domain/vocabulary.ts';
import { SCANNERS } from '#domain/vocabulary.ts';
import { parseReport } from '#shared/reports/parse.ts';
import { sanitiseReport } from '#shared/reports/sanitise.ts';

type Json = Record<string, unknown>;

function sample(scanner: Scanner): unknown {
  return JSON.parse(readFileSync(new URL(`../fixtures/reports/${scanner}.json`, import.meta.url), 'utf8'));
}

function identities(scanner: Scanner, report: unknown): string[] {
  return parseReport(scanner, report)
    .findings.map(({ fingerprint }) => fingerprint)
    .sort();
}

/** Every list of results in a report, in whatever order the scanner chose. */
function shuffled(scanner: Scanner): fc.Arbitrary<unknown> {
  const permute = (list: unknown) => {
    const items = Array.isArray(list) ? (list as unknown[]) : [];
    return fc.shuffledSubarray(items, { minLength: items.length });
  };
  const report = sample(scanner);
  if (Array.isArray(report)) return permute(report);
  const fields = report as Json;
  const name = { semgrep: 'results', grype: 'matches', trivy: 'Results', gitleaks: '' }[scanner];
  return permute(fields[name]).chain((results) =>
    fc
      .tuple(
        ...results.map((result) => {
          const inner = result as Json;
          return permute(inner.Misconfigurations).map((checks) =>
            'Misconfigurations' in inner ? { ...inner, Misconfigurations: checks } : inner,
          );
        }),
      )
      .map((list) => ({ ...fields, [name]: list })),
  );
}

describe('identity', () => {
  test.each(SCANNERS)(
    '%s: the order of results decides nothing, not even the order of findings',
    (scanner) => {
      const expected = parseReport(scanner, sample(scanner)).findings;
      fc.assert(
        fc.property(shuffled(scanner), (report) => {
          expect(parseReport(scanner, report).findings).toEqual(expected);
        }),
        { numRuns: 50 },
      );
    },
  );

  test.each(SCANNERS)('%s: each finding of the sample has one of its own', (scanner) => {
    const found = identities(scanner, sample(scanner));
    expect(new Set(found).size).toBe(found.length);
  });

  test('semgrep: lines, messages and severities may change, code and place may not', () => {
    const place = fc.record({
      line: fc.integer({ min: 1, max: 500 }),
      message: fc.string(),
      severity: fc.constantFrom('INFO', 'ERROR', 'HIGH'),
    });
    const result = (
      rule: string,
      path: string,
      code: string,
      at: { line: number; message: string; severity: string },
    ) => ({
      check_id: rule,
      path,
      start: { line: at.line, col: 1 },
      end: { line: at.line, col: 9 },
      extra: { message: at.message, severity: at.severity, metadata: {}, code_hash: code },
    });
    const spots = [
      ['r1', 'a.py', 'c1'],
      ['r1', 'a.py', 'c1'],
      ['r1', 'b.py', 'c1'],
      ['r2', 'a.py', 'c1'],
      ['r1', 'a.py', 'c2'],
    ] as const;
    const report = fc.tuple(...spots.map(() => place)).map((places) => ({
      results: spots.flatMap(([rule, path, code], i) =>
        places[i] ? [result(rule, path, code, places[i])] : [],
      ),
    }));
    fc.assert(
      fc.property(report, report, (one, other) => {
        expect(identities('semgrep', one)).toEqual(identities('semgrep', other));
        expect(new Set(identities('semgrep', one)).size).toBe(spots.length);
      }),
    );
  });

  const semgrep = (...extras: Json[]) => ({
    results: extras.map((extra, index) => ({
      check_id: 'r',
      path: 'a',
      start: { line: index + 1 },
      end: { line: index + 1 },
      extra: { severity: 'INFO', message: 'm', ...extra },
    })),
  });
  /** As it is in the parser's hands alone, and after an import, which has no checkout to look into. */
  const read = [
    async (report: unknown) => identities('semgrep', report),
    async (report: unknown) => {
      const context = { key: 'key', readLines: async () => null, secrets: new Set<string>() };
      return identities('semgrep', await sanitiseReport('semgrep', report, context));
    },
  ];

  test.each(read)('semgrep: quoted code counts without its whitespace', async (of) => {
    const known = await of(semgrep({ lines: '  eval(x)\n', message: 'a' }));
    expect(await of(semgrep({ lines: 'eval(x)', message: 'b', fingerprint: 'f' }))).toEqual(known);
    expect(await of(semgrep({ lines: 'eval(y)' }))).not.toEqual(known);
  });

  test.each(read)('semgrep: where it wants a login, the message stands for nothing', async (of) => {
    const withheld = { lines: 'requires login', fingerprint: 'requires login' };
    const named = (code: string) => ({ $X: { abstract_content: code, start: { line: 1 } }, $Y: {} });
    const ways: Json[] = [
      { ...withheld, fingerprint: 'f_0' },
      { ...withheld, fingerprint: 'f_1' },
      { ...withheld, metavars: named('a') },
      { ...withheld, metavars: named('b') },
      withheld,
    ];
    const known = await Promise.all(ways.map(async (extra) => of(semgrep({ ...extra, message: 'a' }))));
    expect(new Set(known.flat()).size).toBe(ways.length);
    for (const [index, extra] of ways.entries())
      expect(await of(semgrep({ ...extra, message: 'b', metadata: { title: 'c' } }))).toEqual(known[index]);
    // With neither, results of one rule in one file are told apart by their order, and none is lost.
    const three = semgrep({ ...withheld, message: '1' }, { ...withheld, message: '2' }, withheld);
    expect(new Set(await of(three)).size).toBe(3);
  });

  test('gitleaks: a secret is the same in every commit and line, and another one elsewhere', () => {
    const leak = (File: string, secret_hmac: string, Commit: string, StartLine: number) => ({
      RuleID: 'github-pat',
      File,
      secret_hmac,
      Commit,
      StartLine,
      EndLine: StartLine,
    });
    const once = identities('gitleaks', [leak('a', 'h1', 'c1', 1)]);
    expect(identities('gitleaks', [leak('a', 'h1', 'c2', 7), leak('a', 'h1', 'c1', 1)])).toEqual(once);
    expect(identities('gitleaks', [leak('b', 'h1', 'c1', 1)])).not.toEqual(once);
    expect(identities('gitleaks', [leak('a', 'h2', 'c1', 1)])).not.toEqual(once);
  });

  /** Of secrets that the report masks, as an import reads them. */
  const masked = {
    trivy: (...matches: string[]) => ({
      SchemaVersion: 2,
      Results: [
        {
          Target: '.env',
          Secrets: matches.map((Match, index) => ({ RuleID: 'r', StartLine: index + 1, Match })),
        },
      ],
    }),
    gitleaks: (...matches: string[]) =>
      matches.map((Match, index) => ({
        RuleID: 'r',
        File: '.env',
        StartLine: index + 1,
        Secret: 'REDACTED',
        Match,
      })),
  };
  const imported = async (scanner: Scanner, report: unknown, key = 'key') => {
    const context = { key, readLines: async () => null, secrets: new Set<string>() };
    return identities(scanner, await sanitiseReport(scanner, report, context));
  };

  test.each(['trivy', 'gitleaks'] as const)(
    '%s: masked secrets of one rule and file are told apart by their lines, whichever is removed',
    async (scanner) => {
      const of = masked[scanner];
      const both = await imported(scanner, of('A_TOKEN=****', 'B_TOKEN=****'));
      expect(new Set(both).size).toBe(2);
      const [first] = await imported(scanner, of('A_TOKEN=****'));
      const [second] = await imported(scanner, of('', '  B_TOKEN=****')).then((ids) =>
        ids.filter((id) => both.includes(id)),
      );
      expect(both).toContain(first);
      expect(second).toBeDefined();
      expect(second).not.toBe(first);
      // Equal ones stay as many as they are; and nobody without the key can try a guess.
      expect(new Set(await imported(scanner, of('T=****', 'T=****'))).size).toBe(2);
      expect(await imported(scanner, of('T=****'), 'another key')).not.toEqual(
        await imported(scanner, of('T=****')),
      );
    },
  );

  test.each(['trivy', 'gitleaks'] as const)('%s: what a masked line says stays behind', async (scanner) => {
    const context = { key: 'key', readLines: async () => null, secrets: new Set<string>() };
    const clean = await sanitiseReport(scanner, masked[scanner]('A_TOKEN=****'), context);
    expect(JSON.stringify(clean)).not.toContain('A_TOKEN');
    expect(JSON.stringify(clean)).toMatch(/"match_hmac":"[0-9a-f]{64}"/);
    expect(await sanitiseReport(scanner, clean, { ...context, key: 'other' })).toEqual(clean);
  });

  const leaks = (...told: (readonly [string, string, number | undefined])[]) =>
    told.map(([Secret, Match, Entropy], index) => ({
      ...{ RuleID: 'r', File: '.env', StartLine: index + 1 },
      ...{ Secret, Match, Entropy },
    }));

  test.each([
    ['wholly', 'REDACTED'],
    ['in part', 'AKIA...'],
  ])('gitleaks: of a secret that is masked %s the entropy tells which it is', async (_, mask) => {
    const both = await imported('gitleaks', leaks([mask, mask, 3.5], [mask, mask, 3.9]));
    const second = await imported('gitleaks', leaks([mask, mask, 3.9]));
    expect(new Set(both).size).toBe(2);
    expect(both).toEqual(expect.arrayContaining(second));
    expect(await imported('gitleaks', leaks([mask, mask, 3.5]))).not.toEqual(second);
    // Its line tells too, and with all of it equal none is lost.
    const lines = leaks([mask, `A=${mask}`, 3.5], [mask, `B=${mask}`, 3.5], [mask, `B=${mask}`, 3.5]);
    const found = await imported('gitleaks', lines);
    expect(new Set(found).size).toBe(3);
    expect(found).toEqual(
      expect.arrayContaining(await imported('gitleaks', leaks([mask, `B=${mask}`, 3.5]))),
    );
    expect(await imported('gitleaks', leaks([mask, mask, 3.5]), 'another key')).not.toEqual(both);
    const context = { key: 'key', readLines: async () => null, secrets: new Set<string>() };
    const clean = await sanitiseReport('gitleaks', lines, context);
    expect(JSON.stringify(clean)).not.toContain('3.5');
    expect(await sanitiseReport('gitleaks', clean, { ...context, key: 'other' })).toEqual(clean);
  });

  test('gitleaks: of several commits the earliest is told', () => {
    const leak = (Commit: string, date: string, StartLine: number) => ({
      RuleID: 'github-pat',
      File: 'a',
      secret_hmac: 'h',
      Commit,
      Date: date,
      StartLine,
      EndLine: StartLine,
    });
    const report = [
      leak('bbbbbbbbbbbbbb', '2026-02-02T00:00:00Z', 1),
      leak('aaaaaaaaaaaaaa', '2026-01-01T00:00:00Z', 9),
    ];
    expect(parseReport('gitleaks', report).findings).toMatchObject([
      { location: { start_line: 9 }, description: 'First found in commit aaaaaaaaaaaa of 2026-01-01.' },
    ]);
  });

  test('grype: an upgrade within the range, qualifiers and aliases leave the identity alone', () => {
    const match = (id: string, related: string[], purl: string, severity = 'High') => ({
      vulnerability: { id, severity },
      relatedVulnerabilities: related.map((other) => ({ id: other })),
      artifact: { name: 'lodash', version: '1', purl, locations: [{ path: '/package-lock.json' }] },
    });
    const once = identities('grype', { matches: [match('GHSA-x', ['CVE-2020-8203'], 'pkg:npm/lodash@1')] });
    const again = [
      match('CVE-2020-8203', [], 'pkg:npm/lodash@2?arch=x#y', 'Critical'),
      match('GHSA-x', ['CVE-2020-8203'], 'pkg:npm/lodash@1'),
    ];
    expect(identities('grype', { matches: again })).toEqual(once);
    expect(parseReport('grype', { matches: again }).findings[0]).toMatchObject({ severity: 'critical' });
    expect(
      identities('grype', { matches: [match('CVE-2020-8203', [], 'pkg:npm/%40a/lodash@1')] }),
    ).not.toEqual(once);
  });

  // Other ones would give every finding that is there a new identity.
  test.each([
    ['semgrep', 'acb4189e22224759'],
    ['grype', 'f9a5f39fd8381259'],
    ['trivy', '4e5c9819c212c415'],
    ['gitleaks', '4c734b0021731c80'],
  ] as const)('%s: the identities of the sample are what they were', (scanner, known) => {
    const report = sample(scanner) as Json;
    if (scanner === 'semgrep')
      report.results = (report.results as Json[]).map((result, index) => ({
        ...result,
        extra: { ...(result.extra as Json), lines: `line ${index}()` },
      }));
    expect(hash('sha256', identities(scanner, report).join(''), 'hex').slice(0, 16)).toBe(known);
  });

  test('the same parts of different scanners are different findings', () => {
    const all = SCANNERS.flatMap((scanner) => identities(scanner, sample(scanner)));
    expect(new Set(all).size).toBe(all.length);
  });
});
