import { constants } from 'node:fs';
import { access, readdir, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import type { Scanner } from '#domain/vocabulary.ts';
import { runProcess } from './process.ts';
import { isFitting, SCANNER_RELEASES } from './versions.ts';

export interface LocatedScanner {
  readonly path: string;
  /** `unknown` for a program that does not tell: see `locateScanner`. */
  readonly version: string;
  readonly from: 'path' | 'cache';
}

/** Longest wait for a program to name its version; the slowest of the four takes 1.2 s. */
const VERSION_TIMEOUT_MS = 3000;

const VERSION_ARGUMENTS: Readonly<Record<Scanner, readonly string[]>> = {
  semgrep: ['--version'],
  grype: ['version'],
  trivy: ['--version'],
  gitleaks: ['version'],
};

/**
 * Finds a scanner: the first of its name on PATH, unless it tells a version that does not fit
 * (`isFitting`), else the pinned one in the cache folder that `npm run scanners` fills.
 *
 * A program on PATH whose version can't be told is taken as it is (`go install` without linker
 * flags leaves it unset): its report is checked in any case, so that an unusable one ends in a
 * clear failure and not in a silently different tool. Relative entries of PATH are passed over,
 * because scans run inside of untrusted checkouts.
 *
 * Cheap by design, a scan waits for it: nothing is run for the cache folder, whose folder names
 * hold the versions, nor for Semgrep on PATH, whose start alone costs a second, as long as its
 * package metadata lie where pip puts them.
 */
export async function locateScanner(
  scanner: Scanner,
  env: NodeJS.ProcessEnv = process.env,
): Promise<LocatedScanner | null> {
  const onPath = await findOnPath(scanner, env);
  if (onPath !== null) {
    const version = await versionOf(scanner, onPath, env);
    if (version === null) return { path: onPath, version: 'unknown', from: 'path' };
    if (isFitting(scanner, version)) return { path: onPath, version, from: 'path' };
  }
  const { version } = SCANNER_RELEASES[scanner];
  const path = join(installFolder(scanner, env), 'bin', scanner);
  return (await isExecutable(path)) ? { path, version, from: 'cache' } : null;
}

/** The cache folder: `ASPM_SCANNERS_DIR`, else the user's cache by the XDG rule. */
export function scannersFolder(env: NodeJS.ProcessEnv = process.env): string {
  const own = env.ASPM_SCANNERS_DIR;
  if (own !== undefined && own !== '') return own;
  const xdg = env.XDG_CACHE_HOME;
  const cache = xdg !== undefined && isAbsolute(xdg) ? xdg : join(env.HOME ?? homedir(), '.cache');
  return join(cache, 'aspm', 'scanners');
}

/** `<cache>/<scanner>-<version>`, with the program at `bin/<scanner>`: complete wherever it exists. */
export function installFolder(scanner: Scanner, env: NodeJS.ProcessEnv = process.env): string {
  return join(scannersFolder(env), `${scanner}-${SCANNER_RELEASES[scanner].version}`);
}

async function findOnPath(name: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const path = join(folder, name);
    if (await isExecutable(path)) return path;
  }
  return null;
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function versionOf(scanner: Scanner, path: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  const told = scanner === 'semgrep' ? await packageVersion(path) : null;
  return told ?? (await askVersion(scanner, path, env));
}

/** pip keeps `semgrep-1.182.0.dist-info` beside the package, at a fixed place from the program. */
async function packageVersion(path: string): Promise<string | null> {
  try {
    const lib = join(dirname(await realpath(path)), '..', 'lib');
    for (const python of (await readdir(lib)).filter((name) => name.startsWith('python3'))) {
      for (const packages of ['site-packages', 'dist-packages']) {
        const names = await readdir(join(lib, python, packages)).catch(() => []);
        const found = names.map((name) => /^semgrep-(\d[\d.]*)\.dist-info$/.exec(name)?.[1]).find(Boolean);
        if (found !== undefined) return found;
      }
    }
  } catch {
    // Installed in some other way: the program itself is asked.
  }
  return null;
}

async function askVersion(scanner: Scanner, path: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  const { exitCode, stdout } = await runProcess({
    file: path,
    args: VERSION_ARGUMENTS[scanner],
    env: {
      ...env,
      // Without these Semgrep and Grype ask their makers for news first; offline that takes 98 s.
      SEMGREP_ENABLE_VERSION_CHECK: '0',
      SEMGREP_SEND_METRICS: 'off',
      GRYPE_CHECK_FOR_APP_UPDATE: 'false',
    },
    timeoutMs: VERSION_TIMEOUT_MS,
    stdoutLimit: 65_536,
  });
  // Of the lines that hold versions (Grype lists its libraries' too) one is the program's.
  const version = exitCode === 0 ? /\bv?(\d+\.\d+\.\d+)\b/.exec(versionLine(stdout))?.[1] : undefined;
  return version ?? null;
}

/** The line `Version: …` where there is one, even if it says that none is set; else the first line. */
function versionLine(output: string): string {
  const lines = output.split('\n');
  return lines.find((line) => /^version:/i.test(line.trim())) ?? lines[0] ?? '';
}
