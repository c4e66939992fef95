import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#domain/clock.ts';
import { systemClock } from '#domain/clock.ts';
import type { RepositoryExclusions, Scanner } from '#domain/vocabulary.ts';
import { readPruned } from '#shared/ingest/reader/read-pruned.ts';
import { REPORT_LIMITS } from '#shared/ingest/reader/report-limits.ts';
import { JsonRefused } from '#shared/json/refused.ts';
import { InvalidReportError, recogniseReport } from '#shared/reports/parse.ts';
import type { ScannerCommand, ScannerSettings } from './commands.ts';
import { privateFolder, scannerCommand } from './commands.ts';
import { gitEnvironment, passedEnvironment } from './environment.ts';
import { locateScanner } from './locate.ts';
import type { ProcessOutcome } from './process.ts';
import { runProcess } from './process.ts';
import { explainFailure, tailOf } from './scanner-failure.ts';
import { type TrivyNotes, trivyNotes } from './trivy-notes.ts';
import { SCANNER_RELEASES } from './versions.ts';

/** The specification's `scanner_timeout`; the others are ours. */
export type ScannerFailureCode =
  | 'scanner_timeout'
  | 'scanner_not_installed'
  | 'scanner_failed'
  | 'report_invalid'
  | 'cancelled';

export interface ScannerFailure {
  readonly status: 'failed';
  readonly code: ScannerFailureCode;
  /** For people; bounded, and free of what looks like a secret. */
  readonly message: string;
  readonly durationMs: number;
}

export interface ScannerSuccess {
  readonly status: 'completed';
  /** Raw: it holds secrets and goes nowhere before it was sanitised. */
  readonly report: unknown;
  readonly version: string;
  readonly exitCode: number;
  readonly durationMs: number;
  /** Of Trivy. */
  readonly notes?: TrivyNotes;
}

export interface ScannerRun {
  readonly scanner: Scanner;
  readonly checkout: string;
  /** `overrule` unless it is told otherwise. */
  readonly exclusions?: RepositoryExclusions;
  /** As in `ScannerPlace`. */
  readonly history?: readonly string[];
  /** A private folder; what the run leaves there is removed before it answers. */
  readonly outDir: string;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
  readonly settings: ScannerSettings;
  readonly env?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock;
  /** Told once the scanner is found and about to run. */
  readonly onStart?: (version: string) => void;
}

const LARGEST_REPORT = 100 * 1024 * 1024;

/**
 * Runs one scanner over a checkout and answers its raw report, or why there is none. A report that is
 * missing, cut off or not that scanner's is a failure, never an empty one. The raw report exists in
 * memory alone when this answers.
 */
export async function runScanner(run: ScannerRun): Promise<ScannerSuccess | ScannerFailure> {
  const { scanner, env = process.env, clock = systemClock } = run;
  const located = await locateScanner(scanner, env);
  if (located === null) {
    const { version } = SCANNER_RELEASES[scanner];
    const message = `${scanner} is not installed: run \`npm run scanners -- ${scanner}\`, or put version ${version} on PATH.`;
    return { status: 'failed', code: 'scanner_not_installed', message, durationMs: 0 };
  }
  const folder = await privateFolder(join(run.outDir, scanner));
  try {
    const report = join(folder, 'report.json');
    const remainingMs = run.deadline - clock.now();
    const { checkout, exclusions = 'overrule', history = [] } = run;
    const command = await scannerCommand(scanner, run.settings, {
      checkout,
      folder,
      report,
      remainingMs,
      exclusions,
      history,
    });
    run.onStart?.(located.version);
    const notes = scanner === 'trivy' ? trivyNotes() : undefined;
    const outcome = await runProcess({
      file: located.path,
      args: command.args,
      cwd: command.cwd,
      env: await scannerEnvironment(env, command, folder),
      timeoutMs: remainingMs,
      signal: run.signal,
      stdoutLimit: 0,
      ...(notes && { onLine: notes.line }),
      exceeded: async () => (await sizeOf(report)) > LARGEST_REPORT,
    });
    const result = await readOutcome(scanner, command, outcome, report, located.version);
    return notes && result.status === 'completed' ? { ...result, notes } : result;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function scannerEnvironment(env: NodeJS.ProcessEnv, command: ScannerCommand, folder: string) {
  const temporary = await privateFolder(join(folder, 'tmp'));
  return {
    ...passedEnvironment(env),
    ...(await gitEnvironment(folder)),
    ...command.env,
    // What a scanner that is killed leaves behind goes with the folder.
    TMPDIR: temporary,
    // pyenv's programs obey a `.python-version` in the working folder: not in the scanned repository's.
    PYENV_DIR: temporary,
  };
}

async function readOutcome(
  scanner: Scanner,
  command: ScannerCommand,
  outcome: ProcessOutcome,
  path: string,
  version: string,
): Promise<ScannerSuccess | ScannerFailure> {
  const { durationMs, stopped, exitCode, stderr } = outcome;
  const failed = (code: ScannerFailureCode, message: string): ScannerFailure => {
    return { status: 'failed', code, message, durationMs };
  };
  if (stopped === 'abort') return failed('cancelled', `${scanner} was stopped: the scan was cancelled.`);
  if (stopped === 'timeout') {
    return failed(
      'scanner_timeout',
      `${scanner} was stopped after ${Math.round(durationMs / 1000)} s: the scan's time was up.`,
    );
  }
  if (stopped === 'limit') return failed('report_invalid', tooLarge(scanner));
  if (exitCode === null || !command.success.includes(exitCode)) {
    return failed(
      'scanner_failed',
      explainFailure(scanner, outcome, await readReport(path).catch(() => undefined)),
    );
  }
  // Gitleaks exits 0 with an empty report where git itself failed below it.
  if (scanner === 'gitleaks' && /^\S+ (?:ERR|FTL) /m.test(stderr)) {
    return failed('scanner_failed', `gitleaks could not read the repository: ${tailOf(stderr)}`);
  }
  if ((await sizeOf(path)) > LARGEST_REPORT) return failed('report_invalid', tooLarge(scanner));
  try {
    const report = await readReport(path);
    if (report === undefined)
      return failed('report_invalid', `${scanner} ended without a readable report${quoted(stderr)}`);
    recogniseReport(scanner, report);
    return { status: 'completed', report, version, exitCode, durationMs };
  } catch (error) {
    if (error instanceof InvalidReportError) return failed('report_invalid', error.message);
    if (error instanceof JsonRefused)
      return failed('report_invalid', `The report of ${scanner} ${error.message}.`);
    throw error;
  }
}

function tooLarge(scanner: Scanner): string {
  return `The report of ${scanner} is larger than the limit of ${LARGEST_REPORT / 1024 ** 2} MB.`;
}

function quoted(stderr: string): string {
  const tail = tailOf(stderr);
  return tail === '' ? '.' : `: ${tail}`;
}

/**
 * As far as it is used: what a repository can make its scanner write is bounded like what anybody sends. undefined
 * where there is no report, or none in JSON.
 * @throws JsonRefused where it costs too much to read
 */
async function readReport(path: string): Promise<unknown> {
  const bytes = await readFile(path).catch(() => null);
  if (bytes === null) return undefined;
  try {
    return await readPruned(bytes, REPORT_LIMITS);
  } catch (error) {
    if (error instanceof JsonRefused && error.reason === 'syntax') return undefined;
    throw error;
  }
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    (found) => found.size,
    () => 0,
  );
}
