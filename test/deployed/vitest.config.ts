import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { ClosingLineReporter } from '../harness/closing-line.ts';
import { DeployedTableReporter } from './deployed-table.ts';
import { LEFT_OUT } from './left-out.ts';

const OWN = 'test/deployed/*.test.ts';

function project(name: string, groupOrder: number, include: string[]) {
  return {
    extends: true as const,
    test: {
      name,
      include,
      exclude: [
        ...configDefaults.exclude,
        ...LEFT_OUT.filter(({ tests }) => tests === undefined).map(({ files }) => files),
        ...(name === 'api' ? ['test/deployed/grants.test.ts'] : []),
      ],
      sequence: { groupOrder },
    },
  };
}

/** The API's own tests, at the address of a deployed stack; and what only a deployment can show. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    // One after the other: what is taken away from the functions would make others' tests fail, and what
    // was used is known at the end.
    projects: [
      project('api', 0, ['test/{api,attacks,contract,pipeline,property}/**/*.test.ts', OWN]),
      project('used', 1, ['test/deployed/afterwards/*.test.ts']),
      project('grants', 2, ['test/deployed/grants.test.ts']),
    ],
    globalSetup: ['test/deployed/global-setup.ts'],
    setupFiles: ['test/deployed/skip-left-out.ts'],
    reporters: ['default', new DeployedTableReporter(), new ClosingLineReporter()],
    // Functions start anew where they were not asked for a while, and the emulator serves one after the other.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: 'forks',
    maxWorkers: 2,
  },
});
