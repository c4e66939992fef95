import { spawn } from 'node:child_process';

export interface ProcessRequest {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
  readonly input?: string;
  /** Longest run in milliseconds; none without it. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** Most bytes of standard output that are kept; more of it stops the process. 0: not read at all. */
  readonly stdoutLimit: number;
  /** Asked four times a second; true stops the process (files that grow too large). */
  readonly exceeded?: () => Promise<boolean>;
  /** Each line of both outputs as it comes, for progress. */
  readonly onLine?: (line: string) => void;
}

export interface ProcessOutcome {
  readonly exitCode: number | null;
  readonly endedBy: NodeJS.Signals | null;
  /** Why it was stopped from here; null where it ended by itself. */
  readonly stopped: StopReason | null;
  /** Set where it could not even be started. */
  readonly startError: string | null;
  readonly stdout: string;
  /** The last 64 KB. */
  readonly stderr: string;
  readonly durationMs: number;
}

type StopReason = 'timeout' | 'abort' | 'limit';

const STDERR_KEPT = 65_536;
/** From the polite signal to the one that can't be ignored. */
const GRACE_MS = 1500;
/** A descendant that left the process group can hold the pipes open: they are closed on it. */
const DRAIN_MS = 300;

const running = new Set<number>();
process.once('exit', () => {
  for (const pid of running) killGroup(pid, 'SIGKILL');
});

/**
 * Runs a program in a process group of its own, which ends as a whole: at the time-out, on abort, beyond
 * a limit, when the program itself ends (what it forked does not stay behind), and when this process exits.
 * Never rejects: how it went is in the answer.
 */
export function runProcess(request: ProcessRequest): Promise<ProcessOutcome> {
  const { file, args, cwd, env, input, timeoutMs, signal, stdoutLimit } = request;
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn(file, [...args], {
      ...(cwd !== undefined && { cwd }),
      env,
      detached: true,
      windowsHide: true,
      stdio: [input === undefined ? 'ignore' : 'pipe', stdoutLimit > 0 ? 'pipe' : 'ignore', 'pipe'],
    });
    const { pid } = child;
    if (pid !== undefined) running.add(pid);
    const stdout = new Collector(stdoutLimit, 'head', request.onLine);
    const stderr = new Collector(STDERR_KEPT, 'tail', request.onLine);
    let stopped: StopReason | null = null;
    let startError: string | null = null;
    let force: NodeJS.Timeout | undefined;

    const stop = (reason: StopReason) => {
      if (stopped !== null || pid === undefined) return;
      stopped = reason;
      killGroup(pid, 'SIGTERM');
      force = setTimeout(() => killGroup(pid, 'SIGKILL'), GRACE_MS);
    };
    const abort = () => stop('abort');
    const timer =
      timeoutMs === undefined ? undefined : setTimeout(() => stop('timeout'), Math.max(0, timeoutMs));
    const watch = watchLimit(request.exceeded, () => stop('limit'));
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted === true) abort();

    child.stdin?.on('error', () => undefined).end(input);
    child.stdout?.on('data', (chunk: Buffer) => stdout.add(chunk) || stop('limit'));
    child.stderr?.on('data', (chunk: Buffer) => stderr.add(chunk));
    child.on('error', (error: NodeJS.ErrnoException) => {
      startError = error.code ?? error.message;
      if (pid === undefined) finish(null, null);
    });
    child.on('exit', (exitCode, endedBy) => {
      if (pid !== undefined) killGroup(pid, 'SIGKILL');
      const drained = setTimeout(() => finish(exitCode, endedBy), DRAIN_MS);
      child.once('close', () => {
        clearTimeout(drained);
        finish(exitCode, endedBy);
      });
    });

    let finished = false;
    function finish(exitCode: number | null, endedBy: NodeJS.Signals | null) {
      if (finished) return;
      finished = true;
      clearTimeout(timer);
      clearTimeout(force);
      clearInterval(watch);
      signal?.removeEventListener('abort', abort);
      child.stdout?.destroy();
      child.stderr?.destroy();
      if (pid !== undefined) running.delete(pid);
      const durationMs = Math.round(performance.now() - started);
      resolve({
        exitCode,
        endedBy,
        stopped,
        startError,
        stdout: stdout.text(),
        stderr: stderr.text(),
        durationMs,
      });
    }
  });
}

function watchLimit(exceeded: (() => Promise<boolean>) | undefined, stop: () => void) {
  if (exceeded === undefined) return undefined;
  return setInterval(() => {
    exceeded().then(
      (over) => over && stop(),
      () => undefined,
    );
  }, 250);
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // No such group any more.
  }
}

/** Keeps the first or the last bytes of an output, and hands its lines on. */
class Collector {
  readonly #limit: number;
  readonly #keep: 'head' | 'tail';
  readonly #onLine: ((line: string) => void) | undefined;
  #chunks: Buffer[] = [];
  #size = 0;
  #partial = '';

  constructor(limit: number, keep: 'head' | 'tail', onLine: ((line: string) => void) | undefined) {
    this.#limit = limit;
    this.#keep = keep;
    this.#onLine = onLine;
  }

  /** Whether everything so far is kept. */
  add(chunk: Buffer): boolean {
    if (this.#onLine !== undefined) this.#report(chunk.toString('utf8'), this.#onLine);
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#keep === 'tail') {
      for (
        let first = this.#chunks[0];
        first && this.#size - first.length >= this.#limit;
        first = this.#chunks[0]
      ) {
        this.#chunks.shift();
        this.#size -= first.length;
      }
    }
    return this.#size <= this.#limit;
  }

  text(): string {
    const all = Buffer.concat(this.#chunks);
    const kept = this.#keep === 'tail' ? all.subarray(-this.#limit) : all.subarray(0, this.#limit);
    return kept.toString('utf8');
  }

  #report(text: string, onLine: (line: string) => void): void {
    const lines = (this.#partial + text).split(/\r?\n|\r/);
    this.#partial = (lines.pop() ?? '').slice(-4096);
    for (const line of lines) if (line.trim() !== '') onLine(line.trim());
  }
}
