import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { ClosingLineReporter } from '../harness/closing-line.ts';
import { LEFT_OUT } from './left-out.ts';

/** The API's own tests, at the address of a deployed stack; and what only a deployment can show. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/{api,attacks,contract,deployed,pipeline,property,store}/**/*.test.ts'],
    exclude: [
      ...configDefaults.exclude,
      ...LEFT_OUT.filter(({ tests }) => tests === undefined).map(({ files }) => files),
    ],
    globalSetup: ['test/deployed/global-setup.ts'],
    setupFiles: ['test/deployed/skip-left-out.ts'],
    reporters: ['default', new ClosingLineReporter()],
    // Functions start anew where they were not asked for a while, and the emulator serves one after the other.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: 'forks',
    maxWorkers: 2,
  },
});
