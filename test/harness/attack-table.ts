import type { Reporter, TestModule } from 'vitest/node';
import type { AttackClass, AttackRecord } from './attack.ts';

interface Row {
  attempts: number;
  heldBefore: number;
  closed: number;
  through: number;
}

/** Prints what became of the attacks of a run: one line a class, and each attack by name where `ASPM_ATTACKS=all`. */
export class AttackTableReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const attacks = modules.flatMap((module) =>
      [...module.children.allTests()].flatMap((test) => {
        const { attack } = test.meta();
        return attack ? [{ attack, title: test.name, stopped: test.result().state === 'passed' }] : [];
      }),
    );
    if (attacks.length === 0) return;
    const rows = new Map<AttackClass, Row>();
    for (const { attack, stopped } of attacks) count(rows, attack, stopped);
    const lines = [...rows].sort(([a], [b]) => a.localeCompare(b)).map(([name, row]) => lineOf(name, row));
    const all = process.env.ASPM_ATTACKS === 'all' ? attacks : [];
    process.once('exit', () => {
      process.stdout.write(`\n${['Attacks', HEAD, ...lines].join('\n')}\n`);
      for (const { attack, title, stopped } of all)
        process.stdout.write(
          `${stopped ? 'stopped' : 'THROUGH'}  ${attack.history.padEnd(11)}  ${attack.class}: ${title}\n`,
        );
    });
  }
}

const WIDTHS = [24, 10, 13, 10, 12] as const;
const HEAD = row('class', 'attempts', 'held before', 'closed', 'gets through');

function lineOf(name: string, { attempts, heldBefore, closed, through }: Row): string {
  return row(name, attempts, heldBefore, closed, through);
}

function row(...cells: readonly (string | number)[]): string {
  return cells.map((cell, at) => String(cell)[at === 0 ? 'padEnd' : 'padStart'](WIDTHS[at] ?? 0)).join('  ');
}

function count(rows: Map<AttackClass, Row>, attack: AttackRecord, stopped: boolean): void {
  const known = rows.get(attack.class) ?? { attempts: 0, heldBefore: 0, closed: 0, through: 0 };
  known.attempts += 1;
  if (!stopped) known.through += 1;
  else if (attack.history === 'held') known.heldBefore += 1;
  else known.closed += 1;
  rows.set(attack.class, known);
}
