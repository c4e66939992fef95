import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';

const ServiceFile = z.object({ url: z.url(), pid: z.number(), dynamodb: z.string(), table: z.string() });
const CredentialsFile = z.object({ api_key: z.string() });

/** A running service, and the key to use it with. */
export interface Connection {
  readonly url: string;
  readonly apiKey: string;
  /** Whether this command started it. */
  readonly started: boolean;
  /** What its first start said of the admin it made: shown once, kept nowhere. */
  readonly admin: string | null;
}

/** Enough for a cold start on a slow machine, with synthesis. */
const START_DEADLINE = 90_000;

export function dataDirectory(): string {
  return resolve(process.env.ASPM_DATA_DIR ?? fileURLToPath(new URL('../../.data', import.meta.url)));
}

/**
 * The service to work with: `ASPM_URL` with `ASPM_API_KEY` where set, else the embedded one of the
 * data folder, started in the background where it does not run.
 */
export async function connectOrStart(onProgress: (text: string) => void): Promise<Connection> {
  const { ASPM_URL: url, ASPM_API_KEY: apiKey } = process.env;
  if (url && apiKey) return { url: url.replace(/\/+$/, ''), apiKey, started: false, admin: null };
  const directory = dataDirectory();
  const running = await findRunning(directory);
  if (running) return { url: running.url, apiKey: await readApiKey(directory), started: false, admin: null };
  onProgress('Starting the embedded service');
  const service = await startInBackground(directory);
  const admin = await takeAdminLine(`${directory}/start.log`);
  return { url: service.url, apiKey: await readApiKey(directory), started: true, admin };
}

/** Takes the line with the generated password out of the log of the start: it is for the terminal alone. */
async function takeAdminLine(path: string): Promise<string | null> {
  const lines = (await readFile(path, 'utf8')).split('\n');
  const line = lines.find((candidate) => candidate.startsWith('admin '));
  if (line === undefined) return null;
  await writeFile(path, lines.filter((candidate) => candidate !== line).join('\n'));
  return line;
}

/** The service that says it runs on this data folder, if it answers. */
export async function findRunning(directory: string): Promise<z.infer<typeof ServiceFile> | null> {
  const file = await readJson(`${directory}/service.json`, ServiceFile);
  return file && (await answers(file.url)) ? file : null;
}

async function startInBackground(directory: string): Promise<z.infer<typeof ServiceFile>> {
  mkdirSync(directory, { recursive: true });
  const log = openSync(`${directory}/start.log`, 'w', 0o600);
  const child = spawn(process.execPath, [fileURLToPath(new URL('../local/main.ts', import.meta.url))], {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, PORT: process.env.PORT ?? String(await freePort(3000)) },
  });
  closeSync(log);
  let ended = false;
  child.once('exit', () => {
    ended = true;
  });
  child.unref();
  const deadline = Date.now() + START_DEADLINE;
  while (!ended && Date.now() < deadline) {
    const running = await findRunning(directory);
    if (running) return running;
    await sleep(100);
  }
  const said = (await readFile(`${directory}/start.log`, 'utf8').catch(() => '')).trim().split('\n').at(-1);
  throw new Error(
    `The embedded service did not start: ${said || 'it said nothing'} (${directory}/start.log)`,
  );
}

/** The wanted port where it is free, else 0: any. */
async function freePort(wanted: number): Promise<number> {
  const { promise, resolve: done } = Promise.withResolvers<number>();
  const probe = createServer();
  probe.once('error', () => done(0));
  probe.listen(wanted, '127.0.0.1', () => probe.close(() => done(wanted)));
  return promise;
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/api/health`, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}

async function readApiKey(directory: string): Promise<string> {
  const file = await readJson(`${directory}/credentials.json`, CredentialsFile);
  if (!file)
    throw new Error(`${directory}/credentials.json is missing; set ASPM_URL and ASPM_API_KEY instead`);
  return file.api_key;
}

async function readJson<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): Promise<z.output<Schema> | null> {
  try {
    return schema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return null;
  }
}
