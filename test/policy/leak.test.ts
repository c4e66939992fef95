import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** So many different policies, each checked, compiled and evaluated by both: then as many again, and once more. */
const POLICIES = 60;
/** What three times as many may take more: the engine's thread is replaced when its memory has grown. */
const MEGABYTES = 100;

test('memory has a level that it keeps, however many policies come', { timeout: 120_000 }, async () => {
  const script = fileURLToPath(new URL('./many-policies.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script, String(POLICIES)]);
  const levels = stdout.trim().split('\n').map(Number);
  expect(levels).toHaveLength(3);
  const [first = 0, , last = 0] = levels;
  expect(first).toBeGreaterThan(0);
  expect(last - first).toBeLessThan(MEGABYTES);
});
