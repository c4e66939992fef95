import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { endWithParent } from '#infra/local/process.ts';
import { dynamoDbLocalFolder, javaProgram } from './install.ts';

const START_MS = 60_000;
const POLL_MS = 100;

/** Amazon's DynamoDB Local, empty and in memory, in a process of its own; it ends with this one. */
export async function startDynamoDbLocal(): Promise<{ endpoint: string; stop(): Promise<void> }> {
  const folder = dynamoDbLocalFolder();
  const port = await freePort();
  const { file, args } = endWithParent(javaProgram(), [
    `-Djava.library.path=${folder}`,
    `-Dsqlite4java.library.path=${folder}`,
    ...['-cp', `${folder}/*`, 'com.amazonaws.services.dynamodbv2.local.main.ServerRunner'],
    ...['-inMemory', '-sharedDb', '-disableTelemetry', '-port', String(port)],
  ]);
  const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-2000);
  });
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(`DynamoDB Local ended (${signal ?? code}): ${said}`));
    child.once('error', (error) => resolve(`DynamoDB Local could not be started: ${error.message}`));
  });
  const endpoint = `http://127.0.0.1:${port}`;
  try {
    await Promise.race([untilAnswering(endpoint), ended.then((how) => Promise.reject(new Error(how)))]);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return { endpoint, stop: () => end(child) };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  // It has nothing to save.
  child.kill('SIGKILL');
  await ended;
}

/** It says nothing when it listens: whatever it answers, it is there. */
async function untilAnswering(endpoint: string): Promise<void> {
  const deadline = AbortSignal.timeout(START_MS);
  for (;;) {
    const there = await fetch(endpoint, { signal: deadline }).then(
      () => true,
      () => false,
    );
    if (there) return;
    if (deadline.aborted) throw new Error(`DynamoDB Local did not start within ${START_MS / 1000} s`);
    await sleep(POLL_MS);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
