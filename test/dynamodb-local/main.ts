import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { PROJECT_ROOT } from '#infra/project.ts';
import { ENGINE_SETTING } from './chosen.ts';
import { ensureDynamoDbLocal, NotHere } from './install.ts';

/**
 * `npm run test:dynamodb-local [-- PATH…]`: the tests that touch the table, on Amazon's own DynamoDB.
 * With `--where-possible` a machine without Java or Maven is a line and no failure.
 */
async function main(args: readonly string[]): Promise<number> {
  const whereIsPossible = args.includes('--where-possible');
  try {
    await ensureDynamoDbLocal();
  } catch (error) {
    if (!(error instanceof NotHere)) throw error;
    console.log(
      `${whereIsPossible ? 'Skipped' : 'Not run'}: the tests on Amazon's DynamoDB. ${error.message}`,
    );
    return whereIsPossible ? 0 : 2;
  }
  const vitest = join(PROJECT_ROOT, 'node_modules/vitest/vitest.mjs');
  const paths = args.filter((one) => one !== '--where-possible');
  const child = spawn(process.execPath, [vitest, 'run', '--config', 'test/vitest.config.ts', ...paths], {
    cwd: PROJECT_ROOT,
    stdio: 'inherit',
    env: { ...process.env, [ENGINE_SETTING]: 'dynamodb-local' },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

process.exitCode = await main(process.argv.slice(2));
