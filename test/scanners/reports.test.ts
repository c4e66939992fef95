import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Scanner } from '#domain/vocabulary.ts';
import { SCANNERS } from '#domain/vocabulary.ts';
import { InvalidReportError, parseReport, recogniseReport } from '#shared/reports/parse.ts';
import { sanitiseReport } from '#shared/reports/sanitise.ts';

function sample(scanner: Scanner): unknown {
  return JSON.parse(readFileSync(new URL(`../fixtures/reports/${scanner}.json`, import.meta.url), 'utf8'));
}

/** What a person would check by eye: severity, rule, place. */
function summary(scanner: Scanner): string[] {
  return parseReport(scanner, sample(scanner)).findings.map(
    ({ severity, rule_id, location }) => `${severity} ${rule_id} ${location.path}:${location.start_line}`,
  );
}

describe('the samples of the four scanners', () => {
  test('semgrep', () => {
    expect(summary('semgrep')).toEqual([
      'high py-eval-user-input app/main.py:11',
      'critical py-subprocess-shell-true app/main.py:17',
      'medium py-sql-taint app/main.py:25',
      'info py-md5 app/main.py:30',
      'high js-exec web/server.js:5',
    ]);
    expect(parseReport('semgrep', sample('semgrep')).findings[2]).toEqual({
      scanner: 'semgrep',
      rule_id: 'py-sql-taint',
      title: 'Py SQL taint',
      description: 'user input flows to SQL',
      severity: 'medium',
      category: 'code',
      cve_id: null,
      cwe: ['CWE-89'],
      cvss_score: null,
      epss_score: null,
      epss_percentile: null,
      kev: false,
      package: null,
      location: { path: 'app/main.py', start_line: 25, end_line: 25 },
      fix: null,
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test('grype: CVE from the related advisory, EPSS, KEV, CVSS and fix', () => {
    const { findings, warnings } = parseReport('grype', sample('grype'));
    expect(warnings).toEqual([]);
    expect(findings).toHaveLength(2);
    expect(findings[0]).toEqual({
      scanner: 'grype',
      rule_id: 'GHSA-hmr4-m2h5-33qx',
      title: 'CVE-2020-7471: SQL injection in Django',
      description: 'SQL injection in Django',
      severity: 'critical',
      category: 'vulnerability',
      cve_id: 'CVE-2020-7471',
      cwe: ['CWE-89'],
      cvss_score: 9.8,
      epss_score: 0.1,
      epss_percentile: 0.95,
      kev: true,
      package: { name: 'django', version: '2.2.0', fixed_version: '2.2.10', purl: 'pkg:pypi/django@2.2.0' },
      location: { path: 'requirements.txt', start_line: null, end_line: null },
      fix: 'Upgrade django to 2.2.10',
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(findings[1]).toMatchObject({
      cve_id: 'CVE-2020-8203',
      kev: false,
      fix: 'Upgrade lodash to 4.17.19',
    });
  });

  test('trivy: vulnerabilities, misconfigurations and secrets', () => {
    const { findings } = parseReport('trivy', sample('trivy'));
    const counts = Object.groupBy(findings, ({ category }) => category);
    expect(counts.vulnerability).toHaveLength(2);
    expect(counts.misconfiguration).toHaveLength(18);
    expect(counts.secret).toHaveLength(1);
    expect(findings.find(({ rule_id }) => rule_id === 'CVE-2020-8203')).toMatchObject({
      title: 'lodash: prototype pollution',
      severity: 'high',
      cwe: ['CWE-1321'],
      cvss_score: 7.4,
      package: {
        name: 'lodash',
        version: '4.17.15',
        fixed_version: '4.17.19',
        purl: 'pkg:npm/lodash@4.17.15',
      },
      location: { path: 'web/package-lock.json', start_line: 8, end_line: 8 },
      fix: 'Upgrade lodash to 4.17.19',
    });
    expect(findings.find(({ rule_id }) => rule_id === 'DS-0002')).toMatchObject({
      title: "Image user should not be 'root'",
      severity: 'high',
      location: { path: 'Dockerfile', start_line: 2, end_line: 2 },
      fix: "Add 'USER <non root user name>' line to the Dockerfile",
    });
    expect(findings.find(({ category }) => category === 'secret')).toMatchObject({
      title: 'GitHub Personal Access Token',
      severity: 'critical',
      location: { path: 'web/.env', start_line: 1, end_line: 1 },
    });
  });

  test('gitleaks', () => {
    expect(summary('gitleaks')).toEqual([
      'critical aws-access-token app/config.py:1',
      'critical github-pat app/config.py:2',
      'critical github-pat web/.env:1',
    ]);
    expect(parseReport('gitleaks', sample('gitleaks')).findings[1]).toMatchObject({
      title: 'GitHub PAT',
      category: 'secret',
      description: expect.stringContaining('First found in commit 4e6973c67335 of 2026-01-02.'),
    });
  });
});

describe('what is not such a report', () => {
  test.each(
    SCANNERS.flatMap((scanner) => ['rubbish', null, 7, {}, { a: [] }].map((report) => ({ scanner, report }))),
  )('$scanner: $report', ({ scanner, report }) => {
    expect(() => parseReport(scanner, report)).toThrow(InvalidReportError);
    expect(() => recogniseReport(scanner, report)).toThrow(`This is no ${scanner} report`);
  });

  test.each(SCANNERS)('%s refuses the reports of the other three', (scanner) => {
    for (const other of SCANNERS) {
      if (other !== scanner)
        expect(() => parseReport(scanner, sample(other)), other).toThrow(InvalidReportError);
    }
  });

  test('one odd result is left out and counted; nothing but odd results is an error', () => {
    const semgrep = sample('semgrep') as { results: unknown[] };
    const mixed = parseReport('semgrep', { ...semgrep, results: [...semgrep.results, { check_id: 7 }, 'x'] });
    expect(mixed.findings).toHaveLength(5);
    expect(mixed.warnings).toEqual(['2 of 7 results of the semgrep report were malformed and left out.']);
    expect(() => parseReport('semgrep', { ...semgrep, results: [{}, null] })).toThrow('None of the semgrep');
    expect(() => parseReport('gitleaks', [{ RuleID: '' }])).toThrow(InvalidReportError);
    expect(() => parseReport('trivy', { SchemaVersion: 2, Results: ['x'] })).toThrow(InvalidReportError);
    expect(() => parseReport('grype', { matches: [{ artifact: {} }] })).toThrow(InvalidReportError);
  });

  test('a clean report is clean', () => {
    const clean = { findings: [], warnings: [], incomplete: null, unread: [] };
    expect(parseReport('semgrep', { results: [], errors: [] })).toEqual({ ...clean, hidden: [] });
    expect(parseReport('grype', { matches: [] })).toEqual(clean);
    expect(parseReport('trivy', { SchemaVersion: 2 })).toEqual(clean);
    expect(parseReport('gitleaks', [])).toEqual(clean);
  });
});

describe('a report that does not tell all that is there', () => {
  const listed = (scanner: Scanner, ...more: unknown[]): unknown => {
    const report = sample(scanner);
    if (Array.isArray(report)) return [...report, ...more];
    const fields = report as Record<string, unknown>;
    const name = { semgrep: 'results', grype: 'matches', trivy: 'Results', gitleaks: '' }[scanner];
    return { ...fields, [name]: [...(fields[name] as unknown[]), ...more] };
  };

  test.each(SCANNERS)('%s: results that can not be read become none, and are counted', async (scanner) => {
    const whole = parseReport(scanner, sample(scanner));
    expect(whole.incomplete).toBeNull();
    const context = { key: 'key', readLines: async () => null, secrets: new Set<string>() };
    for (const read of [
      listed(scanner, {}, [], 'x'),
      await sanitiseReport(scanner, listed(scanner, {}, [], 'x'), context),
    ]) {
      const { findings, incomplete } = parseReport(scanner, read);
      expect(findings).toHaveLength(whole.findings.length);
      expect(incomplete).toBe('3 results could not be read');
    }
    expect(parseReport(scanner, listed(scanner, null)).incomplete).toBe('1 result could not be read');
  });

  const secret = 'hunter22-not-known';
  const error = (level: string, type: unknown) => ({
    code: 2,
    level,
    type,
    path: 'a.py',
    message: secret,
    spans: [secret],
  });
  const timeout = 'semgrep ran out of time or memory: 1 error in its report';

  test.each([
    [
      'a rule that it could not run',
      [error('error', 'Rule parse error')],
      'semgrep could not run everything: 1 error in its report',
    ],
    [
      'a crash',
      [error('error', 'Fatal error'), error('error', [secret, secret])],
      'semgrep could not run everything: 2 errors in its report',
    ],
    ['files that it left for want of time', [error('warn', 'Timeout')], timeout],
    ['files that it left for want of memory', [error('warn', 'Out of memory')], timeout],
    [
      'both',
      [error('error', 'Fatal error'), error('error', 'Timeout')],
      `semgrep could not run everything: 1 error in its report; ${timeout}`,
    ],
    [
      'source that nobody can parse',
      [
        error('warn', ['PartialParsing', [{ path: secret }]]),
        error('warn', 'Syntax error'),
        error('error', 'Syntax error'),
      ],
      null,
    ],
    [
      'rules for another version',
      [error('info', ['IncompatibleRule', {}]), error('info', 'Missing plugin')],
      null,
    ],
    ['what no error is', [null, 7, {}, 'x'], 'semgrep told what can not be read: 4 errors in its report'],
    [
      'source that it does not name',
      [{ level: 'warn', type: 'PartialParsing' }],
      'semgrep could not run everything: 1 error in its report',
    ],
  ])('semgrep: %s', async (_, errors, reason) => {
    const report = { ...(sample('semgrep') as object), errors };
    expect(parseReport('semgrep', report).incomplete).toBe(reason);
    // What the runner sends tells as much, and nothing of the source.
    const context = { key: 'key', readLines: async () => null, secrets: new Set<string>() };
    const clean = await sanitiseReport('semgrep', report, context);
    expect(parseReport('semgrep', clean)).toMatchObject({ incomplete: reason });
    expect(JSON.stringify(clean)).not.toContain(secret);
  });

  const many = { scanned: Array.from({ length: 100 }, (_, index) => `${index}.py`) };

  test('semgrep: of files that it could not analyse alone nothing is known to be gone', async () => {
    const errors = [
      { ...error('warn', ['PartialParsing', [{ path: secret }]]), path: './src\\\\a.py' },
      { ...error('error', 'Syntax error'), path: 'b.py' },
      { ...error('warn', 'Timeout'), path: 'c.py' },
      { ...error('warn', 'Out of memory'), path: 'c.py' },
      { ...error('warn', 'Something else'), path: 'd.py' },
      { ...error('info', 'IncompatibleRule'), path: 'rules.yaml' },
    ];
    const report = { ...(sample('semgrep') as object), errors, paths: many };
    const context = { key: 'key', readLines: async () => null, secrets: new Set<string>() };
    for (const told of [report, await sanitiseReport('semgrep', report, context)])
      expect(parseReport('semgrep', told)).toMatchObject({
        incomplete: null,
        unread: ['b.py', 'c.py', 'd.py', 'src/a.py'],
      });
  });

  test.each([
    ['many files', Array.from({ length: 11 }, (_, index) => ({ type: 'Timeout', path: `${index}.py` }))],
    ['it does not say which', [{ type: 'Out of memory' }]],
    ['files together', [{ type: 'Timeout during interfile analysis', path: 'a.py' }]],
  ])('semgrep: left for want of time or memory, %s: the whole run fell short', (_, errors) => {
    const told = errors.map((one) => ({ level: 'warn', ...one }));
    const report = { ...(sample('semgrep') as object), errors: told, paths: many };
    expect(parseReport('semgrep', report).incomplete).toContain('ran out of time or memory');
  });

  test.each([{ path: 'b.py' }, 'x', 7, false])('semgrep: no list of errors, but %j', async (errors) => {
    const report = { ...(sample('semgrep') as object), errors };
    const context = { key: 'key', readLines: async () => null, secrets: new Set<string>() };
    for (const told of [report, await sanitiseReport('semgrep', report, context)])
      expect(parseReport('semgrep', told).incomplete).toContain('can not be read: 1 error');
  });

  test('what Semgrep was told to skip was skipped in the last run too', () => {
    const paths = { scanned: ['a.py'], skipped: [{ path: 'big.js', reason: 'exceeded_size_limit' }] };
    expect(parseReport('semgrep', { ...(sample('semgrep') as object), paths }).incomplete).toBeNull();
  });
});

describe('severities, texts and paths', () => {
  const leak = (RuleID: string) => ({ RuleID, File: './a//b.txt', StartLine: 1, EndLine: 1 });

  test.each([
    ['private-key', 'critical'],
    ['aws-access-token', 'critical'],
    ['gitlab-pat', 'critical'],
    ['generic-api-key', 'high'],
    ['slack-bot-token', 'high'],
  ])('gitleaks %s is %s', (rule, severity) => {
    expect(parseReport('gitleaks', [leak(rule)]).findings[0]).toMatchObject({ severity });
  });

  test.each(['Negligible', 'Unknown', 'Nonsense', undefined])('grype %s is info', (severity) => {
    const match = {
      vulnerability: { id: 'CVE-2020-1234', severity },
      artifact: { name: 'a', locations: [{ path: '/x' }] },
    };
    expect(parseReport('grype', { matches: [match] }).findings[0]).toMatchObject({ severity: 'info' });
  });

  test('long and unprintable texts are cut and cleaned', () => {
    const result = {
      check_id: 'a',
      path: '/./src/a.py',
      start: { line: 3, col: 1 },
      end: { line: 2, col: 1 },
      extra: {
        message: `\u001b[31mred${'x'.repeat(5000)}`,
        severity: 'LOW',
        metadata: { title: 't'.repeat(300), cwe: ['CWE-89: b', 'CWE-79', 'CWE-89', 7], fix: 'Do this' },
      },
    };
    const finding = parseReport('semgrep', { results: [result] }).findings[0];
    expect(finding?.title).toHaveLength(200);
    expect(finding?.description).toHaveLength(4000);
    expect(finding?.description).not.toContain('\u001b');
    expect(finding).toMatchObject({
      severity: 'low',
      cwe: ['CWE-79', 'CWE-89'],
      fix: 'Do this',
      location: { path: 'src/a.py', start_line: 3, end_line: 3 },
    });
  });

  test('paths have one form, and none leads out of the repository', () => {
    const path = (File: string) =>
      parseReport('gitleaks', [{ ...leak('r'), File }]).findings[0]?.location.path;
    expect(['./a//b.txt', 'a\\b.txt', '/a/./b.txt', '../x/../a/b.txt'].map(path)).toEqual(
      Array(4).fill('a/b.txt'),
    );
    expect(path(`${'a/'.repeat(4000)}b.txt`)).toMatch(/^a\/a\/.*~[0-9a-f]{16}$/);
  });

  test('a rule or package with a long name is a result like any other', () => {
    const name = 'n'.repeat(600);
    const match = (end: string) => ({
      vulnerability: { id: `${name}${end}` },
      artifact: { name: `${name}${end}`, locations: [{ path: '/x' }] },
    });
    const { findings, incomplete } = parseReport('grype', { matches: [match('a'), match('b')] });
    expect(incomplete).toBeNull();
    expect(new Set(findings.map(({ rule_id }) => rule_id)).size).toBe(2);
    expect(findings.map((one) => one.package?.name.length)).toEqual([500, 500]);
  });

  test('checks that passed are no findings', () => {
    const check = { ID: 'DS-0002', Severity: 'HIGH', Status: 'PASS' };
    const report = { SchemaVersion: 2, Results: [{ Target: 'Dockerfile', Misconfigurations: [check] }] };
    expect(parseReport('trivy', report).findings).toEqual([]);
  });
});
