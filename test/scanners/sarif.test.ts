import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toolKey } from '#domain/origin.ts';
import type { Scanner } from '#domain/vocabulary.ts';
import { parseSarif, SarifError } from '#shared/reports/sarif.ts';
import { type SarifResult, sarifLog } from '#test/harness/sarif.ts';

type Json = Record<string, unknown>;

/** A log of one run, with whatever of its results, rules and run is to be another. */
function logOf(
  results: readonly unknown[],
  { rules = [], driver = 'CodeQL', ...run }: { rules?: readonly unknown[]; driver?: string } & Json = {},
) {
  return { version: '2.1.0', runs: [{ tool: { driver: { name: driver, rules } }, results, ...run }] };
}

function parsed(log: unknown, scanner: Scanner | null = 'semgrep') {
  const [report] = parseSarif(log, 'key', scanner);
  if (!report) throw new Error('no report');
  return report;
}
const identities = (log: unknown, scanner: Scanner | null = 'semgrep') =>
  parsed(log, scanner)
    .findings.map(({ fingerprint }) => fingerprint)
    .sort();
const only = (log: unknown) => {
  const { findings } = parsed(log);
  expect(findings).toHaveLength(1);
  return findings[0];
};

const at = (uri: string, line = 1, more: Json = {}) => ({
  locations: [{ physicalLocation: { artifactLocation: { uri }, region: { startLine: line } }, ...more }],
});
const said = (text: string, more: Json = {}) => ({ ruleId: 'r', message: { text }, ...at('a.ts'), ...more });

describe('who a result is', () => {
  test('its words are no part of it: reworded results without prints and code stay the same ones', () => {
    const place = fc.record({
      line: fc.integer({ min: 1, max: 99 }),
      text: fc.string(),
      level: fc.constantFrom('error', 'note'),
    });
    const logs = fc
      .array(place, { minLength: 4, maxLength: 4 })
      .map((places) =>
        sarifLog(
          places.map(
            (one, i): SarifResult =>
              ({ path: i < 3 ? 'a.ts' : 'b.ts', ...one, text: `${i} ${one.text}` }) as SarifResult,
          ),
        ),
      );
    fc.assert(
      fc.property(logs, logs, (one, other) => {
        expect(identities(one)).toEqual(identities(other));
        expect(new Set(identities(one)).size).toBe(4);
      }),
    );
  });

  test('results that differ in their words alone stay as many, in whatever order they come', () => {
    const results = [said('lodash 4.17.15 is vulnerable'), said('minimist 1.2.0 is vulnerable'), said('x')];
    const { findings } = parsed(logOf(results));
    expect(new Set(findings.map(({ description }) => description)).size).toBe(3);
    expect(parsed(logOf(results.toReversed())).findings).toEqual(findings);
    // One that is told twice is one.
    expect(parsed(logOf([...results, ...results])).findings).toEqual(findings);
  });

  test('the function that it is in tells it apart from another one, by whichever name', () => {
    const inside = (logical: Json, line = 1) =>
      logOf(
        [
          {
            ruleId: 'r',
            message: { text: `at ${line}` },
            ...at('a.ts', line, { logicalLocations: [logical] }),
          },
        ],
        {
          logicalLocations: [{ fullyQualifiedName: 'a.f' }],
        },
      );
    const [f] = identities(inside({ fullyQualifiedName: 'a.f', name: 'f' }));
    expect(identities(inside({ fullyQualifiedName: 'a.f' }, 9))).toEqual([f]);
    expect(identities(inside({ index: 0 }))).toEqual([f]);
    expect(identities(inside({ fullyQualifiedName: 'a.g' }))).not.toEqual([f]);
    expect(identities(inside({ name: 'g' }))).not.toEqual([f]);
    expect(identities(logOf([said('x')]))).not.toEqual([f]);
  });

  test('equal results of two runs of one tool stay two; of one tool told twice, one', () => {
    const [run] = logOf([said('x')]).runs;
    const [moved] = logOf([said('x', at('a.ts', 7))]).runs;
    expect(identities({ version: '2.1.0', runs: [run, moved] })).toEqual(
      identities(logOf([said('x'), said('x', at('a.ts', 7))])),
    );
    expect(identities({ version: '2.1.0', runs: [run, run] })).toHaveLength(1);
  });

  test("two tools under one scanner's name have findings of their own; a tool's version is none of it", () => {
    const one = (driver: string) => identities(logOf([said('x', { fingerprints: { a: 'b' } })], { driver }));
    expect(one('CodeQL')).not.toEqual(one('ESLint'));
    expect(one('CodeQL')).not.toEqual(one('Semgrep OSS'));
    expect(one('PMD 7.1.0')).toEqual(one('pmd 7.2'));
    expect(toolKey('PMD v7.1.0')).toBe('pmd');
    const both = {
      version: '2.1.0',
      runs: ['CodeQL', 'ESLint', 'Semgrep'].flatMap(
        (driver) => logOf(driver === 'Semgrep' ? [] : [said('x')], { driver }).runs,
      ),
    };
    const report = parsed(both);
    expect(report.findings.map(({ tool }) => tool).sort()).toEqual(['CodeQL', 'ESLint']);
    expect(report.tools).toEqual(['CodeQL', 'ESLint', null]);
  });

  test('masked secrets of Trivy are told apart by the line that its message shows', () => {
    const one = (match: string, line: number) =>
      said(
        `Artifact: .env\nType: \nSecret GitHub PAT\nSeverity: CRITICAL\nMatch: ${match}`,
        at('.env', line),
      );
    const of = (...results: object[]) => identities(logOf(results, { driver: 'Trivy' }), null);
    const both = of(one('A=****', 1), one('B=****', 2));
    expect(new Set(both).size).toBe(2);
    expect(both).toEqual(expect.arrayContaining(of(one('B=****', 1))));
    expect(of(one('A=****', 1))).not.toEqual(of(one('B=****', 1)));
    expect(new Set(of(one('A=****', 1), one('A=****', 2))).size).toBe(2);
  });

  const leaked = (...told: (readonly [string, string, number])[]) => {
    const results = told.map(([text, commitSha, startLine]) => {
      const partialFingerprints = { commitSha, email: 'a', author: 'a', date: 'd', commitMessage: 'm' };
      const artifactLocation = { uri: '.env' };
      const region = { startLine, startColumn: 1, snippet: { text } };
      return said('a secret', {
        partialFingerprints,
        locations: [{ physicalLocation: { artifactLocation, region } }],
      });
    });
    return identities(logOf(results, { driver: 'gitleaks' }));
  };

  test('of Gitleaks its line tells a secret, and the commit only where nothing else does', () => {
    const both = leaked(['A=REDACTED', 'c1', 1], ['B=REDACTED', 'c1', 2]);
    expect(new Set(both).size).toBe(2);
    expect(both).toEqual(expect.arrayContaining(leaked(['B=REDACTED', 'c2', 1])));
    for (const mask of ['REDACTED', 'AKIA...']) {
      const masked = leaked([mask, 'c1', 1], [mask, 'c2', 1]);
      expect(new Set(masked).size).toBe(2);
      expect(masked).toEqual(expect.arrayContaining(leaked([mask, 'c2', 1])));
      expect(leaked([mask, 'c1', 1])).not.toEqual(leaked([mask, 'c2', 1]));
    }
    // None is lost where all is equal, but for the commit or the place.
    expect(new Set(leaked(['T=REDACTED', 'c1', 1], ['T=REDACTED', 'c2', 1])).size).toBe(2);
    expect(new Set(leaked(['REDACTED', 'c1', 1], ['REDACTED', 'c1', 2])).size).toBe(2);
  });

  // Another one would give every finding of such a log a new identity.
  test('what prints and code gave, they give', () => {
    const known = logOf([said('x', { fingerprints: { 'v/1': 'zzz' } })], { driver: 'Semgrep OSS' });
    expect(identities(known)).toEqual(['27e3cc58714809d670e6bfe0638c05b80f0da3884f89491cb4fab9ffb244cc88']);
    expect(identities(sarifLog([{ print: 'a' }]))).toEqual([
      '946e4097fade60e190a9974c48cfa7fbdf579a5ba9f5634599fc64d94fe3b4dd',
    ]);
    expect(identities(sarifLog([{ snippet: 'eval(x)' }]))).toEqual([
      '4007f22cb2bbfd5f1b000efaca10fec3e0e5357b4aee06c566fbd05f0a77a78c',
    ]);
  });
});

describe('a run that did not get to its end', () => {
  test.each([
    [
      'an execution that failed',
      { invocations: [{ executionSuccessful: true }, { executionSuccessful: false }] },
      'The report says that the execution of CodeQL was not successful',
    ],
    [
      'an execution that a signal ended',
      { invocations: [{ executionSuccessful: true, exitSignalName: 'SIGKILL' }] },
      'The report says that the execution of CodeQL was not successful',
    ],
    [
      'an execution that never began',
      { invocations: [{ processStartFailureMessage: 'no such file' }] },
      'The report says that the execution of CodeQL was not successful',
    ],
    ['no list of results', { results: undefined }, 'The run of CodeQL has no list of results'],
  ])('%s', (_, run, reason) => {
    expect(parsed(logOf([said('x')], run)).incomplete).toBe(reason);
  });

  test.each(['toolExecutionNotifications', 'toolConfigurationNotifications'])(
    'an error among its %s that names no file, or no other than the root',
    (kind) => {
      for (const told of [
        { level: 'error' },
        ...['', '.', '/', './', 'file:///'].map((uri) => ({ level: 'error', ...at(uri) })),
      ]) {
        const run = { invocations: [{ executionSuccessful: true, [kind]: [told] }] };
        const reason = 'The report tells an error of CodeQL that may have kept results from it';
        expect(parsed(logOf([said('x')], run)).incomplete).toBe(reason);
      }
    },
  );

  const notified = (...told: object[]) => ({
    invocations: [{ executionSuccessful: true, toolExecutionNotifications: told }],
  });

  test('of files and folders that an error or a warning names (its default), only these', () => {
    const told = [
      { level: 'error', ...at('file:///src/a%20b.ts') },
      { level: 'warning', ...at('./c.ts') },
      { level: 'note', ...at('d.ts') },
      { ...at('e.ts') },
      { level: 'error', ...at('src/') },
      { level: 'warning', ...at('file:///w/lib/') },
      { level: 'warning', ...at('/') },
      { level: 'none', ...at('f.ts') },
      { level: 'warning' },
      null,
    ];
    const { incomplete, unread } = parsed(logOf([said('x')], notified(...(told as object[]))));
    expect(incomplete).toBeNull();
    expect(unread).toEqual(['c.ts', 'e.ts', 'src', 'src/a b.ts', 'w/lib']);
  });

  test('is none where only the exit code says so: many tools exit with 1 where they found something', () => {
    const run = { invocations: [{ executionSuccessful: true, exitCode: 1 }] };
    expect(parsed(logOf([said('x')], run))).toMatchObject({ incomplete: null, unread: [] });
  });

  test('a driver whose name is too long is refused for that', () => {
    const named = (length: number) => logOf([said('x')], { driver: 'n'.repeat(length) });
    expect(parsed(named(200)).findings).toHaveLength(1);
    expect(() => parsed(named(201))).toThrow('A tool.driver.name is longer than 200 characters');
  });

  test('is one of several, and the others are whole', () => {
    const runs = [
      ...logOf([said('x')], { driver: 'Trivy' }).runs,
      ...logOf([said('y')], { driver: 'Semgrep OSS', invocations: [{ executionSuccessful: false }] }).runs,
    ];
    const reports = parseSarif({ version: '2.1.0', runs }, 'key', null);
    expect(
      reports.map(({ scanner, findings, incomplete }) => [scanner, findings.length, incomplete !== null]),
    ).toEqual([
      ['trivy', 1, false],
      ['semgrep', 1, true],
    ]);
  });

  test.each([
    ['no invocations', {}],
    ['a good one', { invocations: [{ executionSuccessful: true, exitCode: 1 }] }],
    ['odd ones', { invocations: [null, 7, {}] }],
  ])('is not one with %s', (_, run) => {
    expect(parsed(logOf([], run)).incomplete).toBeNull();
  });

  test('says so without the words of the report', () => {
    const secret = `ghp_${'0123456789abcdef'.repeat(2)}`;
    const { incomplete } = parsed(
      logOf([], {
        driver: `Tool ${secret}`,
        invocations: [{ executionSuccessful: false, exitSignalName: secret }],
      }),
    );
    expect(incomplete).toContain('Tool REDACTED');
    expect(incomplete).not.toContain(secret);
  });

  test('what is no result becomes none, and is counted', () => {
    const odd = [{}, [], null, 7, 'x', { locations: at('a.ts').locations }, { message: {} }];
    const report = parsed(logOf([said('x'), ...odd]));
    expect(report.findings).toHaveLength(1);
    expect(report.incomplete).toBe('7 results could not be read');
    expect(parsed(logOf([said('x'), {}])).incomplete).toBe('1 result could not be read');
    expect(() => parsed(logOf([{}]))).toThrow('None of the semgrep');
  });
});

describe('rules and messages', () => {
  const severe = (id: string) => ({ id, properties: { 'security-severity': '9.9' } });

  test('of a hierarchical id the rule is found by its beginning, the longest first', () => {
    const severity = (ruleId: string, ...rules: unknown[]) =>
      only(logOf([said('x', { ruleId })], { rules }))?.severity;
    expect(severity('CA1000/1', severe('CA1000'))).toBe('critical');
    expect(severity('CA1000/1/2', severe('CA1000'))).toBe('critical');
    expect(severity('CA1000/1', severe('CA1000'), { id: 'CA1000/1' })).toBe('medium');
    expect(severity('CA10001', severe('CA1000'))).toBe('medium');
    expect(severity(`r${'/x'.repeat(100_000)}`, severe('r'))).toBe('medium');
    expect(only(logOf([said('x', { ruleId: 'CA1000/1' })], { rules: [severe('CA1000')] }))?.rule_id).toBe(
      'CA1000/1',
    );
  });

  test('a rule of an extension is found by its id; one odd rule costs none of the others', () => {
    const tool = {
      driver: { name: 'CodeQL', rules: [7] },
      extensions: [null, { rules: [null, severe('r')] }],
    };
    expect(only(logOf([said('x')], { tool }))?.severity).toBe('critical');
    const byIndex = said('x', { ruleId: undefined, rule: { index: 1, toolComponent: { index: 1 } } });
    expect(only(logOf([byIndex], { tool }))).toMatchObject({ rule_id: 'r', severity: 'critical' });
  });

  test('arguments get into their places, in the message or in the one of the rule that it names', () => {
    const described = (message: Json) =>
      only(
        logOf([said('', { message })], {
          rules: [{ id: 'r', messageStrings: { default: { text: "'{0}' calls {1} in {{braces}}" } } }],
        }),
      )?.description;
    expect(described({ id: 'default', arguments: ['f', 'g'] })).toBe("'f' calls g in {braces}");
    expect(described({ text: '{1} before {0}, {2} is not there', arguments: ['a', 'b'] })).toBe(
      'b before a, {2} is not there',
    );
    expect(described({ text: 'a {0} without arguments: {{x}}' })).toBe('a {0} without arguments: {{x}}');
    expect(described({ text: '{0}', arguments: ['{1}', 'x'] })).toBe('{1}');
    expect(described({ id: 'unknown' })).toBe('');
  });

  test('messages that a driver has for all rules are found too', () => {
    const tool = { driver: { name: 'CodeQL', globalMessageStrings: { all: { text: 'For {0}' } } } };
    expect(
      only(logOf([said('', { message: { id: 'all', arguments: ['you'] } })], { tool }))?.description,
    ).toBe('For you');
  });

  test('arguments that would make a mountain of a message are left out', () => {
    const message = { text: '{0}'.repeat(500_000), arguments: ['x'.repeat(10_000)] };
    expect(only(logOf([said('', { message })]))?.description).toHaveLength(4000);
  });

  test('long rule ids stay apart, and readable; control characters go', () => {
    const long = (end: string) => `acme.${'deeply.'.repeat(100)}${end}`;
    const { findings } = parsed(
      logOf([said('x', { ruleId: long('one') }), said('x', { ruleId: long('two') })]),
    );
    const ids = findings.map(({ rule_id }) => rule_id);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^acme\.deeply\..*~[0-9a-f]{16}$/);
    expect(ids.every((id) => id.length === 500)).toBe(true);
    expect(only(logOf([said('x', { ruleId: 'a\u0000b\u001b[31m' })]))?.rule_id).toBe('ab[31m');
  });
});

describe('paths', () => {
  test.each([
    ['src\\lib\\a.cs', 'src/lib/a.cs'],
    ['src//lib/./a.ts', 'src/lib/a.ts'],
    ['./a/../b.ts', 'b.ts'],
    ['../../etc/passwd', 'etc/passwd'],
    ['a/../../b', 'b'],
    ['%2e%2e/%2e%2e/b', 'b'],
    ['file:///src/a%20b.ts', 'src/a b.ts'],
    [
      'https://ann:p%40ss%2Fword@git.test//a/b.ts?token=abc123',
      'https://ann:REDACTED@git.test/a/b.ts?token=REDACTED',
    ],
    ['', '.'],
    ['/', '.'],
    ['..', '.'],
    ['a\u0000b\n.ts', 'ab.ts'],
  ])('%j', (uri, path) => {
    expect(only(logOf([said('x', at(uri))]))?.location.path).toBe(path);
  });

  test('those that are too long stay apart, and readable', () => {
    for (const length of [5000, 200_000]) {
      const long = (end: string) => `src/${'deeply/'.repeat(length / 7)}${end}`;
      const { findings } = parsed(logOf([said('x', at(long('a.ts'))), said('x', at(long('b.ts')))]));
      const paths = findings.map(({ location }) => location.path);
      expect(new Set(paths).size).toBe(2);
      for (const path of paths) expect(path).toMatch(/^src\/deeply\/.*~[0-9a-f]{16}$/);
      for (const path of paths) expect(path.length).toBeLessThanOrEqual(4096);
    }
  });
});

describe('a driver', () => {
  test('a driver that is none of the scanners is named without what it gives away', () => {
    const secret = `ghp_${'0123456789abcdef'.repeat(2)}`;
    expect(() => parsed(logOf([], { driver: secret }), null)).toThrow(SarifError);
    expect(() => parsed(logOf([], { driver: secret }), null)).toThrow('driver REDACTED is none of');
  });
});
