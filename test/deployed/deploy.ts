import { join } from 'node:path';
import {
  CloudFormationClient,
  DescribeStackResourceCommand,
  DescribeStacksCommand,
} from '@aws-sdk/client-cloudformation';
import { IAMClient, PutRolePolicyCommand } from '@aws-sdk/client-iam';
import { runProcess } from '#functions/scanner-runner/process.ts';
import { PROJECT_ROOT, STACK_NAME } from '#infra/project.ts';
import { ACCOUNT, REGION, ROOT } from './emulator/start.ts';

const CDK = join(PROJECT_ROOT, 'node_modules/aws-cdk/bin/cdk');
const NO_DOCKER = join(PROJECT_ROOT, 'test/deployed/emulator/no-docker.ts');
const COMMAND_MS = 15 * 60_000;

/** What AWS's own programs and SDKs find the emulated account by. */
export function accountEnvironment(endpoint: string): Record<string, string> {
  return {
    AWS_ENDPOINT_URL: endpoint,
    AWS_ACCESS_KEY_ID: ROOT.accessKeyId,
    AWS_SECRET_ACCESS_KEY: ROOT.secretAccessKey,
    AWS_REGION: REGION,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    CDK_DOCKER: NO_DOCKER,
  };
}

export interface Account {
  readonly endpoint: string;
  /** Empty folder for what the CDK writes. */
  readonly folder: string;
}

/** `cdk bootstrap`, once an account and region. */
export async function bootstrapAccount({ endpoint, folder }: Account): Promise<void> {
  // From elsewhere: in the project's folder it would synthesize the app.
  await runCdk(['bootstrap', `aws://${ACCOUNT}/${REGION}`], { endpoint, folder, cwd: folder });
  await letPublishImages(endpoint);
}

/** The emulator asks for a repository's name in vain: of this one question it knows only `*`. */
export async function letPublishImages(endpoint: string): Promise<void> {
  await new IAMClient({ endpoint, region: REGION, credentials: ROOT }).send(
    new PutRolePolicyCommand({
      RoleName: `cdk-hnb659fds-image-publishing-role-${ACCOUNT}-${REGION}`,
      PolicyName: 'describe-any',
      PolicyDocument: JSON.stringify({
        Version: '2012-10-17',
        Statement: [{ Effect: 'Allow', Action: 'ecr:*', Resource: '*' }],
      }),
    }),
  );
}

/**
 * `cdk deploy` of the project as it is, by change set, with the context of a deployment.
 * @returns the stack's outputs
 */
export async function deploy(
  { endpoint, folder }: Account,
  context: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const options = Object.entries(context).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const words = ['deploy', STACK_NAME, '--method', 'change-set', '--require-approval', 'never', ...options];
  await runCdk([...words, '--output', join(folder, 'cdk.out')], { endpoint, folder, cwd: PROJECT_ROOT });
  return readOutputs(endpoint);
}

async function readOutputs(endpoint: string): Promise<Record<string, string>> {
  const cloudFormation = new CloudFormationClient({ endpoint, region: REGION, credentials: ROOT });
  const { Stacks: [stack] = [] } = await cloudFormation.send(
    new DescribeStacksCommand({ StackName: STACK_NAME }),
  );
  const outputs = stack?.Outputs ?? [];
  return Object.fromEntries(outputs.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]));
}

/** The name or ARN behind a logical id of the stack. */
export async function physicalId(endpoint: string, logicalId: string): Promise<string> {
  const cloudFormation = new CloudFormationClient({ endpoint, region: REGION, credentials: ROOT });
  const { StackResourceDetail } = await cloudFormation.send(
    new DescribeStackResourceCommand({ StackName: STACK_NAME, LogicalResourceId: logicalId }),
  );
  const id = StackResourceDetail?.PhysicalResourceId;
  if (id === undefined) throw new Error(`The stack has no ${logicalId}`);
  return id;
}

async function runCdk(
  args: readonly string[],
  { endpoint, cwd }: Account & { readonly cwd: string },
): Promise<string> {
  return runProgram(process.execPath, [CDK, ...args], { ...accountEnvironment(endpoint) }, cwd);
}

/** Runs a program of the deployment's guide; its output, or an error that shows the end of it. */
export async function runProgram(
  file: string,
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  cwd: string = PROJECT_ROOT,
): Promise<string> {
  const { exitCode, startError, stdout, stderr } = await runProcess({
    file,
    args,
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, CI: 'true', ...settings },
    timeoutMs: COMMAND_MS,
    stdoutLimit: 50_000_000,
  });
  if (startError === null && exitCode === 0) return stdout;
  const said = `${stdout}\n${stderr}`.trim().split('\n').slice(-15).join('\n');
  throw new Error(`${args.join(' ')} failed (${startError ?? exitCode}):\n${said}`);
}
