import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from '#shared/is-alive.ts';

/** Work folders are called `aspm-run-<pid>-…`: a checkout, and for a moment raw reports. */
export const WORK_FOLDER = 'aspm-run-';

/** Removes the work folders of runners that were killed before they could: they may hold secrets. */
export async function removeLeftovers(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const left = names.filter((name) => {
    const pid = /^aspm-run-(\d+)-/.exec(name)?.[1];
    return pid !== undefined && !isAlive(Number(pid));
  });
  await Promise.all(left.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}
