import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scanner } from '#domain/vocabulary.ts';
import { locateScanner, scannersFolder } from '#functions/scanner-runner/locate.ts';
import { SCANNER_RELEASES } from '#functions/scanner-runner/versions.ts';
import { InstallError } from './failure.ts';
import { installScanner } from './install.ts';
import { lockFolder } from './lock.ts';

export type EnsuredScanner =
  | {
      readonly scanner: Scanner;
      /** `installed` just now, `present` from before, or found `on_path`. */
      readonly status: 'installed' | 'present' | 'on_path';
      readonly path: string;
      readonly version: string;
    }
  | {
      readonly scanner: Scanner;
      readonly status: 'failed';
      readonly reason: string;
      readonly advice: string;
    };

export type EnsureProgress =
  | { readonly type: 'waiting' }
  | {
      readonly type: 'installing';
      readonly scanner: Scanner;
      readonly version: string;
      readonly text: string;
    }
  | { readonly type: 'done'; readonly outcome: EnsuredScanner };

interface EnsureOptions {
  readonly onProgress?: (event: EnsureProgress) => void;
  readonly env?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sees to it that the named scanners can be run: those that are there already (on PATH in a fitting version,
 * or installed before) are left as they are, the others are installed one after the other. One that can't
 * be installed does not keep the next from it. Answers one outcome for each, in the order asked for.
 */
export async function ensureScanners(
  names: readonly Scanner[],
  options: EnsureOptions = {},
): Promise<EnsuredScanner[]> {
  const { env = process.env, onProgress, signal } = options;
  const outcomes = new Map<Scanner, EnsuredScanner>();
  const settle = (outcome: EnsuredScanner) => {
    outcomes.set(outcome.scanner, outcome);
    onProgress?.({ type: 'done', outcome });
  };
  for (const scanner of new Set(names)) {
    const found = await findScanner(scanner, env);
    if (found !== null) settle(found);
  }
  // The quick ones first: something can be scanned while the others are still being built.
  const missing = [...new Set(names)]
    .filter((scanner) => !outcomes.has(scanner))
    .sort((a, b) => SCANNER_RELEASES[a].installSeconds - SCANNER_RELEASES[b].installSeconds);
  if (missing.length > 0) await installAll(missing, { ...options, env, signal }, settle);
  return names.flatMap((scanner) => outcomes.get(scanner) ?? []);
}

async function installAll(
  missing: readonly Scanner[],
  { env = process.env, onProgress, signal }: EnsureOptions,
  settle: (outcome: EnsuredScanner) => void,
): Promise<void> {
  const folder = scannersFolder(env);
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    const reason = `${folder} can't be written (${error instanceof Error ? error.message : 'unknown error'})`;
    const advice = 'Set ASPM_SCANNERS_DIR to a folder that can.';
    for (const scanner of missing) settle({ scanner, status: 'failed', reason, advice });
    return;
  }
  await using _lock = await lockFolder(folder, { signal, onWait: () => onProgress?.({ type: 'waiting' }) });
  await removeLeftovers(folder);
  for (const scanner of missing) {
    const { version } = SCANNER_RELEASES[scanner];
    // Whoever held the lock before may have installed it.
    const found = await findScanner(scanner, env);
    if (signal?.aborted === true) {
      settle({ scanner, status: 'failed', reason: 'it was interrupted', advice: 'Run it again.' });
    } else if (found !== null) {
      settle(found);
    } else {
      const onStep = (text: string) => onProgress?.({ type: 'installing', scanner, version, text });
      settle(await install(scanner, { env, signal, onStep }));
    }
  }
}

async function install(
  scanner: Scanner,
  context: Parameters<typeof installScanner>[1],
): Promise<EnsuredScanner> {
  try {
    await installScanner(scanner, context);
    const found = await findScanner(scanner, context.env);
    if (found !== null && found.status !== 'failed') return { ...found, status: 'installed' };
    return {
      scanner,
      status: 'failed',
      reason: 'the installation left no program behind',
      advice: `Remove ${scannersFolder(context.env)} and run this again.`,
    };
  } catch (error) {
    if (error instanceof InstallError) {
      return { scanner, status: 'failed', reason: error.message, advice: error.advice };
    }
    const reason = error instanceof Error ? error.message : String(error);
    return { scanner, status: 'failed', reason, advice: 'Run this again once that is solved.' };
  }
}

async function findScanner(scanner: Scanner, env: NodeJS.ProcessEnv): Promise<EnsuredScanner | null> {
  const located = await locateScanner(scanner, env);
  if (located === null) return null;
  const { path, version, from } = located;
  return { scanner, status: from === 'path' ? 'on_path' : 'present', path, version };
}

/** Of runs that were killed: the lock is ours, so nobody is at work on them. */
async function removeLeftovers(folder: string): Promise<void> {
  const partial = (await readdir(folder)).filter((name) => name.startsWith('.partial-'));
  for (const name of partial) await rm(join(folder, name), { recursive: true, force: true });
}
