import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { PROJECT_ROOT } from '#infra/project.ts';
import { prepareScannerDatabases } from '#test/harness/scanner-databases.ts';
import { createVulnerableRepository } from '#test/harness/vulnerable-repository.ts';
import { accountEnvironment, letPublishImages } from './deploy.ts';
import { ensureEmulator } from './emulator/install.ts';
import { REDIRECT, REGION, startEmulator } from './emulator/start.ts';
import { openShell, type Shell } from './shell.ts';

interface Block {
  readonly heading: string;
  readonly text: string;
}

/** Every `sh` block of the guide, in its order, under its heading. */
async function readBlocks(): Promise<Block[]> {
  const guide = await readFile(join(PROJECT_ROOT, 'docs/deploying.md'), 'utf8');
  let heading = '';
  return [...guide.matchAll(/^## (.+)$|^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, title, text]) => {
    heading = title ?? heading;
    return text === undefined ? [] : [{ heading, text }];
  });
}

/** What a reader writes in the place of the guide's own values. */
const OWN_VALUES = (repository: string, folder: string): [RegExp, string][] => [
  [/eu-central-1/g, REGION],
  [/REPOSITORY=\S+/, `REPOSITORY=${repository}`],
  [/aspm-export/, join(folder, 'aspm-export')],
  [/\.\.\/aspm-before/g, join(folder, 'aspm-before')],
];

/** What a reader's terminal has: certificates and proxies, but nothing of these tests. */
function ownEnvironment(): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !/^(?:AWS_|ASPM_|NODE_ENV$|TEST$|VITEST|npm_)/.test(entry[0]),
  );
  return Object.fromEntries(entries);
}

const open = new AsyncDisposableStack();
afterAll(() => open.disposeAsync());

const blocks = await readBlocks();

/** An account that nobody has used: the guide from its first command to its last. */
describe('the guide to deploying', () => {
  let shell: Shell;
  let repository: string;
  let endpoint: string;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'aspm-guide-'));
    open.defer(() => rm(folder, { recursive: true, force: true }));
    const installed = await ensureEmulator();
    const emulator = await startEmulator({
      installed,
      folder,
      container: await prepareScannerDatabases(join(folder, 'databases')),
    });
    open.defer(() => emulator.stop());
    endpoint = emulator.endpoint;
    const made = await createVulnerableRepository();
    open.defer(() => made.remove());
    repository = `${inject('service').repositories}${made.path}`;
    // Where the CDK keeps a person's own settings: repositories of this test are on this machine.
    const home = join(folder, 'home');
    await mkdir(home);
    await writeFile(join(home, '.cdk.json'), JSON.stringify({ context: { allowPrivateAddresses: '1' } }));
    shell = open.use(
      openShell(PROJECT_ROOT, {
        ...ownEnvironment(),
        ...accountEnvironment(emulator.endpoint),
        PATH: [join(installed, 'bin'), dirname(process.execPath), process.env.PATH].join(':'),
        HOME: home,
        // The home is another one for the CDK alone.
        npm_config_userconfig: join(homedir(), '.npmrc'),
        npm_config_cache: join(homedir(), '.npm'),
        NODE_OPTIONS: REDIRECT,
        CDK_OUTDIR: join(folder, 'cdk.out'),
      }),
    );
  });

  it('has commands', () => {
    expect(blocks.length).toBeGreaterThan(10);
  });

  let broken: string | null = null;
  it.each(blocks.map(({ heading, text }, index) => ({ name: `${heading} (${index + 1})`, text })))(
    '$name',
    async ({ name, text }) => {
      // A later command needs what an earlier one made.
      expect(broken).toBeNull();
      broken = name;
      const own = OWN_VALUES(repository, folder).reduce((block, [from, to]) => block.replace(from, to), text);
      const { failed, output } = await shell.run(own);
      expect(failed, output.slice(-3000)).toBe(false);
      if (text.includes('cdk bootstrap')) await letPublishImages(endpoint);
      broken = null;
    },
  );

  it('leaves nothing that holds data, and no stack', async () => {
    const marker = randomUUID();
    const { output } = await shell.run(
      [
        `echo ${marker}`,
        'aws dynamodb list-tables --output text --query TableNames',
        'aws secretsmanager list-secrets --output text --query "SecretList[].Name"',
        'aws cloudformation list-stacks --stack-status-filter CREATE_COMPLETE UPDATE_COMPLETE --output text --query "StackSummaries[].StackName"',
        'aws logs describe-log-groups --output text --query "logGroups[].logGroupName"',
        'aws s3api list-buckets --output text --query "Buckets[].Name"',
        'aws lambda list-functions --output text --query "Functions[].FunctionName"',
      ].join('\n'),
    );
    const left = (output.split(marker)[1] ?? '')
      .split(/\s+/)
      .filter((word) => word !== '' && word !== 'None');
    expect(left.filter((name) => !/^(?:CDKToolkit|cdk-)/.test(name))).toEqual([]);
  });
});
