import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Scanner } from '#domain/vocabulary.ts';
import { SCANNERS } from '#domain/vocabulary.ts';
import { InvalidReportError, parseReport, recogniseReport } from '#shared/reports/parse.ts';

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
    expect(parseReport('semgrep', { results: [], errors: [] })).toEqual({ findings: [], warnings: [] });
    expect(parseReport('grype', { matches: [] })).toEqual({ findings: [], warnings: [] });
    expect(parseReport('trivy', { SchemaVersion: 2 })).toEqual({ findings: [], warnings: [] });
    expect(parseReport('gitleaks', [])).toEqual({ findings: [], warnings: [] });
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

  test('checks that passed are no findings', () => {
    const check = { ID: 'DS-0002', Severity: 'HIGH', Status: 'PASS' };
    const report = { SchemaVersion: 2, Results: [{ Target: 'Dockerfile', Misconfigurations: [check] }] };
    expect(parseReport('trivy', report).findings).toEqual([]);
  });
});
