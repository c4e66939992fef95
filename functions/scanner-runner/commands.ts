import { randomUUID } from 'node:crypto';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RepositoryExclusions, Scanner } from '#domain/vocabulary.ts';
import { LARGEST_SCANNED_FILE } from './environment.ts';

export interface ScannerSettings {
  /** A file or folder of Semgrep rules, or the name of a registry pack. */
  readonly semgrepConfig: string;
  /** Trivy and Grype use the databases that are there, however old, and download nothing. */
  readonly offline: boolean;
}

/** The rule pack of our own is the default because it needs no network. */
export function readScannerSettings(env: NodeJS.ProcessEnv): ScannerSettings {
  return {
    semgrepConfig: env.ASPM_SEMGREP_CONFIG || fileURLToPath(new URL('./rules', import.meta.url)),
    offline: env.ASPM_SCANNERS_OFFLINE === '1',
  };
}

export interface ScannerCommand {
  readonly cwd: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Exit codes of a scan that went through. */
  readonly success: readonly number[];
}

/** Gitleaks exits 1 for leaks and for errors alike unless it is told another code for leaks. */
const LEAKS_FOUND = 77;

/** Where a scanner runs, and on what. */
export interface ScannerPlace {
  readonly checkout: string;
  /** Private folder of this run: for our configuration files, and to run in. */
  readonly folder: string;
  readonly report: string;
  readonly remainingMs: number;
  /** `honour`: the exclusions and comments of the repository count. */
  readonly exclusions: RepositoryExclusions;
  /** For Gitleaks: options of `git log -p` (see `wholeHistory`). */
  readonly history: readonly string[];
}

/**
 * The command line of a scanner. It runs in a folder of its own, not in the checkout, and takes every file of
 * configuration from us: what lies in a repository under a name that a scanner looks for is found by none.
 * Where the organization lets repositories exclude, their ignore lists, allow lists and comments count, never what
 * else a configuration can say: switch rules on, name databases and servers, have reports written to any path.
 */
export async function scannerCommand(
  scanner: Scanner,
  settings: ScannerSettings,
  place: ScannerPlace,
): Promise<ScannerCommand> {
  switch (scanner) {
    case 'semgrep':
      return semgrepCommand(settings, place);
    case 'gitleaks':
      return gitleaksCommand(place);
    case 'trivy':
      return trivyCommand(settings, place);
    case 'grype':
      return grypeCommand(settings, place);
  }
}

/**
 * Semgrep alone runs in the checkout: it tells paths as it is given them. It looks for `.semgrepignore` in every
 * folder, and is told another name, that nobody can know: then its own list of exclusions applies.
 */
async function semgrepCommand(
  settings: ScannerSettings,
  { checkout, folder, report, exclusions }: ScannerPlace,
): Promise<ScannerCommand> {
  const options = ['--metrics', 'off', '--disable-version-check', '--json', '--output', report, '--quiet'];
  const overruled = ['--disable-nosem', `--x-semgrepignore-filename=.ignore-${randomUUID()}`];
  return {
    cwd: checkout,
    args: [
      ...['scan', '--config', await rulesPath(settings), ...options],
      ...(exclusions === 'overrule' ? overruled : []),
      '.',
    ],
    env: {
      SEMGREP_ENABLE_VERSION_CHECK: '0',
      SEMGREP_SEND_METRICS: 'off',
      // Not the user's: they hold a login, and runs side by side write to them.
      SEMGREP_SETTINGS_FILE: join(folder, 'semgrep.yml'),
      SEMGREP_LOG_FILE: join(folder, 'semgrep.log'),
    },
    success: [0],
  };
}

/**
 * Without `--redact`: the HMAC is made of the secret. The report stays in the private folder, and briefly.
 * The repository is named by its `.git`: Gitleaks reads `.gitleaksignore` of what it is pointed to, whatever the
 * options say, and nothing in a tree gets in there.
 */
async function gitleaksCommand({
  checkout,
  folder,
  report,
  exclusions,
  history,
}: ScannerPlace): Promise<ScannerCommand> {
  const own = join(folder, 'gitleaks.toml');
  await writeFile(own, '[extend]\nuseDefault = true\n');
  const theirs = join(checkout, '.gitleaks.toml');
  const honoured = exclusions === 'honour';
  const config = honoured && (await isFile(theirs)) ? theirs : own;
  const megabytes = String(LARGEST_SCANNED_FILE / 1024 ** 2);
  return {
    cwd: folder,
    args: [
      ...['git', '--no-banner', '--no-color', '--config', config, '--max-target-megabytes', megabytes],
      ...(history.length > 0 ? ['--log-opts', history.join(' ')] : []),
      ...['--report-format', 'json', '--report-path', report, '--exit-code', String(LEAKS_FOUND)],
      ...(honoured ? [] : ['--ignore-gitleaks-allow']),
      honoured ? checkout : join(checkout, '.git'),
    ],
    env: {},
    success: [0, LEAKS_FOUND],
  };
}

async function trivyCommand(
  settings: ScannerSettings,
  { checkout, folder, report, remainingMs, exclusions }: ScannerPlace,
): Promise<ScannerCommand> {
  // Trivy passes over a file of the repository that is called like the one with rules for secrets.
  const own = join(folder, `${randomUUID()}.yaml`);
  await writeFile(own, '{}\n');
  const theirs = async (...names: readonly string[]) => {
    for (const name of exclusions === 'honour' ? names : [])
      if (await isFile(join(checkout, name))) return join(checkout, name);
    return own;
  };
  const offline = ['--skip-db-update', '--skip-java-db-update', '--skip-check-update'];
  return {
    cwd: folder,
    args: [
      ...['fs', '--config', own, '--secret-config', await theirs('trivy-secret.yaml')],
      ...['--ignorefile', await theirs('.trivyignore', '.trivyignore.yaml', '.trivyignore.yml')],
      ...['--scanners', 'vuln,secret,misconfig'],
      // Its own limit is five minutes; ours is the scan's.
      ...['--timeout', `${Math.max(1, Math.ceil(remainingMs / 1000))}s`, '--skip-version-check'],
      ...(settings.offline ? offline : []),
      // Else it asks whatever Maven repositories a `pom.xml` names, also on this machine's loopback.
      '--offline-scan',
      // Not `--quiet`: it says nowhere else which files it could not parse.
      ...['--no-progress', '--format', 'json', '--output', report, checkout],
    ],
    env: {},
    success: [0],
  };
}

/** Not `--quiet`: with it Grype does not even say why it failed. It has exclusions in its configuration alone. */
async function grypeCommand(
  settings: ScannerSettings,
  { checkout, folder, report }: ScannerPlace,
): Promise<ScannerCommand> {
  const config = join(folder, 'grype.yaml');
  await writeFile(config, '{}\n');
  return {
    cwd: folder,
    args: [`dir:${checkout}`, '--config', config, '-o', `json=${report}`],
    env: {
      GRYPE_CHECK_FOR_APP_UPDATE: 'false',
      ...(settings.offline && { GRYPE_DB_AUTO_UPDATE: 'false', GRYPE_DB_VALIDATE_AGE: 'false' }),
    },
    success: [0],
  };
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isFile() === true;
}

/** Absolute where it is a path, because Semgrep runs elsewhere; as it is where it names a pack. */
async function rulesPath({ semgrepConfig }: ScannerSettings): Promise<string> {
  const path = resolve(semgrepConfig);
  return (await stat(path).catch(() => null)) === null ? semgrepConfig : path;
}

/**
 * What Semgrep puts before a local rule's id: the dotted path of the folder that the rule's file is in,
 * without the characters that an id can't have. Longest first, for `sanitiseReport`.
 */
export async function semgrepRulePrefixes(settings: ScannerSettings): Promise<string[]> {
  const path = await rulesPath(settings);
  const found = await stat(path).catch(() => null);
  if (found === null) return [];
  const root = found.isDirectory() ? path : dirname(path);
  const inside = found.isDirectory() ? await readdir(root, { recursive: true, withFileTypes: true }) : [];
  const folders = [
    root,
    ...inside.filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name)),
  ];
  return folders.map(dottedPrefix).sort((a, b) => b.length - a.length);
}

function dottedPrefix(folder: string): string {
  const dotted = folder.split('/').join('.').replace(/^\.+/, '');
  return `${dotted}.`.replace(/[^a-zA-Z0-9._-]/g, '');
}

/** A folder that only this user can look into, for raw reports and what scanners leave behind. */
export async function privateFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  return path;
}
