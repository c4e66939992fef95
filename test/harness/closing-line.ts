import type { Reporter, TestModule } from 'vitest/node';
import { chosenEngine } from '#test/dynamodb-local/chosen.ts';
import { dynamoDbLocalVersion } from '#test/dynamodb-local/install.ts';

/** Ends the run's output with one line that any reader of logs can count by: `N passed, N failed`. */
export class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const states = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => test.result().state),
    );
    const passed = states.filter((state) => state === 'passed').length;
    // A file that does not load fails as a whole, without a test to show for it.
    const broken = modules.filter(
      (module) => module.state() === 'failed' && [...module.children.allTests('failed')].length === 0,
    );
    const failed = states.filter((state) => state === 'failed').length + broken.length;
    const skipped = states.length - passed - states.filter((state) => state === 'failed').length;
    // After the summary of the default reporter, which prints in the same event.
    process.once('exit', () => {
      if (chosenEngine() === 'dynamodb-local')
        process.stdout.write(`\nOn Amazon's DynamoDB Local ${dynamoDbLocalVersion()}:`);
      process.stdout.write(
        `\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
      );
    });
  }
}
