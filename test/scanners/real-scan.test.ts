import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Scanner } from '#domain/vocabulary.ts';
import { SCANNERS } from '#domain/vocabulary.ts';
import { cloneRepository } from '#functions/scanner-runner/clone.ts';
import type { ScannerOutcome } from '#functions/scanner-runner/scan-checkout.ts';
import { scanCheckout } from '#functions/scanner-runner/scan-checkout.ts';
import { parseReport } from '#shared/reports/parse.ts';
import { prepareScannerDatabases, requireScanner } from '#test/harness/scanner-databases.ts';
import type { VulnerableRepository } from '#test/harness/vulnerable-repository.ts';
import { commitFiles, createVulnerableRepository, git } from '#test/harness/vulnerable-repository.ts';

let root: string;
let databases: Record<string, string>;
let repository: VulnerableRepository;

beforeAll(async () => {
  await Promise.all(SCANNERS.map(requireScanner));
  root = await mkdtemp(join(tmpdir(), 'real-scan-'));
  databases = await prepareScannerDatabases(join(root, 'databases'));
  repository = await createVulnerableRepository({ currentSecret: true });
});
afterAll(async () => {
  await repository?.remove();
  await rm(root, { recursive: true, force: true });
});

interface Scanned {
  readonly outcomes: ScannerOutcome[];
  readonly reports: Map<Scanner, unknown>;
  readonly milliseconds: number;
}

async function scan(
  path: string,
  env: NodeJS.ProcessEnv,
  scanners: readonly Scanner[] = SCANNERS,
): Promise<Scanned> {
  const checkout = await mkdtemp(join(root, 'checkout-'));
  await cloneRepository({ url: path, into: checkout, history: true, protocols: ['file'] });
  const reports = new Map<Scanner, unknown>();
  const started = performance.now();
  const outcomes = await scanCheckout({
    checkout,
    scanners,
    key: 'key of the organization',
    deadline: Date.now() + 60_000,
    env: { ...process.env, ...env },
    onReport: async (scanner, { report }) => void reports.set(scanner, report),
  });
  return { outcomes, reports, milliseconds: performance.now() - started };
}

function rules(reports: Map<Scanner, unknown>, scanner: Scanner): string[] {
  const { findings } = parseReport(scanner, reports.get(scanner));
  return findings.map(({ rule_id, location }) => `${rule_id} ${location.path}`);
}

describe('the four scanners over a real repository', () => {
  let scanned: Scanned;
  beforeAll(async () => {
    scanned = await scan(repository.path, databases);
  });

  test('all complete, and side by side', () => {
    expect(scanned.outcomes.map(({ status }) => status)).toEqual([
      'completed',
      'completed',
      'completed',
      'completed',
    ]);
    const slowest = Math.max(...scanned.outcomes.map(({ durationMs }) => durationMs));
    expect(scanned.milliseconds - slowest).toBeLessThan(1500);
  });

  test('each contributes what is there to be found', () => {
    expect(rules(scanned.reports, 'gitleaks')).toEqual(['github-pat app/config.py', 'github-pat web/.env']);
    expect(rules(scanned.reports, 'grype')).toEqual([
      'GHSA-hmr4-m2h5-33qx requirements.txt',
      'GHSA-p6mc-m468-83gw web/package-lock.json',
    ]);
    expect(rules(scanned.reports, 'trivy')).toEqual(
      expect.arrayContaining([
        'CVE-2020-7471 requirements.txt',
        'CVE-2020-8203 web/package-lock.json',
        'DS-0002 Dockerfile',
        'github-pat web/.env',
      ]),
    );
    const semgrep = rules(scanned.reports, 'semgrep');
    expect(semgrep.filter((rule) => rule.endsWith(' app/main.py')).length).toBeGreaterThanOrEqual(3);
    expect(semgrep.filter((rule) => rule.endsWith(' web/server.js')).length).toBeGreaterThanOrEqual(1);
    // Free of the folder that the rule pack lies in.
    for (const rule of semgrep) expect(rule.split(' ')[0]).not.toContain('.');
  });

  test('neither secret, nor the name of who committed it, is anywhere in the reports and outcomes', () => {
    const text = JSON.stringify([[...scanned.reports], scanned.outcomes]);
    for (const secret of [repository.secret, repository.currentSecret ?? '']) {
      expect(secret).not.toBe('');
      expect(text).not.toContain(secret);
    }
    expect(text).not.toContain('fixture@example.test');
  });

  test('the same findings after the code moved and the history was rewritten', async () => {
    const copy = join(root, 'rewritten');
    await git(root, 'clone', '--quiet', repository.path, copy);
    const main = await git(copy, 'show', 'HEAD:app/main.py');
    await commitFiles(copy, { 'app/main.py': `# moved\n\n\n${main}\n` }, 'move');
    await git(copy, 'rebase', '--quiet', '--root', '--exec', 'git commit --quiet --amend -m rewritten');
    const again = await scan(copy, databases);
    for (const scanner of SCANNERS) {
      const fingerprints = (reports: Map<Scanner, unknown>) =>
        parseReport(scanner, reports.get(scanner))
          .findings.map(({ fingerprint }) => fingerprint)
          .sort();
      expect(fingerprints(again.reports), scanner).toEqual(fingerprints(scanned.reports));
    }
  });
});

describe('without databases', () => {
  test('Trivy and Grype fail with advice, the other two complete', async () => {
    const empty = { TRIVY_CACHE_DIR: join(root, 'no-trivy'), GRYPE_DB_CACHE_DIR: join(root, 'no-grype') };
    const { outcomes } = await scan(repository.path, { ...databases, ...empty });
    const told = outcomes.map((outcome) => [
      outcome.scanner,
      outcome.status,
      outcome.status === 'failed' ? outcome.message : '',
    ]);
    expect(told).toEqual([
      ['semgrep', 'completed', ''],
      ['grype', 'failed', expect.stringContaining('Grype has no vulnerability database')],
      ['trivy', 'failed', expect.stringContaining('Trivy has no vulnerability database')],
      ['gitleaks', 'completed', ''],
    ]);
  });
});

describe('a repository that works against its scanners', () => {
  test('its own scanner configuration is not obeyed', async () => {
    const hostile = await createVulnerableRepository({ path: await mkdtemp(join(root, 'hostile-')) });
    const written = join(root, 'written-by-grype');
    await commitFiles(
      hostile.path,
      {
        '.gitleaks.toml': '[allowlist]\npaths = [".*"]\n',
        '.grype.yaml': `file: ${written}\nonly-fixed: false\nignore:\n  - package:\n      name: lodash\n`,
        'trivy.yaml': 'scan:\n  scanners: [license]\nseverity: [LOW]\n',
        'trivy-secret.yaml': 'disable-rules: [github-pat]\n',
      },
      'configure the scanners',
    );
    const { reports } = await scan(hostile.path, databases, ['gitleaks', 'grype', 'trivy']);
    expect(rules(reports, 'gitleaks')).toEqual(['github-pat app/config.py']);
    expect(rules(reports, 'grype')).toHaveLength(2);
    expect(rules(reports, 'trivy')).toEqual(
      expect.arrayContaining(['CVE-2020-7471 requirements.txt', 'DS-0002 Dockerfile']),
    );
  });

  test('a file of 200 MB is passed over, and the rest is scanned', async () => {
    const large = await createVulnerableRepository({ path: await mkdtemp(join(root, 'large-')) });
    const line = `${'x'.repeat(99)}\n`;
    await commitFiles(large.path, { 'large.py': line.repeat(2 * 1024 * 1024) }, 'add a large file');
    const { outcomes } = await scan(large.path, databases);
    expect(outcomes.map(({ status }) => status)).toEqual([
      'completed',
      'completed',
      'completed',
      'completed',
    ]);
    for (const { durationMs } of outcomes) expect(durationMs).toBeLessThan(20_000);
  }, 120_000);
});
