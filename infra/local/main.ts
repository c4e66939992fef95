import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ChildNews } from './child-news.ts';
import { endWithParent } from './process.ts';

/**
 * `npm start`: starts the service, and starts it again where it died of what no bound inside it caught (memory,
 * most of all). It does nothing else, so that nothing can happen to it.
 */

/** One that dies so often in so many milliseconds has something that a start does not mend. */
const MOST_DEATHS = 5;
const WHILE_MS = 5 * 60_000;
const SERVICE = fileURLToPath(new URL('service.ts', import.meta.url));

const deaths: number[] = [];
let ending = false;
let child = start();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    ending = true;
    // At a terminal it has got the signal itself: it ends once.
    child.kill('SIGTERM');
  });

/** @param died how the one before ended; @param port where that one answered */
function start(died?: string, port?: string): ChildProcess {
  const { file, args } = endWithParent(process.execPath, [SERVICE], 'KILL');
  const service = spawn(file, args, {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...(died && { ASPM_DIED: died }), ...(port && { PORT: port }) },
  });
  let answered: string | null = null;
  service.on('message', ({ ready }: ChildNews) => {
    answered = new URL(ready).port;
  });
  service.once('error', (error) => {
    console.error(error.message);
    process.exit(1);
  });
  service.once('exit', (code, signal) => {
    if (ending || code === 0) process.exit(code ?? 0);
    // What can't start (a port that is taken) has said why.
    if (answered === null && deaths.length === 0) process.exit(code ?? 1);
    again(`${signal ?? `exit code ${code}`}`, answered ?? port);
  });
  return service;
}

function again(how: string, port: string | undefined): void {
  const now = Date.now();
  deaths.push(now);
  const recent = deaths.filter((at) => now - at < WHILE_MS).length;
  console.error(`The service died (${how}).`);
  if (recent >= MOST_DEATHS) {
    console.error(`It died ${recent} times within ${WHILE_MS / 60_000} minutes, and is not started again.`);
    process.exit(1);
  }
  if (process.env.ASPM_IN_MEMORY === '1')
    console.error('Its data were in memory (ASPM_IN_MEMORY=1) and are lost: it begins anew.');
  console.error('Starting it again.');
  child = start(how, port);
}
