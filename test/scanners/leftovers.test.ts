import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { removeLeftovers } from '#functions/scanner-runner/leftovers.ts';

it('removes the work folders of runners that are gone, and no other', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'leftovers-'));
  try {
    const gone = spawnSync(process.execPath, ['-e', '']).pid;
    const kept = [`aspm-run-${process.pid}-abc`, 'aspm-run-old', `other-${gone}-x`];
    for (const name of [...kept, `aspm-run-${gone}-abc`]) await mkdir(join(folder, name));
    await writeFile(join(folder, `aspm-run-${gone}-abc`, 'report.json'), '[]');
    await removeLeftovers(folder);
    expect((await readdir(folder)).sort()).toEqual(kept.sort());
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
