import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { chosenEngine } from './dynamodb-local/chosen.ts';
import { LEFT_OUT } from './dynamodb-local/left-out.ts';
import { AttackTableReporter } from './harness/attack-table.ts';
import { ClosingLineReporter } from './harness/closing-line.ts';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [
      ...configDefaults.exclude,
      // They need a deployed stack: `npm run test:deployed`.
      'test/deployed/**',
      ...(chosenEngine() === 'embedded' ? [] : LEFT_OUT.map(({ files }) => files)),
    ],
    globalSetup: ['test/harness/global-setup.ts'],
    reporters: ['default', new AttackTableReporter(), new ClosingLineReporter()],
    // Real scanners and a real service on two cores: what is quick alone may wait for its turn.
    // What is measured is a line of the log; here it would be one of the terminal's. A cloud of a test's own sets it back.
    env: { POWERTOOLS_METRICS_DISABLED: 'true' },
    testTimeout: 120_000,
    hookTimeout: 240_000,
    pool: 'forks',
    // One more than cores: some files wait for leases and restarts.
    maxWorkers: 3,
  },
});
