import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Scanner } from '#domain/vocabulary.ts';
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
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Exit codes of a scan that went through. */
  readonly success: readonly number[];
}

/** Gitleaks exits 1 for leaks and for errors alike unless it is told another code for leaks. */
const LEAKS_FOUND = 77;

/**
 * The command line of a scanner that runs in the checkout. The repository's ignore lists and inline comments
 * count, they are its team's word on single findings; its scanner *configuration* does not (each scanner is
 * pointed to a file of ours): that could switch rules off, name other databases, or have reports written
 * to any path.
 * @param folder private folder of this run, for those files
 */
export async function scannerCommand(
  scanner: Scanner,
  settings: ScannerSettings,
  folder: string,
  report: string,
  remainingMs: number,
): Promise<ScannerCommand> {
  switch (scanner) {
    case 'semgrep':
      return semgrepCommand(settings, folder, report);
    case 'gitleaks':
      return gitleaksCommand(folder, report);
    case 'trivy':
      return trivyCommand(settings, folder, report, remainingMs);
    case 'grype':
      return grypeCommand(settings, folder, report);
  }
}

async function semgrepCommand(
  settings: ScannerSettings,
  folder: string,
  report: string,
): Promise<ScannerCommand> {
  const options = ['--metrics', 'off', '--disable-version-check', '--json', '--output', report, '--quiet'];
  return {
    args: ['scan', '--config', await rulesPath(settings), ...options, '.'],
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

/** Without `--redact`: the HMAC is made of the secret. The report stays in the private folder, and briefly. */
async function gitleaksCommand(folder: string, report: string): Promise<ScannerCommand> {
  const config = join(folder, 'gitleaks.toml');
  await writeFile(config, '[extend]\nuseDefault = true\n');
  const megabytes = String(LARGEST_SCANNED_FILE / 1024 ** 2);
  const output = ['--report-format', 'json', '--report-path', report, '--exit-code', String(LEAKS_FOUND)];
  return {
    args: [
      'git',
      '--no-banner',
      '--no-color',
      '--config',
      config,
      '--max-target-megabytes',
      megabytes,
      ...output,
      '.',
    ],
    env: {},
    success: [0, LEAKS_FOUND],
  };
}

async function trivyCommand(
  settings: ScannerSettings,
  folder: string,
  report: string,
  remainingMs: number,
): Promise<ScannerCommand> {
  const config = join(folder, 'trivy.yaml');
  const secrets = join(folder, 'trivy-secret.yaml');
  await Promise.all([writeFile(config, '{}\n'), writeFile(secrets, '{}\n')]);
  const offline = ['--skip-db-update', '--skip-java-db-update', '--skip-check-update'];
  return {
    args: [
      ...['fs', '--config', config, '--secret-config', secrets, '--scanners', 'vuln,secret,misconfig'],
      // Its own limit is five minutes; ours is the scan's.
      ...['--timeout', `${Math.max(1, Math.ceil(remainingMs / 1000))}s`, '--skip-version-check'],
      ...(settings.offline ? offline : []),
      // Else it asks whatever Maven repositories a `pom.xml` names, also on this machine's loopback.
      '--offline-scan',
      ...['--quiet', '--format', 'json', '--output', report, '.'],
    ],
    env: {},
    success: [0],
  };
}

/** Not `--quiet`: with it Grype does not even say why it failed. */
async function grypeCommand(
  settings: ScannerSettings,
  folder: string,
  report: string,
): Promise<ScannerCommand> {
  const config = join(folder, 'grype.yaml');
  await writeFile(config, '{}\n');
  return {
    args: ['dir:.', '--config', config, '-o', `json=${report}`],
    env: {
      GRYPE_CHECK_FOR_APP_UPDATE: 'false',
      ...(settings.offline && { GRYPE_DB_AUTO_UPDATE: 'false', GRYPE_DB_VALIDATE_AGE: 'false' }),
    },
    success: [0],
  };
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
