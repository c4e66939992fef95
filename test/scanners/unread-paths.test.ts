import { describe, expect, test } from 'vitest';
import { UnreadPaths } from '#shared/reports/unread-paths.ts';

const holds = (unread: readonly string[], path: string) => new UnreadPaths(unread).mayHold(path);

describe('a file that was not read', () => {
  test.each([
    ['src/b.ts', 'src/b.ts'],
    ['w/src/b.ts', 'src/b.ts'],
    ['b.ts', 'src/b.ts'],
    ['src', 'src/b.ts'],
    ['src', 'w/src/lib/b.ts'],
    ['w/src', 'src/lib/b.ts'],
    ['w/src/lib', 'src/lib/b.ts'],
    ['.', 'src/b.ts'],
    ['https://git.test/a/src/b.ts', 'src/b.ts'],
  ])('%s is, or holds, %s', (unread, path) => {
    expect(holds(['other.ts', unread], path)).toBe(true);
    expect(holds([unread], path)).toBe(true);
  });

  test.each([
    ['src/b.ts', 'src/a.ts'],
    ['src/b.ts', 'lib/b.ts'],
    ['src/b.ts', 'src/b.tsx'],
    ['b.ts', 'src/ab.ts'],
    ['src', 'lib/src.ts'],
    ['src/lib', 'src/b.ts'],
    ['w/src', 'lib/b.ts'],
  ])('%s is not %s', (unread, path) => {
    expect(holds([unread], path)).toBe(false);
    expect(holds([], path)).toBe(false);
  });

  test('is itself alone where its path is known', () => {
    const unread = new UnreadPaths([], ['b.ts', 'src']);
    expect(['b.ts', 'src/b.ts', 'src/lib/a.ts', 'src'].map((path) => unread.mayHold(path))).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });

  test('is found in no more time than its path is long', () => {
    const deep = (first: string) => `${first}/${'a/'.repeat(2000)}x`;
    const unread = new UnreadPaths(Array.from({ length: 1000 }, (_, index) => deep(`b${index}`)));
    for (let index = 0; index < 1000; index += 1) expect(unread.mayHold(deep('c').slice(0, -1))).toBe(false);
  });
});
