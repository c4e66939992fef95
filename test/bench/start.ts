import { spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { spread } from './figures.ts';

const MAIN = fileURLToPath(new URL('../../infra/local/main.ts', import.meta.url));
const CACHED_TEMPLATE = new URL('../../.build/local-template.json', import.meta.url);
const RUNS = 5;

/** From the start of the process to its line `ready`, which it prints when /api/health answers. */
export async function start(): Promise<void> {
  const cold: number[] = [];
  const warm: number[] = [];
  const memory: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    await rm(CACHED_TEMPLATE, { force: true });
    cold.push((await startOnce()).milliseconds);
    const { milliseconds, megabytes } = await startOnce();
    warm.push(milliseconds);
    memory.push(megabytes);
  }
  console.log(
    'Process start to `ready` (in memory, port 0), after the template cache was removed, and with it:',
  );
  console.log(`  with synthesis     ${spread(cold, 'ms')}`);
  console.log(`  template at hand   ${spread(warm, 'ms')}`);
  console.log(`  resident memory, service and store, right after the start: ${spread(memory, 'MiB')}`);
}

async function startOnce(): Promise<{ milliseconds: number; megabytes: number }> {
  const began = performance.now();
  const env = {
    ...process.env,
    PORT: '0',
    ASPM_IN_MEMORY: '1',
    ASPM_ADMIN_PASSWORD: 'a password for the bench',
  };
  const child = spawn(process.execPath, [MAIN], { stdio: ['ignore', 'pipe', 'inherit'], env });
  try {
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      if (!String(chunk).includes('ready http')) continue;
      return { milliseconds: performance.now() - began, megabytes: await residentMegabytes(child.pid ?? 0) };
    }
    throw new Error('The service ended before it was ready');
  } finally {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  }
}

/** Of the process and all that it started, as Linux tells. */
async function residentMegabytes(pid: number): Promise<number> {
  const sizes = (await familyOf(String(pid))).map(async (id) => {
    const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

async function familyOf(pid: string): Promise<string[]> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => ''))
    .trim()
    .split(' ')
    .filter(Boolean);
  return [pid, ...(await Promise.all(children.map(familyOf))).flat()];
}
