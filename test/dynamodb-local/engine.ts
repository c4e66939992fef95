import { spawn } from 'node:child_process';
import { endWithParent } from '#infra/local/process.ts';
import { endChild, freePort, untilAnswering } from '#test/harness/child-server.ts';
import { dynamoDbLocalFolder, javaProgram } from './install.ts';

const START_MS = 60_000;

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
    await Promise.race([
      untilAnswering('DynamoDB Local', endpoint, START_MS),
      ended.then((how) => Promise.reject(new Error(how))),
    ]);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return { endpoint, stop: () => endChild(child) };
}
