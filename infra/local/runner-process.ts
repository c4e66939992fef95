import { spawn } from 'node:child_process';
import * as z from 'zod';
import { PROJECT_ROOT } from '#infra/project.ts';
import type { ServiceLog } from './log.ts';
import { endWithParent, killGroup } from './process.ts';

/** Input of `ecs:runTask.sync`, as far as it says what to run. */
const RunTaskInput = z.object({
  Overrides: z.object({
    ContainerOverrides: z
      .array(z.object({ Environment: z.array(z.object({ Name: z.string(), Value: z.string() })) }))
      .length(1),
  }),
});

/** As Step Functions names it when a task of ECS does not end well. */
class TaskFailed extends Error {
  override readonly name = 'States.TaskFailed';
}

/**
 * What of our own environment the runner gets: where programs, folders and certificates are, and the
 * scanners' settings. No address or credential of the embedded cloud's parts is among it.
 */
const PASSED =
  /^(?:PATH|HOME|USER|TMPDIR|TMP|TEMP|SYSTEMROOT|LANG|LC_.*|TZ|XDG_.*|SSL_CERT_.*|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(?:HTTP|HTTPS|ALL|NO)_PROXY|PYENV_.*|GIT_(?:SSL|HTTP|PROXY)_.*|(?:GRYPE|TRIVY|SEMGREP|GITLEAKS)_.*|ASPM_SEMGREP_.*|ASPM_SCANNER.*)$/i;

/** From the polite signal to the one that can't be ignored: the runner has its own scanners to end. */
const GRACE_MS = 4000;

const running = new Set<number>();
process.once('exit', () => {
  for (const pid of running) killGroup(pid, 'SIGTERM');
});

/** A program with its arguments. */
export type RunnerProgram = readonly [file: string, ...args: string[]];

const OWN_SOURCES: RunnerProgram = [process.execPath, 'functions/scanner-runner/main.ts'];

interface RunnerTask {
  readonly env: NodeJS.ProcessEnv;
  readonly timeoutSeconds: number | undefined;
  readonly signal: AbortSignal;
  readonly log: ServiceLog;
  readonly program?: RunnerProgram | undefined;
}

/** Runs the scanner runner as a child process, in the place of the Fargate task. */
export async function runScanners(
  input: unknown,
  { env, timeoutSeconds, signal, log, program = OWN_SOURCES }: RunnerTask,
): Promise<null> {
  signal.throwIfAborted();
  const [override] = RunTaskInput.parse(input).Overrides.ContainerOverrides;
  const given = Object.fromEntries(override?.Environment.map(({ Name, Value }) => [Name, Value]) ?? []);
  const passed = Object.fromEntries(Object.entries(env).filter(([name]) => PASSED.test(name)));
  const [own, ...rest] = program;
  const { file, args } = endWithParent(own, rest);
  const child = spawn(file, args, {
    cwd: PROJECT_ROOT,
    env: { ...passed, ...given },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Leads a group, so that all of it can be ended at once.
    detached: true,
  });
  const say = log.pipe('scanner-runner');
  child.stdout.on('data', say);
  child.stderr.on('data', say);
  const { pid } = child;
  if (pid !== undefined) running.add(pid);
  const ended = new Promise<string | null>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, by) => resolve(code === 0 ? null : `The runner ended with ${by ?? code}`));
  });
  const stop = () => void endGroup(pid, ended);
  signal.addEventListener('abort', stop, { once: true });
  const timer = timeoutSeconds === undefined ? undefined : setTimeout(stop, timeoutSeconds * 1000);
  try {
    const failure = await ended;
    if (failure !== null) throw new TaskFailed(failure);
    return null;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    if (pid !== undefined) running.delete(pid);
  }
}

async function endGroup(pid: number | undefined, ended: Promise<unknown>): Promise<void> {
  if (pid === undefined || !killGroup(pid, 'SIGTERM')) return;
  const force = setTimeout(() => killGroup(pid, 'SIGKILL'), GRACE_MS);
  await ended;
  clearTimeout(force);
}
