import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scannersFolder } from '#functions/scanner-runner/locate.ts';
import { runProcess } from '#functions/scanner-runner/process.ts';
import { lockFolder } from '#infra/cli/scanners/lock.ts';

const POM = fileURLToPath(new URL('pom.xml', import.meta.url));
const OLDEST_JAVA = 17;
/** A download on a slow line; it takes ten seconds here. */
const INSTALL_MS = 15 * 60_000;

/** Why Amazon's DynamoDB can't be run on this machine, in words for who wants to. */
export class NotHere extends Error {
  override readonly name = 'NotHere';
}

/** The release that the pom names. */
export function dynamoDbLocalVersion(): string {
  const version = /<artifactId>DynamoDBLocal<\/artifactId>\s*<version>([\d.]+)</.exec(
    readFileSync(POM, 'utf8'),
  )?.[1];
  if (version === undefined) throw new Error(`${POM} names no version of DynamoDBLocal`);
  return version;
}

export function javaProgram(env: NodeJS.ProcessEnv = process.env): string {
  return env.JAVA_HOME ? join(env.JAVA_HOME, 'bin', 'java') : 'java';
}

/** The folder of its libraries in the cache: complete wherever it exists. */
export function dynamoDbLocalFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(scannersFolder(env), `dynamodb-local-${dynamoDbLocalVersion()}`);
}

/**
 * Brings Amazon's DynamoDB Local by Maven, once: beside the scanners, under another name until it is whole.
 * @throws NotHere where Java or Maven is missing, or Maven could not bring it
 */
export async function ensureDynamoDbLocal(env: NodeJS.ProcessEnv = process.env): Promise<void> {
  await checkJava(env);
  const folder = dynamoDbLocalFolder(env);
  if (existsSync(folder)) return;
  await mkdir(scannersFolder(env), { recursive: true });
  await using _lock = await lockFolder(scannersFolder(env), {
    onWait: () => console.log('Waiting for another run that installs into the same folder'),
  });
  // Whoever held the lock before may have brought it.
  if (existsSync(folder)) return;
  const partial = join(scannersFolder(env), '.partial-dynamodb-local');
  await rm(partial, { recursive: true, force: true });
  console.log(`Maven brings DynamoDB Local ${dynamoDbLocalVersion()}`);
  const { exitCode, startError, stdout, stderr } = await runProcess({
    file: 'mvn',
    args: ['-B', '-q', '-f', POM, 'dependency:copy-dependencies', `-DoutputDirectory=${partial}`],
    env,
    timeoutMs: INSTALL_MS,
    stdoutLimit: 1_000_000,
  });
  if (startError === 'ENOENT') throw new NotHere('Maven (mvn) was not found');
  if (exitCode !== 0) {
    await rm(partial, { recursive: true, force: true });
    throw new NotHere(`Maven could not bring it: ${lastLines(`${stdout}\n${stderr}`)}`);
  }
  await rename(partial, folder);
}

async function checkJava(env: NodeJS.ProcessEnv): Promise<void> {
  const { exitCode, stderr } = await runProcess({
    file: javaProgram(env),
    args: ['-version'],
    env,
    timeoutMs: 60_000,
    stdoutLimit: 65_536,
  });
  if (exitCode !== 0) throw new NotHere(`Java (${OLDEST_JAVA} or later) was not found`);
  const version = Number(/version "(\d+)/.exec(stderr)?.[1]);
  if (!(version >= OLDEST_JAVA))
    throw new NotHere(`Java ${OLDEST_JAVA} or later is needed; there is ${stderr.split('\n')[0]}`);
}

function lastLines(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  // Addresses of private repositories can hold credentials.
  return lines
    .slice(-3)
    .join(' / ')
    .replace(/\/\/[^/@\s]*@/g, '//')
    .slice(0, 600);
}
