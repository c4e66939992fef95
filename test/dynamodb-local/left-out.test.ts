import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROJECT_ROOT } from '#infra/project.ts';
import { LEFT_OUT } from './left-out.ts';

const files = globSync('test/**/*.test.ts', { cwd: PROJECT_ROOT }).filter(
  // They need a deployed stack.
  (file) => !file.startsWith('test/deployed/'),
);
const isLeftOut = (file: string) => LEFT_OUT.some((one) => matchesGlob(file, one.files));

/** The file and what it imports of the tests' own files. */
function partsOf(file: string, parts = new Set<string>()): Set<string> {
  if (parts.has(file)) return parts;
  parts.add(file);
  for (const [, name = ''] of textOf(file).matchAll(/(?:from|import) '((?:#test|\.)[^']+)'/g)) {
    const path = name.startsWith('.') ? join(dirname(file), name) : name.replace(/^#/, '');
    if (path.startsWith('test/') && existsSync(join(PROJECT_ROOT, path))) partsOf(path, parts);
  }
  return parts;
}
const textOf = (file: string) => readFileSync(join(PROJECT_ROOT, file), 'utf8');

/** Asks for the service of the run, or starts one. */
const touchesTable = (file: string) =>
  [...partsOf(file)].some((part) => /\binject\('service'\)|\bstartTestCloud\(/.test(textOf(part)));

describe('what a run on Amazon’s store leaves out', () => {
  it('touches no table, but for what says why', () => {
    const isExplained = (file: string) =>
      LEFT_OUT.some((one) => one.although !== undefined && matchesGlob(file, one.files));
    const wrong = files.filter((file) => isLeftOut(file) && !isExplained(file) && touchesTable(file));
    expect(wrong).toEqual([]);
  });

  it('is all that touches none', () => {
    expect(files.filter((file) => !isLeftOut(file) && !touchesTable(file))).toEqual([]);
  });

  it('is there', () => {
    const unmatched = LEFT_OUT.filter((one) => !files.some((file) => matchesGlob(file, one.files)));
    expect(unmatched).toEqual([]);
  });

  it('is the smaller part of what touches the table', () => {
    const touching = files.filter(touchesTable);
    expect(touching.filter(isLeftOut).length).toBeLessThan(touching.length / 10);
  });

  it('starts no cloud past the chosen store', () => {
    const past = globSync('test/**/*.ts', { cwd: PROJECT_ROOT }).filter(
      (file) =>
        // Figures, what makes a snapshot, and the image's check are of the embedded store.
        !/^test\/(?:(?:bench|cost|image)\/|snapshots\/main)/.test(file) &&
        file !== 'test/harness/test-cloud.ts' &&
        /import \{[^}]*\bstartEmbeddedCloud\b/.test(textOf(file)),
    );
    expect(past).toEqual([]);
  });
});
