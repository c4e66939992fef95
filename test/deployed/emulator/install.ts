import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { scannersFolder } from '#functions/scanner-runner/locate.ts';
import { runProcess } from '#functions/scanner-runner/process.ts';
import { relocate } from '#infra/cli/scanners/install.ts';
import { lockFolder } from '#infra/cli/scanners/lock.ts';
import { PROJECT_ROOT } from '#infra/project.ts';

const OWN = join(PROJECT_ROOT, 'test/deployed/emulator');
const REQUIREMENTS = join(OWN, 'requirements.txt');
/** A download on a slow line; it takes twenty seconds on a quick one. */
const INSTALL_MS = 15 * 60_000;

/** What the emulator is made of: another list, or another mend, is another folder. */
function fingerprint(): string {
  const hash = createHash('sha256');
  for (const name of ['requirements.txt', 'mend.py', 'docker/__init__.py', 'docker/errors.py'])
    hash.update(readFileSync(join(OWN, name)));
  return hash.digest('hex').slice(0, 12);
}

/** Its folder in the cache, a virtual environment of Python: complete wherever it exists. */
function emulatorFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(scannersFolder(env), `ministack-${fingerprint()}`);
}

/** Brings the emulator by pip, once, and closes its gaps. @throws Error that says which step failed */
export async function ensureEmulator(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const folder = emulatorFolder(env);
  if (existsSync(folder)) return folder;
  await mkdir(scannersFolder(env), { recursive: true });
  await using _lock = await lockFolder(scannersFolder(env));
  // Whoever held the lock before may have brought it.
  if (existsSync(folder)) return folder;
  const partial = join(scannersFolder(env), '.partial-ministack');
  await rm(partial, { recursive: true, force: true });
  console.log('pip brings the emulator (MiniStack)');
  const python = join(partial, 'bin', 'python3');
  await execute('python3', ['-m', 'venv', '--clear', partial], env);
  await execute(
    python,
    ['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--quiet', '-r', REQUIREMENTS],
    env,
  );
  await execute(python, [join(OWN, 'mend.py')], env);
  await cp(join(OWN, 'docker'), join(partial, 'stand-in', 'docker'), { recursive: true });
  await relocate(partial, folder);
  await rename(partial, folder);
  return folder;
}

async function execute(file: string, args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { exitCode, startError, stdout, stderr } = await runProcess({
    file,
    args,
    env,
    timeoutMs: INSTALL_MS,
    stdoutLimit: 1_000_000,
  });
  if (startError === null && exitCode === 0) return;
  const said = `${stdout}\n${stderr}`.trim().split('\n').slice(-3).join(' / ');
  // Addresses of private registries can hold credentials.
  const safe = said.replace(/\/\/[^/@\s]*@/g, '//').slice(0, 600);
  throw new Error(
    `The emulator could not be installed (${args.slice(0, 3).join(' ')}): ${startError ?? safe}`,
  );
}
