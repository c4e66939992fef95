import { dirname, relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import { PROJECT_ROOT } from '#infra/project.ts';
import { LEFT_OUT } from './left-out.ts';

interface Row {
  passed: number;
  failed: number;
  leftOut: number;
}

/** Prints what was shown of the deployed service, a line a folder, and what was left out, each with its reason. */
export class DeployedTableReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = new Map<string, Row>();
    for (const module of modules) {
      const folder = dirname(relative(PROJECT_ROOT, module.moduleId));
      const row = rows.get(folder) ?? { passed: 0, failed: 0, leftOut: 0 };
      rows.set(folder, row);
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        row[state === 'passed' ? 'passed' : state === 'skipped' ? 'leftOut' : 'failed'] += 1;
      }
    }
    const lines = [...rows]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([folder, { passed, failed, leftOut }]) => line(folder, passed, failed, leftOut));
    const reasons = LEFT_OUT.map(
      ({ files, tests, because }) => `  ${files}${tests ? `: ${tests.join('; ')}` : ''}\n    ${because}`,
    );
    process.once('exit', () => {
      const head = line('On the deployed service', 'passed', 'failed', 'left out');
      process.stdout.write(`\n${[head, ...lines, '', 'Left out:', ...reasons].join('\n')}\n`);
    });
  }
}

function line(name: string, ...figures: (string | number)[]): string {
  return name.padEnd(28) + figures.map((figure) => String(figure).padStart(10)).join('');
}
