import { accessSync, constants } from 'node:fs';
import { delimiter } from 'node:path';

/**
 * How to start a program so that it ends when we do, even when we are killed: the kernel signals it
 * (`PR_SET_PDEATHSIG`, which Node can't ask for, but util-linux's `setpriv` can, without staying
 * between us). Where that tool is missing, our own exit handlers are all there is.
 */
export function endWithParent(
  program: string,
  args: readonly string[],
  signal: 'TERM' | 'KILL' = 'TERM',
): { readonly file: string; readonly args: string[] } {
  const setpriv = process.platform === 'linux' ? findOnPath('setpriv') : null;
  if (setpriv === null) return { file: program, args: [...args] };
  return { file: setpriv, args: ['--pdeathsig', signal, '--', program, ...args] };
}

const found = new Map<string, string | null>();

function findOnPath(name: string): string | null {
  const held = found.get(name);
  if (held !== undefined) return held;
  const candidates = (process.env.PATH ?? '').split(delimiter).map((folder) => `${folder}/${name}`);
  const place = candidates.find(isExecutable) ?? null;
  found.set(name, place);
  return place;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Signals a child that leads a process group, and all of the group; false where there is none any more. */
export function killGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}
