import { matchesGlob, relative } from 'node:path';
import { beforeEach } from 'vitest';
import { PROJECT_ROOT } from '#infra/project.ts';
import './emulator/redirect.ts';
import { LEFT_OUT } from './left-out.ts';

/** Single tests that are left out are skipped by name, and say why. */
beforeEach(({ task, skip }) => {
  const file = relative(PROJECT_ROOT, task.file.filepath);
  const titles: string[] = [];
  for (let suite = task.suite; suite && suite.name !== ''; suite = suite.suite) titles.unshift(suite.name);
  const title = [...titles, task.name].join(' > ');
  const found = LEFT_OUT.find((one) => one.tests?.includes(title) && matchesGlob(file, one.files));
  if (found) skip(found.because);
});
