import { existsSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import * as z from 'zod';
import { isAlive } from '#shared/is-alive.ts';

const Service = z.object({ url: z.url(), pid: z.number().int().positive() });
const Credentials = z.object({ api_key: z.string(), org_id: z.string(), email: z.string() });
export type Credentials = z.output<typeof Credentials>;

/**
 * The data folder: `dynamodb.sqlite`, `objects` and `secrets.json` keep the service's state, `credentials.json`
 * the key of the local command line, `service.log` what the functions say; `service.json` says where
 * the service is while it runs. All are readable by their owner alone.
 */
export interface DataFolder {
  readonly path: string;
  file(name: string): string;
  readCredentials(): Promise<Credentials | null>;
  writeCredentials(credentials: Credentials): Promise<void>;
  /** Says where the service and its table are, until `withdraw`. */
  announce(where: { readonly url: string; readonly dynamodb: string; readonly table: string }): Promise<void>;
  withdraw(): void;
}

/**
 * @param pid the process that ends the service when it is signalled
 * @throws Error where another service works on the folder
 */
export async function openDataFolder(path: string, pid = process.pid): Promise<DataFolder> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const file = (name: string) => `${path}/${name}`;
  const other = readService(file('service.json'));
  if (other && other.pid !== pid && isAlive(other.pid) && (await answers(other.url)))
    throw new Error(
      `The service runs already: ${other.url} (process ${other.pid}). Stop it with: npm run stop`,
    );

  return {
    path,
    file,
    async readCredentials() {
      if (!existsSync(file('credentials.json'))) return null;
      return Credentials.safeParse(JSON.parse(await readFile(file('credentials.json'), 'utf8'))).data ?? null;
    },
    writeCredentials: (credentials) =>
      writeFile(file('credentials.json'), `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 }),
    announce: (where) =>
      writeFile(file('service.json'), `${JSON.stringify({ ...where, pid })}\n`, { mode: 0o600 }),
    withdraw: () => rmSync(file('service.json'), { force: true }),
  };
}

function readService(path: string): z.output<typeof Service> | null {
  try {
    return Service.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null;
  }
}

/** The number of a process that was killed may have gone to another one, which has no such address. */
async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/api/health`, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}
