import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * `npm run setup`: what the tests need beside the packages: the four scanners, and a Chromium for the
 * reference page. Installs what it can, and says what it can't.
 */
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

const failures = [...installScanners(), ...installBrowser()];
for (const failure of failures) console.error(`Missing: ${failure}`);
process.exitCode = failures.length > 0 ? 1 : 0;

function installScanners(): string[] {
  const script = fileURLToPath(new URL('scanners.ts', import.meta.url));
  return run(process.execPath, [script, '--all']) ? [] : ['some scanners (the lines above say why)'];
}

function installBrowser(): string[] {
  if (process.env.ASPM_CHROMIUM || CHROMIUM.some((path) => existsSync(path))) return [];
  const isRoot = process.getuid?.() === 0;
  if (isRoot && existsSync('/usr/bin/apt-get')) {
    console.log('Installing Chromium with apt-get');
    if (run('apt-get', ['update', '-qq']) && run('apt-get', ['install', '-y', '-qq', 'chromium'])) return [];
  }
  return ['Chromium: install it with your package manager, or name it in ASPM_CHROMIUM'];
}

function run(command: string, words: readonly string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync(command, words, { stdio: ['ignore', 'inherit', 'inherit'], env }).status === 0;
}
