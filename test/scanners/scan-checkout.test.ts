import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Scanner } from '#domain/vocabulary.ts';
import type { ScanProgress } from '#functions/scanner-runner/scan-checkout.ts';
import { scanCheckout } from '#functions/scanner-runner/scan-checkout.ts';
import { createVulnerableRepository } from '#test/harness/vulnerable-repository.ts';
import { EMPTY, fake } from './fake-scanner.ts';

let root: string;
let bin: string;
let checkout: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'scan-checkout-'));
  ({ path: checkout } = await createVulnerableRepository({ path: await mkdtemp(join(root, 'repo-')) }));
});
afterAll(() => rm(root, { recursive: true, force: true }));
beforeEach(async () => {
  bin = await mkdtemp(join(root, 'bin-'));
  const temporary = await mkdtemp(join(root, 'tmp-'));
  env = {
    PATH: `${bin}:/usr/bin:/bin`,
    HOME: root,
    TMPDIR: temporary,
    ASPM_SCANNERS_DIR: join(root, 'none'),
  };
});

describe('a checkout', () => {
  test('one that fails holds up none, and what Gitleaks found is scrubbed from the others', async () => {
    const secret = `${randomBytes(10).toString('hex')}!x`;
    const leak = JSON.stringify([
      { RuleID: 'generic-api-key', File: 'a', StartLine: 1, EndLine: 1, Secret: secret, Match: secret },
    ]);
    const result = {
      check_id: 'r',
      path: 'app/main.py',
      start: { line: 1, col: 1 },
      end: { line: 1, col: 2 },
      extra: { severity: 'ERROR', message: `found ${secret}`, metadata: {} },
    };
    await fake(bin, 'gitleaks', `sleep 0.3; echo '${leak}' > "$report"; exit 77`);
    await fake(bin, 'semgrep', `echo '${JSON.stringify({ results: [result], errors: [] })}' > "$report"`);
    await fake(bin, 'trivy', `echo "no: ${secret}" >&2; exit 9`);
    const events: [Scanner, ScanProgress['type']][] = [];
    const reports: string[] = [];
    const outcomes = await scanCheckout({
      checkout,
      scanners: ['semgrep', 'grype', 'trivy', 'gitleaks', 'semgrep'],
      key: 'k',
      deadline: Date.now() + 20_000,
      env,
      onProgress: (scanner, { type }) => events.push([scanner, type]),
      onReport: async (scanner, { report }) => void reports.push(`${scanner} ${JSON.stringify(report)}`),
    });
    expect(
      outcomes.map((outcome) => [
        outcome.scanner,
        outcome.status === 'failed' ? outcome.code : outcome.findings,
      ]),
    ).toEqual([
      ['semgrep', 1],
      ['grype', 'scanner_not_installed'],
      ['trivy', 'scanner_failed'],
      ['gitleaks', 1],
    ]);
    expect(reports).toHaveLength(2);
    expect(JSON.stringify([reports, outcomes])).not.toContain(secret);
    expect(reports.join()).toContain('found REDACTED');
    expect(events).toContainEqual(['semgrep', 'started']);
    expect(events).toContainEqual(['semgrep', 'finished']);
    expect(events).toContainEqual(['grype', 'failed']);
    expect(events.filter(([, type]) => type !== 'started')).toHaveLength(4);
    expect(await readdir(env.TMPDIR ?? ''), 'no raw report stays behind').toEqual([]);
  });

  test('Gitleaks fails: the others go on', async () => {
    await fake(bin, 'gitleaks', 'exit 1');
    await fake(bin, 'grype', `echo '${EMPTY.grype}' > "$report"`);
    const outcomes = await scanCheckout({
      checkout,
      scanners: ['gitleaks', 'grype'],
      key: 'k',
      deadline: Date.now() + 20_000,
      env,
    });
    expect(outcomes).toMatchObject([{ code: 'scanner_failed' }, { status: 'completed', findings: 0 }]);
  });

  test('a report of which nothing can be read is no clean one', async () => {
    await fake(bin, 'grype', `echo '{"matches":[{"odd":1}]}' > "$report"`);
    const outcomes = await scanCheckout({
      checkout,
      scanners: ['grype'],
      key: 'k',
      deadline: Date.now() + 20_000,
      env,
    });
    expect(outcomes).toMatchObject([{ status: 'failed', code: 'report_invalid' }]);
  });

  test('a report that can not be handed over fails the scan', async () => {
    await fake(bin, 'grype', `echo '${EMPTY.grype}' > "$report"`);
    const onReport = () => Promise.reject(new Error('upload failed'));
    const scan = scanCheckout({
      checkout,
      scanners: ['grype'],
      key: 'k',
      deadline: Date.now() + 20_000,
      env,
      onReport,
    });
    await expect(scan).rejects.toThrow('upload failed');
  });
});
