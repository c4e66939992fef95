import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { missingEntries } from '#infra/cli/lockfile.ts';

describe('the lockfile', () => {
  const text = readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8');

  it('knows the packages of every platform: else `npm ci` refuses it (npm run lockfile)', () => {
    expect([...missingEntries(text).keys()]).toEqual([]);
  });

  it('names no registry', () => {
    expect(text).not.toContain('"resolved"');
  });
});
