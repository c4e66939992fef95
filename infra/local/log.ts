import { AsyncLocalStorage } from 'node:async_hooks';
import { createWriteStream, existsSync, renameSync, statSync } from 'node:fs';
import { formatWithOptions } from 'node:util';

/** Where the log lines of the functions go: JSON, one object a line, as Lambda's log format has them. */
export interface ServiceLog {
  write(level: string, source: string, requestId: string | null, args: readonly unknown[]): void;
  /** Bytes that a child process wrote, as they are. */
  pipe(source: string): (chunk: Buffer) => void;
  close(): Promise<void>;
}

/** A log beyond this is moved aside at the next start; one older file is kept. */
const ROTATE_BYTES = 20 * 1024 * 1024;

/** @param path file to append to; null: standard error */
export function openLog(path: string | null): ServiceLog {
  if (path !== null && existsSync(path) && statSync(path).size > ROTATE_BYTES) renameSync(path, `${path}.1`);
  const stream = path === null ? process.stderr : createWriteStream(path, { flags: 'a', mode: 0o600 });
  // A full disk must not end the service.
  stream.on('error', () => {});

  const line = (fields: Record<string, unknown>) => {
    stream.write(`${JSON.stringify({ timestamp: new Date().toISOString(), ...fields })}\n`);
  };
  return {
    write(level, source, requestId, args) {
      const [first] = args;
      const isFields =
        args.length === 1 && first !== null && typeof first === 'object' && !(first instanceof Error);
      line({
        level,
        function: source,
        ...(requestId !== null && { requestId }),
        ...(isFields ? first : { message: formatWithOptions({ breakLength: Infinity }, ...args) }),
      });
    },
    pipe(source) {
      return (chunk) => {
        for (const text of chunk.toString('utf8').split('\n'))
          if (text.trim() !== '') line({ level: 'INFO', function: source, ...fieldsOf(text) });
      };
    },
    async close() {
      if (path !== null) await new Promise<void>((resolve) => stream.end(resolve));
    },
  };
}

/** What a child process wrote as JSON is its fields, as CloudWatch takes it; anything else is a message. */
function fieldsOf(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    if (parsed !== null && typeof parsed === 'object' && !Array.isArray(parsed)) return { ...parsed };
  } catch {
    // A line like any other.
  }
  return { message: text };
}

interface Speaker {
  readonly log: ServiceLog;
  readonly source: string;
  readonly requestId: string | null;
}
const speaker = new AsyncLocalStorage<Speaker>();

/** Runs something whose console belongs to the log: a function, never the people at the terminal. */
export function speakingAs<T>(who: Speaker, run: () => T): T {
  redirectConsole();
  return speaker.run(who, run);
}

let redirected = false;

/** Once for the process: console calls from inside a function go to its log, all others where they went. */
function redirectConsole(): void {
  if (redirected) return;
  redirected = true;
  for (const level of ['debug', 'log', 'info', 'warn', 'error'] as const) {
    const original = console[level].bind(console);
    console[level] = (...args: unknown[]) => {
      const who = speaker.getStore();
      if (who) who.log.write(level === 'log' ? 'INFO' : level.toUpperCase(), who.source, who.requestId, args);
      else original(...args);
    };
  }
}
