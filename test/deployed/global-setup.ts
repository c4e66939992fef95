import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { TestProject } from 'vitest/node';
import { STACK_NAME, TABLE_OUTPUT } from '#infra/project.ts';
import { serveGit } from '#test/harness/git-server.ts';
import { startHttpServer } from '#test/harness/http-server.ts';
import { prepareScannerDatabases } from '#test/harness/scanner-databases.ts';
import { accountEnvironment, bootstrapAccount, deploy, physicalId, runProgram } from './deploy.ts';
import { ensureEmulator } from './emulator/install.ts';
import { REGION, ROOT, startEmulator } from './emulator/start.ts';
import { openFrontDoor } from './front-door.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The deployed stack, for tests that look at the account. */
    deployment: { endpoint: string; apiHost: string; iamLog: string; folder: string };
  }
}

/** What this deployment chooses; limits of requests are left to the tests that bring their own clock. */
const CONTEXT = {
  defaultTier: 'enterprise',
  orgCreation: 'anyone',
  rateLimitFactor: '1000',
  // Repositories of the tests are served on this machine.
  allowPrivateAddresses: '1',
};

/** `COUNTER_LANES` of the template. */
const LANES = 8;

/** From an empty account to the first admin, as docs/deploying.md says; then the tests. */
export default async function setup(project: TestProject) {
  await using open = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aspm-deployed-'));
  if (process.env.ASPM_KEEP !== '1') open.defer(() => rm(folder, { recursive: true, force: true }));
  const tell = (text: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);

  const installed = await ensureEmulator();
  const databases = await prepareScannerDatabases(join(folder, 'databases'));
  const emulator = await startEmulator({ installed, folder, container: databases });
  open.defer(() => emulator.stop());
  const account = { endpoint: emulator.endpoint, folder };
  tell(`the emulator answers (${emulator.log})`);
  await bootstrapAccount(account);
  const frontDoor = await openFrontDoor();
  open.defer(() => frontDoor.close());
  // A deployment clones over the network alone: the tests' folders are served to it.
  const repositories = open.use(await startHttpServer(serveGit('/')));
  tell('cdk deploy');
  const started = performance.now();
  const outputs = await deploy(account, { ...CONTEXT, publicUrl: frontDoor.url });
  tell(`deployed in ${Math.round((performance.now() - started) / 1000)} s`);
  const apiHost = new URL(required(outputs, (name) => name.startsWith('ApiUrl'))).host;
  frontDoor.leadTo({ host: apiHost, emulator: emulator.endpoint });

  const admin = ['--silent', 'run', 'admin', '--', 'bootstrap', 'admin@example.com', '--stack', STACK_NAME];
  tell(
    (await runProgram('npm', admin, accountEnvironment(emulator.endpoint))).replace(
      /password .*/s,
      'password …',
    ),
  );

  // The tests' own processes look at the account as its owner does.
  Object.assign(process.env, accountEnvironment(emulator.endpoint));
  project.provide('deployment', { endpoint: emulator.endpoint, apiHost, iamLog: emulator.iamLog, folder });
  project.provide('service', {
    url: frontDoor.url,
    dynamodb: emulator.endpoint,
    region: REGION,
    table: required(outputs, (name) => name === TABLE_OUTPUT),
    bucketUrl: `https://${await physicalId(emulator.endpoint, 'ReportBucket')}.s3.${REGION}.amazonaws.com`,
    tokenSecret: await readSecret(emulator.endpoint, await physicalId(emulator.endpoint, 'TokenSecret')),
    credentials: ROOT,
    lanes: LANES,
    log: emulator.log,
    repositories: `http://127.0.0.1:${repositories.port}`,
  });
  const kept = open.move();
  return () => kept.disposeAsync();
}

async function readSecret(endpoint: string, arn: string): Promise<string> {
  const client = new SecretsManagerClient({ endpoint, region: REGION, credentials: ROOT });
  const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: arn }));
  if (SecretString === undefined) throw new Error(`The secret ${arn} is empty`);
  return SecretString;
}

function required(outputs: Readonly<Record<string, string>>, fits: (name: string) => boolean): string {
  const [, value] = Object.entries(outputs).find(([name]) => fits(name)) ?? [];
  if (value === undefined) throw new Error(`The stack has no such output: ${fits}`);
  return value;
}
