import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { endWithParent } from '#infra/local/process.ts';
import { PROJECT_ROOT } from '#infra/project.ts';
import { endChild, freePort, untilAnswering } from '#test/harness/child-server.ts';

const START_MS = 120_000;

/** Given to whatever must find AWS by a name that is in no DNS. */
export const REDIRECT = `--import=${pathToFileURL(join(PROJECT_ROOT, 'test/deployed/emulator/redirect.ts')).href}`;
export const ACCOUNT = '000000000000';
export const REGION = 'us-east-1';
/** The account's own credentials, whom no policy holds back. */
export const ROOT = { accessKeyId: 'test', secretAccessKey: 'test' };

export interface Emulator {
  readonly endpoint: string;
  /** Who asked IAM for what, and the answer: a line a question. */
  readonly iamLog: string;
  /** What the emulator said. */
  readonly log: string;
  stop(): Promise<void>;
}

interface EmulatorOptions {
  /** Where `install.ts` put it. */
  readonly installed: string;
  /** For its logs. */
  readonly folder: string;
  /** Settings of the runner's containers: what the image would bring. */
  readonly container: Readonly<Record<string, string>>;
}

/** The emulator on a free port of loopback, with IAM enforced; it ends with this process. */
export async function startEmulator({ installed, folder, container }: EmulatorOptions): Promise<Emulator> {
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const log = join(folder, 'emulator.log');
  const iamLog = join(folder, 'iam.log');
  // Bundles run with the first `node` of PATH: the one that runs us, which is Lambda's own major version.
  const path = `${dirname(process.execPath)}:${process.env.PATH ?? ''}`;
  const home = process.env.HOME ?? '/';
  const { file, args } = endWithParent(join(installed, 'bin', 'python3'), ['-m', 'ministack'], 'KILL');
  const output = openSync(log, 'w');
  const child = spawn(file, args, {
    cwd: folder,
    stdio: ['ignore', output, output],
    detached: true,
    // Functions inherit this environment: nothing of ours may be in it that AWS would not give them.
    env: {
      PATH: path,
      HOME: home,
      LANG: 'C.UTF-8',
      PYTHONPATH: join(installed, 'stand-in'),
      AUTH: 'true',
      GATEWAY_PORT: String(port),
      EDGE_PORT: String(port),
      BIND_HOST: '127.0.0.1',
      LAMBDA_EXECUTOR: 'local',
      MINISTACK_REGION: REGION,
      LOG_LEVEL: 'INFO',
      NODE_OPTIONS: `${REDIRECT} --disable-warning=DEP0169`,
      ASPM_IAM_LOG: iamLog,
      ASPM_CONTAINER: JSON.stringify({
        command: [process.execPath, join(PROJECT_ROOT, 'functions/scanner-runner/main.ts')],
        cwd: PROJECT_ROOT,
        environment: {
          PATH: path,
          HOME: home,
          LANG: 'C.UTF-8',
          NODE_OPTIONS: REDIRECT,
          AWS_ENDPOINT_URL: endpoint,
          ...container,
        },
      }),
    },
  });
  closeSync(output);
  const ended = new Promise<never>((_, reject) => {
    child.once('exit', (code, signal) =>
      reject(new Error(`The emulator ended (${signal ?? code}): see ${log}`)),
    );
    child.once('error', reject);
  });
  ended.catch(() => undefined);
  try {
    await Promise.race([
      untilAnswering('The emulator', `${endpoint}/_ministack/health`, START_MS, ({ ok }) => ok),
      ended,
    ]);
  } catch (error) {
    await endChild(child, true);
    throw error;
  }
  return {
    endpoint,
    iamLog,
    log, // It and its functions are one group.
    stop: () => endChild(child, true),
  };
}
