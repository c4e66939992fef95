import { type Acknowledgment, ArnFormat, Stack, Validations } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { KEPT_DATABASES } from '#domain/vocabulary.ts';
import { RAW_REPORTS } from '#infra/pipeline/report-bucket.ts';
import type { Grants } from './catalogue.ts';

/** What the grants of the catalogue speak of. */
export interface GrantTargets {
  readonly key: IKey;
  /** ARNs of the table and of each index. */
  readonly tableArns: readonly string[];
  readonly queues: Readonly<Record<Grants['send'][number], IQueue>>;
  readonly secrets: Readonly<Record<Grants['secrets'][number], Secret>>;
  readonly reports: Bucket;
  readonly runs: StateMachine;
}

const READ_KEY = ['kms:Decrypt', 'kms:DescribeKey'];
// Spelled out instead of `ReEncrypt*` and `GenerateDataKey*`: a wildcard also takes in what comes later.
const WRITE_KEY = [
  ...READ_KEY,
  'kms:Encrypt',
  'kms:GenerateDataKey',
  'kms:GenerateDataKeyWithoutPlaintext',
  'kms:ReEncryptFrom',
  'kms:ReEncryptTo',
];
const WRITES = new Set<string>(['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem']);

/** Turns a function's declared grants into statements of exact actions on exact resources. */
export function allow(target: LambdaFunction, may: Grants, targets: GrantTargets): void {
  if (may.table.length > 0) {
    add(
      target,
      may.table.map((action) => `dynamodb:${action}`),
      targets.tableArns,
    );
    allowKey(
      target,
      targets.key,
      'dynamodb',
      may.table.some((action) => WRITES.has(action)) ? WRITE_KEY : READ_KEY,
    );
  }
  for (const queue of may.send) add(target, ['sqs:SendMessage'], [targets.queues[queue].queueArn]);
  for (const secret of may.secrets)
    add(target, ['secretsmanager:GetSecretValue'], [targets.secrets[secret].secretArn]);
  if (may.secrets.length > 0) allowKey(target, targets.key, 'secretsmanager', ['kms:Decrypt']);
  allowReports(target, may.reports, targets);
  allowDatabases(target, may.databases, targets);
  allowExecutions(target, may.executions, targets.runs);
}

function allowDatabases(
  target: LambdaFunction,
  databases: Grants['databases'],
  { reports: bucket, key }: GrantTargets,
) {
  if (databases === 'none') return;
  const objects = KEPT_DATABASES.map((name) => `${bucket.bucketArn}/databases/${name}`);
  add(target, [databases === 'keep' ? 's3:PutObject' : 's3:GetObject'], objects);
  allowKey(target, key, 's3', [databases === 'keep' ? 'kms:GenerateDataKey' : 'kms:Decrypt']);
}

function allowReports(
  target: LambdaFunction,
  reports: Grants['reports'],
  { reports: bucket, key }: GrantTargets,
) {
  if (reports === 'none') return;
  const objects = `${bucket.bucketArn}/${RAW_REPORTS}*`;
  acknowledge(target, {
    id: 'AwsSolutions-IAM5[Resource::<ReportBucket.Arn>/raw/*]',
    reason: 'Raw reports and nothing else of the bucket: one object a run and scanner.',
  });
  if (reports === 'convert') {
    add(target, ['s3:GetObject', 's3:PutObject', 's3:DeleteObject'], [objects]);
    allowKey(target, key, 's3', ['kms:GenerateDataKey', 'kms:Decrypt']);
  }
  if (reports === 'upload') {
    add(target, ['s3:PutObject'], [objects]);
    allowKey(target, key, 's3', ['kms:GenerateDataKey', 'kms:Decrypt']);
  }
  if (reports === 'purge') add(target, ['s3:DeleteObject'], [objects]);
  if (reports === 'read' || reports === 'download') {
    add(target, ['s3:GetObject'], [objects]);
    allowKey(target, key, 's3', ['kms:Decrypt']);
  }
  if (reports === 'purge' || reports === 'read' || reports === 'convert') {
    // To list what is to be purged; and without it a report that was never uploaded answers 403 instead of 404.
    target.addToRolePolicy(
      new PolicyStatement({
        actions: ['s3:ListBucket'],
        resources: [bucket.bucketArn],
        conditions: { StringLike: { 's3:prefix': `${RAW_REPORTS}*` } },
      }),
    );
  }
}

function allowExecutions(target: LambdaFunction, executions: Grants['executions'], runs: StateMachine) {
  if (executions.includes('start')) add(target, ['states:StartExecution'], [runs.stateMachineArn]);
  const others = executions.filter((action) => action !== 'start');
  if (others.length === 0) return;
  const names = { stop: 'states:StopExecution', describe: 'states:DescribeExecution' } as const;
  add(
    target,
    others.map((action) => names[action]),
    [executionsOf(runs)],
  );
  acknowledge(target, {
    id: 'AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:<RunStateMachine.Name>:*]',
    reason: 'Executions of this one state machine: their ids are only known once they run.',
  });
}

function executionsOf(runs: StateMachine): string {
  return Stack.of(runs).formatArn({
    service: 'states',
    resource: 'execution',
    resourceName: `${runs.stateMachineName}:*`,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
}

/** On the role: that is where its policy is, and where cdk-nag looks. */
function acknowledge(target: LambdaFunction, rule: Acknowledgment): void {
  if (target.role) Validations.of(target.role).acknowledge(rule);
}

/** The key may be used through one service alone, never to decrypt something directly. */
function allowKey(target: LambdaFunction, key: IKey, service: string, actions: readonly string[]): void {
  const { region, urlSuffix } = Stack.of(target);
  target.addToRolePolicy(
    new PolicyStatement({
      actions: [...actions],
      resources: [key.keyArn],
      conditions: { StringEquals: { 'kms:ViaService': `${service}.${region}.${urlSuffix}` } },
    }),
  );
}

function add(target: LambdaFunction, actions: readonly string[], resources: readonly string[]): void {
  target.addToRolePolicy(new PolicyStatement({ actions: [...actions], resources: [...resources] }));
}
