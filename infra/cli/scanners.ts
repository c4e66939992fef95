import { constants } from 'node:os';
import { parseArgs } from 'node:util';
import type { Scanner } from '#domain/vocabulary.ts';
import { SCANNERS } from '#domain/vocabulary.ts';
import { QUICK_SCANNERS } from '#functions/scanner-runner/versions.ts';
import { ensureScanners } from './scanners/ensure.ts';
import { describeOutcome, ProgressView } from './scanners/progress.ts';

const USAGE = `npm run scanners -- [--all | --quick | NAME…]

Sees to it that the scanners can be run: what is on PATH in a fitting version is used as it is,
the rest is installed into the user's cache folder (ASPM_SCANNERS_DIR names another).

  NAME     one of ${SCANNERS.join(', ')}
  --all    all four (the default): a quarter of an hour of building where none is there yet
  --quick  ${QUICK_SCANNERS.join(' and ')} only: about a minute
`;

async function main(): Promise<number> {
  const wanted = readArguments(process.argv.slice(2));
  if (wanted === null) return 0;
  const controller = new AbortController();
  let interrupted: 'SIGINT' | 'SIGTERM' | null = null;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      interrupted = signal;
      controller.abort();
    });
  }
  using view = new ProgressView(process.stdout);
  try {
    const outcomes = await ensureScanners(wanted, { onProgress: view.show, signal: controller.signal });
    if (interrupted !== null) return 128 + constants.signals[interrupted];
    console.log(`\n${outcomes.map(describeOutcome).join('\n')}`);
    return outcomes.every(({ status }) => status !== 'failed') ? 0 : 1;
  } catch (error) {
    if (interrupted !== null) return 128 + constants.signals[interrupted];
    throw error;
  }
}

/** null where help was all that was asked for. @throws Error for what can't be meant */
function readArguments(args: readonly string[]): readonly Scanner[] | null {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { all: { type: 'boolean' }, quick: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help === true) {
    console.log(USAGE);
    return null;
  }
  const named = positionals.map((name) => {
    const scanner = SCANNERS.find((known) => known === name);
    if (scanner === undefined) throw new Error(`"${name}" is no scanner.\n\n${USAGE}`);
    return scanner;
  });
  if (named.length > 0) return named;
  return values.quick === true && values.all !== true ? QUICK_SCANNERS : SCANNERS;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
