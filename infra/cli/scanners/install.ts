import { chmod, cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { Scanner } from '#domain/vocabulary.ts';
import { installFolder, scannersFolder } from '#functions/scanner-runner/locate.ts';
import type { ProcessOutcome } from '#functions/scanner-runner/process.ts';
import { runProcess } from '#functions/scanner-runner/process.ts';
import type { ScannerRelease } from '#functions/scanner-runner/versions.ts';
import { SCANNER_RELEASES } from '#functions/scanner-runner/versions.ts';
import { explainInstallFailure, InstallError } from './failure.ts';

export interface InstallContext {
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal | undefined;
  /** What is being done now, in a few words. */
  readonly onStep: (text: string) => void;
}

type GoInstall = Extract<ScannerRelease['install'], { versionVariable: string }>;

/**
 * Installs the pinned release of a scanner from its registry, by that registry's ordinary client, into a
 * folder beside the final one, and renames that at the end: the final folder is complete wherever it
 * exists. A run that was cut off leaves a partial folder, which the next one replaces; what the clients
 * had downloaded and compiled by then is in their own caches and is not done again.
 * @throws InstallError
 */
export async function installScanner(scanner: Scanner, context: InstallContext): Promise<void> {
  const release = SCANNER_RELEASES[scanner];
  const final = installFolder(scanner, context.env);
  // Always the same name: Go compiles a module anew when its folder has another one.
  const partial = join(scannersFolder(context.env), `.partial-${scanner}`);
  await removeTree(partial);
  await mkdir(join(partial, 'bin'), { recursive: true });
  try {
    const { install } = release;
    if (install.by === 'pip') await installByPip(install.package, release.version, partial, final, context);
    else if (install.by === 'go install') await installByGo(install, release.version, partial, context);
    else await buildByGo(install, release.version, partial, context);
    await removeTree(final);
    await rename(partial, final);
  } catch (error) {
    await removeTree(partial);
    throw error;
  }
}

async function installByPip(
  name: string,
  version: string,
  partial: string,
  final: string,
  context: InstallContext,
) {
  context.onStep('making a virtual environment');
  await execute(name, 'python3', ['-c', 'import venv, ensurepip'], context);
  await execute(name, 'python3', ['-m', 'venv', '--clear', partial], context);
  context.onStep(`pip install ${name}==${version}`);
  const pip = ['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', `${name}==${version}`];
  await execute(name, join(partial, 'bin', 'python3'), pip, context);
  await relocate(partial, final);
}

/** A virtual environment's programs name its folder in their first line: let them name the final one. */
export async function relocate(partial: string, final: string): Promise<void> {
  const bin = join(partial, 'bin');
  const programs = (await readdir(bin, { withFileTypes: true })).filter((entry) => entry.isFile());
  for (const path of [...programs.map(({ name }) => join(bin, name)), join(partial, 'pyvenv.cfg')]) {
    const contents = await readFile(path);
    if (contents.includes(0) || !contents.includes(partial)) continue;
    await writeFile(path, contents.toString('utf8').replaceAll(partial, final));
  }
}

async function installByGo(install: GoInstall, version: string, partial: string, context: InstallContext) {
  const { module, command, env } = install;
  const name = command === '.' ? module : `${module}/${command}`;
  context.onStep(`go install ${name}@v${version}`);
  const target = { GOBIN: join(partial, 'bin') };
  await execute(
    name,
    'go',
    ['install', '-v', ...linkerFlags(install, version), `${name}@v${version}`],
    context,
    {
      ...env,
      ...target,
    },
  );
}

const downloaded = z.object({ Dir: z.string().min(1) });

/** The proxy serves the module, but lists no version of it, which `go install` insists on. */
async function buildByGo(install: GoInstall, version: string, partial: string, context: InstallContext) {
  const { module, command, env } = install;
  context.onStep(`go mod download ${module}@v${version}`);
  const told = await execute(module, 'go', ['mod', 'download', '-json', `${module}@v${version}`], context);
  const { Dir } = downloaded.parse(JSON.parse(told.stdout));
  const source = join(partial, 'source');
  // Go builds nothing inside of its module cache, and what it keeps there is read-only.
  await cp(Dir, source, { recursive: true });
  await makeWritable(source);
  context.onStep(`go build ${module}`);
  const output = ['-o', `${join(partial, 'bin')}/`, `./${command}`];
  await execute(
    module,
    'go',
    ['build', '-v', ...linkerFlags(install, version), ...output],
    context,
    env,
    source,
  );
  await removeTree(source);
}

function linkerFlags({ versionVariable }: GoInstall, version: string): string[] {
  return ['-ldflags', `-s -w -X ${versionVariable}=${version}`];
}

/** Runs a client to its end. @throws InstallError in words for the person who installs */
async function execute(
  what: string,
  file: string,
  args: readonly string[],
  context: InstallContext,
  more: Readonly<Record<string, string>> = {},
  cwd?: string,
): Promise<ProcessOutcome> {
  let compiled = 0;
  const outcome = await runProcess({
    file,
    args,
    ...(cwd !== undefined && { cwd }),
    env: { ...clientEnvironment(context.env), ...more },
    signal: context.signal,
    stdoutLimit: 16 * 1024 * 1024,
    onLine: (line) => {
      const download = /^(?:go: downloading|Downloading|Collecting) (\S+)/.exec(line)?.[1];
      if (download !== undefined) context.onStep(`downloading ${download}`);
      // `-v` names each package as it is compiled.
      else if (/^[\w.~-]+(?:\/[\w.~+-]+)*$/.test(line)) context.onStep(`${++compiled} packages compiled`);
    },
  });
  if (outcome.exitCode === 0 && outcome.stopped === null) return outcome;
  if (outcome.stopped === 'abort')
    throw new InstallError('it was interrupted', 'Run it again: it goes on from there.');
  throw explainInstallFailure(what, file, outcome);
}

function clientEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  // Cross-compiling settings would make a program for another machine; an active environment would be mixed in.
  const { GOOS: _os, GOARCH: _arch, PYTHONPATH: _path, PYTHONHOME: _home, VIRTUAL_ENV: _venv, ...kept } = env;
  return { GOTOOLCHAIN: 'local', ...kept };
}

async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name));
  }
}

async function removeTree(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
