import type * as z from 'zod';
import type { ScanRun } from '#contract/schemas/records.ts';
import type { Scanner } from '#domain/vocabulary.ts';
import { type Paint, plain } from './terminal.ts';

type Run = z.output<typeof ScanRun>;
type ScannerState = Run['scanners'][number];

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/**
 * Live progress for each scanner: on a terminal a line each, redrawn; elsewhere a line whenever one
 * starts or ends. Goes to stderr, so that stdout holds the result alone.
 */
export function createScanProgress(stream: NodeJS.WriteStream, paint: Paint) {
  const said = new Map<Scanner, string>();
  let drawn = 0;
  let latest: readonly ScannerState[] = [];
  let frame = 0;

  const redraw = () => {
    frame += 1;
    if (drawn > 0) stream.write(`\u001b[${drawn}A`);
    for (const state of latest) stream.write(`\u001b[2K${line(state)}\n`);
    drawn = latest.length;
  };
  const timer = stream.isTTY ? setInterval(redraw, 100) : null;

  const line = (state: ScannerState): string => {
    const name = state.scanner.padEnd(9);
    switch (state.status) {
      case 'completed':
        return `  ${paint('✓', 'green')} ${name} ${plural(state.finding_count ?? 0)} in ${seconds(state)}`;
      case 'failed':
        return `  ${paint('✗', 'red')} ${name} ${plain(state.error?.message ?? 'failed')}`;
      case 'running':
        return `  ${stream.isTTY ? FRAMES[frame % FRAMES.length] : '…'} ${name} running ${seconds(state)}`;
      default:
        return `  · ${name} ${state.status}`;
    }
  };

  return {
    show(run: Run | undefined): void {
      latest = run?.scanners ?? [];
      if (timer) return;
      for (const state of latest) {
        if (said.get(state.scanner) === state.status || state.status === 'waiting') continue;
        said.set(state.scanner, state.status);
        stream.write(`${line(state)}\n`);
      }
    },
    end(): void {
      if (!timer) return;
      clearInterval(timer);
      redraw();
    },
  };
}

function plural(count: number): string {
  return count === 1 ? '1 finding' : `${count} findings`;
}

function seconds(state: ScannerState): string {
  if (state.started_at === null) return '';
  const end = state.finished_at === null ? Date.now() : Date.parse(state.finished_at);
  return `${((end - Date.parse(state.started_at)) / 1000).toFixed(1)} s`;
}
