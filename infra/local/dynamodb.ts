import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  type DynamoDBClient,
  ResourceInUseException,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import type { CloudModel } from './model.ts';
import { endWithParent } from './process.ts';

export interface DynamoDb {
  readonly endpoint: string;
  /** Resolves with the reason where it ended by itself, and can't be started again. */
  readonly lost: Promise<string>;
  stop(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGTERM');
});

const START_MS = 10_000;
const STOP_MS = 3000;

/** One that ends so often in so many milliseconds is not started again. */
const MOST_DEATHS = 5;
const WHILE_MS = 5 * 60_000;

/**
 * Starts the DynamoDB that comes with the project, or takes the one that `DYNAMODB_ENDPOINT` names. One that ends by
 * itself is started again where its data are in a file: at the same address, so that nobody else notices more than
 * a request that failed.
 * @param dataDir folder of its database file; null: in memory
 */
export async function startDynamoDb(
  dataDir: string | null,
  say: (line: string) => void = () => {},
): Promise<DynamoDb> {
  const given = process.env.DYNAMODB_ENDPOINT;
  if (given) return { endpoint: given, lost: new Promise(() => {}), stop: async () => {} };
  const program = findProgram();
  const pidFile = dataDir === null ? null : `${dataDir}/dynamodb.pid`;
  if (pidFile) await endStale(pidFile, program);

  const place = await freePlace();
  const lost = Promise.withResolvers<string>();
  let stopping = false;
  let current = await launch(program, place, dataDir);
  void watchOver();

  async function watchOver(): Promise<void> {
    for (let deaths: number[] = []; ; ) {
      const how = await current.ended;
      if (stopping) return;
      if (dataDir === null) {
        lost.resolve(`${how}; its data were in memory and are lost`);
        return;
      }
      deaths = [...deaths, Date.now()].filter((at) => Date.now() - at < WHILE_MS);
      try {
        if (deaths.length >= MOST_DEATHS) throw new Error(`${how}, ${deaths.length} times within 5 minutes`);
        current = await launch(program, place, dataDir);
        say(`${how}; it was started again, with its data`);
      } catch (error) {
        lost.resolve(error instanceof Error ? error.message : String(error));
        return;
      }
    }
  }

  return {
    endpoint: `http://${place.host}:${place.port}`,
    lost: lost.promise,
    async stop() {
      stopping = true;
      const { child, ended } = current;
      child.kill('SIGTERM');
      const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(force);
      if (pidFile) await rm(pidFile, { force: true });
    },
  };
}

interface Launched {
  readonly child: ChildProcess;
  /** Resolves with how it ended. */
  readonly ended: Promise<string>;
}

async function launch(program: string, place: Place, dataDir: string | null): Promise<Launched> {
  const database = dataDir === null ? [] : ['--db-path', `${dataDir}/dynamodb.sqlite`];
  // Made by us, so that it (and SQLite's files beside it, which follow it) is its owner's alone.
  for (const path of database.slice(1)) closeSync(openSync(path, 'a', 0o600));
  const { file, args } = endWithParent(program, [
    ...['serve', '--host', place.host, '-p', String(place.port)],
    ...database,
  ]);
  // In a group of its own: Ctrl-C at the terminal must reach us alone, who then end it last.
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  running.add(child);
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      running.delete(child);
      resolve(`DynamoDB ended (${signal ?? code})`);
    });
    child.once('error', (error) => resolve(`DynamoDB could not be started: ${error.message}`));
  });
  try {
    await untilListening(child, ended);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  if (dataDir !== null) await writeFile(`${dataDir}/dynamodb.pid`, String(child.pid), { mode: 0o600 });
  return { child, ended };
}

function findProgram(): string {
  const own = `@dynoxide/${process.platform}-${process.arch}`;
  try {
    return createRequire(import.meta.url).resolve(`${own}/dynoxide`);
  } catch {
    throw new Error(
      `The embedded DynamoDB (package ${own}) is not installed, or not made for this platform: it is there ` +
        'for linux-x64. Run DynamoDB Local instead and set DYNAMODB_ENDPOINT to its address, for instance ' +
        'http://127.0.0.1:8000',
    );
  }
}

/** One that outlived its service (killed before it could end it) still holds the database file. */
async function endStale(pidFile: string, program: string): Promise<void> {
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, 'utf8'));
  const isOurs = () => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(program);
    } catch {
      return false;
    }
  };
  if (!Number.isInteger(pid) || pid <= 1 || !isOurs()) return;
  process.kill(pid, 'SIGTERM');
  for (let waited = 0; isOurs(); waited += 20) {
    if (waited === STOP_MS) process.kill(pid, 'SIGKILL');
    if (waited > 2 * STOP_MS) throw new Error(`An earlier DynamoDB (process ${pid}) does not end`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

interface Place {
  readonly host: string;
  readonly port: number;
}

/**
 * It looks at neither signatures nor host names. So it is where nobody finds it by chance, such as a page in a
 * browser: all of 127.0.0.0/8 is this machine on Linux, where alone it is there.
 */
async function freePlace(): Promise<Place> {
  const host = `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`;
  try {
    return { host, port: await freePort(host) };
  } catch {
    // A sandbox may have the one address alone.
    return { host: '127.0.0.1', port: await freePort('127.0.0.1') };
  }
}

function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, host, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

function untilListening(child: ChildProcess, lost: Promise<string>): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = '';
    const timer = setTimeout(
      () => reject(new Error(`DynamoDB did not start within ${START_MS / 1000} s`)),
      START_MS,
    );
    const listen = (chunk: Buffer) => {
      said += chunk.toString('utf8');
      if (!said.includes('listening on')) return;
      clearTimeout(timer);
      // Read on, or a full pipe would stop it.
      child.stdout?.removeAllListeners('data').resume();
      child.stderr?.removeAllListeners('data').resume();
      resolve();
    };
    child.stdout?.on('data', listen);
    child.stderr?.on('data', listen);
    void lost.then((how) => {
      clearTimeout(timer);
      reject(new Error(`${how}${said === '' ? '' : `: ${said.trim()}`}`));
    });
  });
}

/** Creates the template's tables where they are not there yet. */
export async function createTables(tables: CloudModel['tables'], client: DynamoDBClient): Promise<void> {
  await Promise.all(
    tables.map(async ({ name, TimeToLiveSpecification, ...schema }) => {
      const input: CreateTableCommandInput = {
        TableName: name,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: schema.AttributeDefinitions,
        KeySchema: schema.KeySchema,
        GlobalSecondaryIndexes: schema.GlobalSecondaryIndexes,
      };
      try {
        await client.send(new CreateTableCommand(input));
      } catch (error) {
        if (error instanceof ResourceInUseException) return;
        throw error;
      }
      if (TimeToLiveSpecification)
        await client.send(new UpdateTimeToLiveCommand({ TableName: name, TimeToLiveSpecification }));
    }),
  );
}
