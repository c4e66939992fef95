import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { ownFrames } from '#shared/source-places.ts';
import { createGateClient, GateError } from './gate-client.ts';
import { removeLeftovers, WORK_FOLDER } from './leftovers.ts';
import { runJob } from './run-job.ts';
import { logFor, runError, runInfo } from './run-log.ts';

const ALIVE_INTERVAL = 2000;
const started = performance.now();

/**
 * The runner program: one run of one asset, from the claim in its environment to the last report. It
 * ends with 0 where every outcome, good or bad, was told to the service; anything else makes the state
 * machine end the run as lost.
 */
const { ORG_ID, RUN_ID, RUN_CLAIM, RUNNER_API_URL, ALIVE_FILE } = z
  .object({
    ORG_ID: z.uuid(),
    RUN_ID: z.uuid(),
    RUN_CLAIM: z.string().min(20),
    RUNNER_API_URL: z.url(),
    /** Touched as long as this program gets its turns: what the container's health check looks at. */
    ALIVE_FILE: z.string().min(1).optional(),
  })
  .parse(process.env);
logFor({ org_id: ORG_ID, run_id: RUN_ID });
// Nothing that the runner starts has use for it.
delete process.env.RUN_CLAIM;

const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());

const touch = () => void (ALIVE_FILE && writeFile(ALIVE_FILE, '').catch(() => undefined));
touch();
setInterval(touch, ALIVE_INTERVAL).unref();

await removeLeftovers(tmpdir());
const folder = await mkdtemp(join(tmpdir(), `${WORK_FOLDER}${process.pid}-`));
// Whatever is made on the way is made in there, and goes with it.
process.env.TMPDIR = folder;
try {
  const gate = createGateClient(RUNNER_API_URL);
  const job = await gate.claim(ORG_ID, RUN_ID, RUN_CLAIM);
  if (job.request_id) logFor({ request_id: job.request_id });
  if (job.scan_id) logFor({ scan_id: job.scan_id });
  runInfo('run began', { scanners: job.scanners.join(',') });
  await runJob(job, gate, folder, stop);
  runInfo('run ended', {
    stopped: stop.signal.aborted,
    duration_ms: Math.round(performance.now() - started),
  });
} catch (error) {
  runError('run failed', whatOf(error));
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}

/**
 * What failed and where, without the error's own words: they may quote a file's name or a line of a report. What
 * the service answered is a status.
 */
function whatOf(error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof Error)) return { error: 'unknown' };
  const { name, stack = '', cause } = error;
  const places = placesOf(stack);
  const code = codeOf(error) ?? codeOf(cause);
  return {
    error: error instanceof GateError ? `${name}: ${error.message}` : name,
    ...(code !== null && { code }),
    ...(places.length > 0 && { where: places.slice(0, 5).join(' < ') }),
  };
}

/** In the image, where the runner is one file without a map, functions by their names, which the bundle keeps. */
function placesOf(stack: string): string[] {
  const places = ownFrames(stack);
  if (places.length > 0) return places;
  return stack
    .split('\n')
    .flatMap((line) => /at (?:async )?([\w.$<>]+) \(.*\/main\.mjs:/.exec(line)?.[1] ?? []);
}

/** As Node names faults of the system and of the network: `ENOSPC`, `ECONNREFUSED`. */
function codeOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error)) return null;
  return typeof error.code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(error.code) ? error.code : null;
}
