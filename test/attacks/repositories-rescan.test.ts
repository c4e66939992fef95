import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { findings } from '#contract/operations/findings.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { scans } from '#contract/operations/scans.ts';
import { type RepositoryExclusions, SCANNERS, type Scanner } from '#domain/vocabulary.ts';
import { attack } from '#test/harness/attack.ts';
import { listFindingsOf } from '#test/harness/importing.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { requireScanner } from '#test/harness/scanner-databases.ts';
import { addRepository, scanToEnd } from '#test/harness/scanning.ts';
import {
  commitFiles,
  createVulnerableRepository,
  githubToken,
  type VulnerableRepository,
} from '#test/harness/vulnerable-repository.ts';

/** What was found once, and what becomes of it when the repository hides it. */
const WEAK = 'import hashlib\n\n\ndef sign(x):\n    return hashlib.md5(x)';
const secret = `TOKEN = "${githubToken()}"`;
const FILES = {
  'weak.py': `${WEAK}\n`,
  'excluded/weak.py': `${WEAK}\n`,
  'token.py': `${secret}\n`,
  'comment/Dockerfile': 'FROM python:3.12\nUSER root\n',
};
/** Everything of it hidden, each in its own way; what of the repository is not named here stays in sight. */
const HIDING = {
  'weak.py': `${WEAK}  # nosemgrep\n`,
  '.semgrepignore': 'excluded/\n',
  '.gitleaks.toml': `[extend]\nuseDefault = true\n[allowlist]\npaths = ["token\\\\.py"]\n`,
  '.trivyignore': 'CVE-2020-7471\n',
  'comment/Dockerfile': 'FROM python:3.12\n#trivy:ignore:DS-0002\nUSER root\n',
  '.grype.yaml': 'ignore:\n  - package:\n      name: django\n',
};

let org: TestOrganization;
let repository: VulnerableRepository;
let asset: string;

beforeAll(async () => {
  await Promise.all(SCANNERS.map(requireScanner));
  org = await createTestOrganization();
  repository = await createVulnerableRepository();
  await commitFiles(repository.path, FILES, 'more to be found');
  asset = await addRepository(org, pathToFileURL(repository.path).href);
  await scanToEnd(org, asset, SCANNERS);
});
afterAll(() => repository?.remove());

async function set(repository_exclusions: RepositoryExclusions) {
  const params = { org_id: org.orgId };
  const body = { settings: { repository_exclusions } };
  const changed = await org.client.call(organizations.operations.updateOrganization, { params, body });
  expect(changed.settings).toMatchObject(body.settings);
}

async function find(scanner: Scanner, path: string, rule?: string) {
  const own = (await listFindingsOf(org, asset)).filter((one) => {
    return one.scanner === scanner && one.location.path === path && (rule ?? one.rule_id) === one.rule_id;
  });
  return own.map(({ status, suppressed_in_repository }) => [status, suppressed_in_repository?.kind ?? null]);
}

async function confirm(scanner: Scanner, path: string) {
  const found = await listFindingsOf(org, asset);
  const one = found.find((finding) => finding.scanner === scanner && finding.location.path === path);
  const params = { finding_id: one?.id ?? '' };
  await org.client.call(findings.operations.updateFinding, { params, body: { status: 'confirmed' } });
}

async function hiddenBy(scan: { id: string }) {
  const { data } = await org.client.call(scans.operations.listScanRuns, { params: { scan_id: scan.id } });
  const states = data.flatMap((run) => run.scanners);
  return states.flatMap(({ scanner, suppressed_in_repository: hidden }) =>
    hidden.map((one) => [scanner, one.kind, one.count, one.places.map(({ path }) => path)]),
  );
}

describe('a repository hides what was found in it', () => {
  attack('hostile repositories', 'got through', 'and nothing is resolved, or hidden', async () => {
    await commitFiles(repository.path, { ...HIDING, '.gitattributes': '* binary\n' }, 'hide');
    const scan = await scanToEnd(org, asset, SCANNERS);
    expect(scan).toMatchObject({ status: 'completed', new_count: 0, resolved_count: 0 });
    expect(await hiddenBy(scan)).toEqual([]);
    expect((await listFindingsOf(org, asset)).map(({ status }) => status)).not.toContain('resolved');
  });

  attack('hostile repositories', 'got through', 'with leave to: marked, counted, not resolved', async () => {
    await set('honour');
    await confirm('gitleaks', 'token.py');
    await commitFiles(repository.path, { 'new.py': `${WEAK}  # nosemgrep\n` }, 'new, and hidden');
    const scan = await scanToEnd(org, asset, SCANNERS);
    expect(scan).toMatchObject({ status: 'completed', error: null, new_count: 0, resolved_count: 0 });
    expect(scan.suppressed_in_repository_count).toBe(6);
    expect(await hiddenBy(scan)).toEqual([
      ['semgrep', 'nosemgrep', 2, ['new.py', 'weak.py']],
      ['semgrep', 'semgrepignore', 1, ['excluded/weak.py']],
      ['trivy', 'trivy_comment', 1, ['comment/Dockerfile']],
      ['trivy', 'trivyignore', 1, ['requirements.txt']],
      ['gitleaks', 'gitleaks_config', 1, ['token.py']],
    ]);
    expect(await find('semgrep', 'weak.py')).toEqual([['open', 'nosemgrep']]);
    expect(await find('semgrep', 'excluded/weak.py')).toEqual([['open', 'semgrepignore']]);
    // Nobody knew it: it is counted alone.
    expect(await find('semgrep', 'new.py')).toEqual([]);
    expect(await find('gitleaks', 'token.py')).toEqual([['confirmed', 'gitleaks_config']]);
    expect(await find('gitleaks', 'app/config.py')).toEqual([['open', null]]);
    expect(await find('trivy', 'comment/Dockerfile', 'DS-0002')).toEqual([['open', 'trivy_comment']]);
    expect(await find('trivy', 'requirements.txt')).toEqual([['open', 'trivyignore']]);
    // Its exclusions are configuration, which is never the repository's.
    expect(await find('grype', 'requirements.txt')).toEqual([['open', null]]);
  });

  attack('hostile repositories', 'got through', 'an exclusion of everything: incomplete', async () => {
    await commitFiles(
      repository.path,
      { '.semgrepignore': '*\n', '.gitleaks.toml': '[allowlist]\npaths = [".*"]\n' },
      'hide all',
    );
    const scan = await scanToEnd(org, asset, ['semgrep', 'gitleaks']);
    expect(scan).toMatchObject({ status: 'partial', resolved_count: 0 });
    const told = scan.error?.details?.map(({ scanner, code }) => `${scanner} ${code}`);
    expect(told?.sort()).toEqual(['gitleaks report_incomplete', 'semgrep report_incomplete']);
    expect(scan.error?.message).toContain('what the repository excludes leaves nothing');
  });

  attack(
    'hostile repositories',
    'got through',
    'the mark goes when it is seen again, or is gone',
    async () => {
      await set('overrule');
      await commitFiles(
        repository.path,
        { 'excluded/weak.py': 'print("mended")\n', 'weak.py': `${WEAK}\n${'#'.repeat(1_000_001)}\n` },
        'mend one, and make the other too large for Semgrep',
      );
      const scan = await scanToEnd(org, asset, ['semgrep', 'gitleaks']);
      expect(scan).toMatchObject({ status: 'completed', resolved_count: 1 });
      expect(await find('semgrep', 'excluded/weak.py')).toEqual([['resolved', null]]);
      expect(await find('gitleaks', 'token.py')).toEqual([['confirmed', null]]);
      expect(await find('semgrep', 'new.py')).toEqual([['open', null]]);
      // Nobody has read it since.
      expect(await find('semgrep', 'weak.py')).toEqual([['open', 'nosemgrep']]);
    },
  );
});
