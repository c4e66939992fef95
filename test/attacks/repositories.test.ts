import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { SCANNERS, type Scanner } from '#domain/vocabulary.ts';
import { cloneRepository } from '#functions/scanner-runner/clone.ts';
import { scanCheckout } from '#functions/scanner-runner/scan-checkout.ts';
import { parseReport } from '#shared/reports/parse.ts';
import { type AttackHistory, attack } from '#test/harness/attack.ts';
import { prepareScannerDatabases, requireScanner } from '#test/harness/scanner-databases.ts';
import {
  commitFiles,
  createVulnerableRepository,
  git,
  githubToken,
  neutralAttributes,
  type VulnerableRepository,
} from '#test/harness/vulnerable-repository.ts';

/**
 * Repositories that want to hide from scanners what is in them, by every file and comment that the four look for.
 * One repository with all of it, scanned once with all four: what each attack hides has to be in the reports.
 */
type Attempt = readonly [AttackHistory, title: string, path: string, contents: string];

const WEAK = 'import hashlib\n\n\ndef sign(x):\n    return hashlib.md5(x)';
const secret = (more = '') => `TOKEN = "${githubToken()}"${more}\n`;

/** Each file holds a secret. The history of a file is in `committed`. */
const SECRETS: readonly Attempt[] = [
  ['got through', '.gitattributes: binary', 'binary.py', secret()],
  ['got through', '.gitattributes: -diff in a folder of its own', 'nested/undiffed.py', secret()],
  ['got through', '.gitattributes: a macro that says -diff', 'macro.rb', secret()],
  ['held', '.gitattributes: a macro of the name diff', 'named.go', secret()],
  ['held', '.gitattributes: a diff driver', 'driver.js', secret()],
  ['got through', 'a NUL byte behind the secret', 'nul.py', `${secret()}\0\n`],
  ['held', '.gitleaks.toml: every path is allowed', 'config.py', secret()],
  ['got through', '.gitleaksignore: its fingerprint', 'ignored.py', secret()],
  ['got through', 'gitleaks:allow', 'allowed.py', secret(' # gitleaks:allow')],
  ['held', 'begins like a PDF', 'begins.py', `%PDF-1.4\n${secret()}`],
  ['held', 'within .gitleaksignore', '.gitleaksignore', `ignored.py:github-pat:1\n# ${secret()}`],
  [
    'got through',
    'within trivy-secret.yaml',
    'trivy-secret.yaml',
    `disable-rules: [github-pat]\n# ${secret()}`,
  ],
];

/** What each file is in git's history, besides being committed. */
const HIDDEN_IN_HISTORY: readonly (readonly [AttackHistory, title: string, path: string])[] = [
  ['got through', 'moved here from a lockfile, which Gitleaks passes over', 'moved.py'],
  ['got through', 'a link that became a file', 'link.py'],
  ['got through', 'brought in by a merge alone', 'merged.py'],
  ['got through', 'brought in by a merge alone, and removed', 'merged-and-gone.py'],
  ['got through', 'brought in by a merge of three', 'octopus.py'],
];

const CODE: readonly Attempt[] = [
  ['got through', '.semgrepignore in the root', 'covered.py', `${WEAK}\n`],
  ['got through', '.semgrepignore in a folder', 'nested/covered.py', `${WEAK}\n`],
  ['got through', 'nosemgrep', 'all.py', `${WEAK}  # nosemgrep\n`],
  ['got through', 'nosem', 'short.py', `${WEAK}  # nosem\n`],
  ['got through', 'nosemgrep with the rule', 'rule.py', `${WEAK}  # nosemgrep: python-weak-hash\n`],
  [
    'got through',
    'nosemgrep on the line before',
    'before.py',
    `${WEAK.replace('    return', '    # nosemgrep\n    return')}\n`,
  ],
  ['got through', '.gitattributes: working-tree-encoding', 'encoded.py', `${WEAK}\n`],
  ['held', '.gitattributes: ident', 'ident.py', `${WEAK}  # $Id$\n`],
  ['held', '.gitignore of a committed file', 'gitignored.py', `${WEAK}\n`],
];

const PRIVILEGED = `apiVersion: v1
kind: Pod
metadata:
  name: p
spec:
  containers:
  - name: a
    image: a:1
    securityContext:
      privileged: true
`;
const ROOT = 'FROM python:3.12\nUSER root\n';
const rootAfter = (comment: string) => ROOT.replace('USER', `${comment}\nUSER`);
const MISCONFIGURED: readonly (readonly [...Attempt, rule: string])[] = [
  ['got through', '.trivyignore', 'listed/Dockerfile', 'FROM python:latest\nUSER app\n', 'DS-0001'],
  ['got through', 'trivy:ignore', 'comment/Dockerfile', rootAfter('#trivy:ignore:DS-0002'), 'DS-0002'],
  [
    'got through',
    'trivy:ignore with an end',
    'dated/Dockerfile',
    rootAfter('# trivy:exp:2999-01-01:ignore:DS-0002'),
    'DS-0002',
  ],
  ['got through', 'tfsec:ignore', 'tfsec/Dockerfile', rootAfter('#tfsec:ignore:DS-0002'), 'DS-0002'],
  [
    'got through',
    'trivy:ignore:* over a resource',
    'infra/main.tf',
    '#trivy:ignore:*\nresource "aws_s3_bucket" "b" {\n  bucket = "b"\n}\n',
    'AWS-0086',
  ],
  ['held', '.helmignore', 'chart/templates/pod.yaml', PRIVILEGED, 'KSV-0017'],
];

/** Files that a scanner passes over without a word: what is known of them must not seem to be gone. */
const PASSED_OVER: readonly (readonly [Scanner, title: string, path: string, contents: string])[] = [
  ['semgrep', 'more than a megabyte', 'padded.py', `${WEAK}\n${'#'.repeat(1_000_000)}\n`],
  ['semgrep', 'in a folder of its own exclusions', 'tests/weak.py', `${WEAK}\n`],
  ['trivy', 'a control character at its beginning', 'control.env', `#\u0001\n${secret()}`],
  ['grype', 'a byte order mark before a list', 'marked/requirements.txt', '\uFEFFdjango==2.2.0\n'],
  ['trivy', 'a lockfile that is no JSON', 'broken/package-lock.json', '{"packages": {},\n'],
  ['grype', 'a lockfile that is no JSON', 'broken/package-lock.json', '{"packages": {},\n'],
  ...SCANNERS.map((scanner) => {
    return [scanner, 'more than 50 megabytes', 'huge/package-lock.json', ' '.repeat(51 * 1024 ** 2)] as const;
  }),
];

const ATTRIBUTES = `[attr]hide -diff
[attr]diff working-tree-encoding=UTF-16
binary.py binary
*.rb hide
*.go diff
*.js diff=nothing
encoded.py working-tree-encoding=UTF-16LE
ident.py ident eol=crlf
`;
const EXCLUSIONS: Readonly<Record<string, string>> = {
  '.gitattributes': ATTRIBUTES,
  'nested/.gitattributes': '* -diff\n',
  '.gitignore': 'gitignored.py\n',
  '.gitleaks.toml': '[allowlist]\npaths = [".*"]\n',
  '.semgrepignore': 'covered.py\n',
  'nested/.semgrepignore': '*\n',
  '.semgrep.yml': 'rules: []\n',
  'chart/Chart.yaml': 'apiVersion: v2\nname: c\nversion: 0.1.0\n',
  'chart/.helmignore': 'templates/*\n',
  '.trivyignore': 'CVE-2020-7471\nCVE-2020-8203\nDS-0001\n',
  '.trivyignore.yaml': 'vulnerabilities:\n  - id: CVE-2020-8203\n',
  'trivy.yaml': 'scan:\n  skip-dirs: ["**"]\n  scanners: [license]\nseverity: [LOW]\n',
  '.grype.yaml': 'exclude: ["**/*"]\nignore:\n  - package:\n      name: lodash\n',
  '.grype/config.yaml': 'ignore:\n  - package:\n      name: django\n',
  '.syft.yaml': 'exclude: ["**/*"]\n',
};

let root: string;
let repository: VulnerableRepository;
const reports = new Map<Scanner, { rule: string; path: string }[]>();
const unread = new Map<Scanner, readonly string[]>();

beforeAll(async () => {
  await Promise.all(SCANNERS.map(requireScanner));
  root = await mkdtemp(join(tmpdir(), 'repositories-'));
  repository = await createVulnerableRepository({ currentSecret: true });
  await neutralAttributes(repository.path);
  await commitHistory(repository.path);
  const files = [...SECRETS, ...CODE, ...MISCONFIGURED, ...PASSED_OVER].map(([, , path, contents]) => [
    path,
    contents,
  ]);
  await commitFiles(repository.path, { ...Object.fromEntries(files), ...EXCLUSIONS }, 'hide everything');
  const checkout = join(root, 'checkout');
  await cloneRepository({ url: repository.path, into: checkout, history: true, protocols: ['file'] });
  const outcomes = await scanCheckout({
    checkout,
    scanners: SCANNERS,
    key: 'key of the organization',
    deadline: Date.now() + 60_000,
    env: { ...process.env, ...(await prepareScannerDatabases(join(root, 'databases'))) },
    onReport: async (scanner, { report, beside }) => {
      unread.set(scanner, beside.unread);
      const { findings } = parseReport(scanner, report);
      reports.set(
        scanner,
        findings.map(({ rule_id, location }) => ({ rule: rule_id, path: location.path })),
      );
    },
  });
  expect(outcomes.filter(({ status }) => status === 'failed')).toEqual([]);
});
afterAll(async () => {
  await repository?.remove();
  await rm(root, { recursive: true, force: true });
});

/** What history brings in by ways that `git log` does not show. */
async function commitHistory(path: string): Promise<void> {
  await commitFiles(path, { 'package-lock.json': secret() }, 'a lockfile with a secret');
  await git(path, 'mv', 'package-lock.json', 'moved.py');
  await git(path, 'commit', '--quiet', '--message', 'move');
  await git(path, 'branch', 'one');
  await git(path, 'branch', 'two');
  await git(path, 'branch', 'three');
  for (const branch of ['one', 'two', 'three']) {
    await git(path, 'checkout', '--quiet', branch);
    await commitFiles(path, { [`${branch}.txt`]: 'something\n' }, branch);
  }
  await git(path, 'checkout', '--quiet', 'main');
  await commitFiles(path, { 'main.txt': 'something\n' }, 'main');
  await git(path, 'merge', '--quiet', '--no-commit', 'one');
  await commitFiles(path, { 'merged.py': secret(), 'merged-and-gone.py': secret() }, 'a merge with a secret');
  await git(path, 'merge', '--quiet', '--no-commit', 'two', 'three');
  await commitFiles(path, { 'octopus.py': secret() }, 'a merge of three with a secret');
  await git(path, 'rm', '--quiet', 'merged-and-gone.py');
  await commitLink(path, 'link.py');
  await rm(join(path, 'link.py'));
  await writeFile(join(path, 'link.py'), secret());
  await git(path, 'add', '--all');
  await git(path, 'commit', '--quiet', '--message', 'a file in place of the link');
}

async function commitLink(path: string, name: string): Promise<void> {
  await git(path, 'config', 'core.symlinks', 'true');
  await git(path, 'commit', '--quiet', '--allow-empty', '--message', 'gone');
  await writeFile(join(path, '.git', 'target'), 'moved.py');
  const blob = await git(path, 'hash-object', '-w', join(path, '.git', 'target'));
  await git(path, 'update-index', '--add', '--cacheinfo', `120000,${blob},${name}`);
  await git(path, 'commit', '--quiet', '--message', 'a link');
  await git(path, 'checkout', '--quiet', '--', name);
}

function rulesOf(scanner: Scanner, path: string): string[] {
  return (reports.get(scanner) ?? []).filter((one) => one.path === path).map(({ rule }) => rule);
}

describe('Gitleaks sees a secret', () => {
  for (const [history, title, path] of [...SECRETS, ...HIDDEN_IN_HISTORY])
    attack('hostile repositories', history, `${title} (${path})`, () => {
      expect(rulesOf('gitleaks', path)).toEqual(['github-pat']);
    });
});

describe('Semgrep sees weak code', () => {
  for (const [history, title, path] of CODE)
    attack('hostile repositories', history, `${title} (${path})`, () => {
      expect(rulesOf('semgrep', path)).toEqual(['python-weak-hash']);
    });
});

describe('Trivy sees', () => {
  for (const [history, title, path, , rule] of MISCONFIGURED)
    attack('hostile repositories', history, `a misconfiguration: ${title} (${path})`, () => {
      expect(rulesOf('trivy', path)).toContain(rule);
    });

  attack('hostile repositories', 'got through', 'a secret within its own file of rules', () => {
    expect(rulesOf('trivy', 'trivy-secret.yaml')).toEqual(['github-pat']);
  });
  attack('hostile repositories', 'got through', 'vulnerable packages: .trivyignore, trivy.yaml', () => {
    expect(rulesOf('trivy', 'requirements.txt')).toEqual(['CVE-2020-7471']);
    expect(rulesOf('trivy', 'web/package-lock.json')).toEqual(['CVE-2020-8203']);
  });
});

describe('Grype sees', () => {
  attack('hostile repositories', 'held', 'vulnerable packages: .grype.yaml, .syft.yaml', () => {
    expect(rulesOf('grype', 'requirements.txt')).toHaveLength(1);
    expect(rulesOf('grype', 'web/package-lock.json')).toHaveLength(1);
  });
});

describe('what a scanner passes over without a word is told to be unread', () => {
  for (const [scanner, title, path] of PASSED_OVER)
    attack('hostile repositories', 'got through', `${scanner}: ${title} (${path})`, () => {
      expect(unread.get(scanner)).toContain(path);
      expect(rulesOf(scanner, path)).toEqual([]);
    });

  attack('hostile repositories', 'held', 'and what is read is not', () => {
    for (const scanner of ['grype', 'trivy', 'gitleaks'] as const)
      expect(unread.get(scanner)).not.toContain('requirements.txt');
    expect(unread.get('semgrep')).not.toContain('all.py');
    expect(unread.get('trivy')).not.toContain('binary.py');
  });
});
