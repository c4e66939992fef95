import { describe, expect, inject, it } from 'vitest';
import { openIam, readIamLog } from '../iam.ts';

/**
 * What the emulator does without asking: it polls queues and keeps keys by itself, starts executions and
 * writes logs without a request.
 */
const NOT_ASKED = [
  /^kms:/,
  /^logs:/,
  /^xray:/,
  /^sqs:(?:ReceiveMessage|DeleteMessage|ChangeMessageVisibility|GetQueueUrl|GetQueueAttributes)$/,
];

/** Granted for what this run can't bring about: why. */
const RARE: Readonly<Record<string, string>> = {
  'authorizer dynamodb:Query': 'reads memberships of an identity provider’s user; none is deployed here',
  'runner-gate s3:GetObject': 'signs addresses of databases that nobody could fetch here',
  'scanner-databases s3:PutObject': 'databases are fetched from where nothing leads here',
  'vulnerability-feeds dynamodb:GetItem': 'the feeds can not be read here',
  'vulnerability-feeds dynamodb:BatchGetItem': 'the feeds can not be read here',
  'vulnerability-feeds dynamodb:Query': 'the feeds can not be read here',
  'vulnerability-feeds dynamodb:BatchWriteItem': 'the feeds can not be read here',
  'vulnerability-feeds dynamodb:UpdateItem': 'the feeds can not be read here',
  'vulnerability-feeds dynamodb:DeleteItem': 'the feeds can not be read here',
  'vulnerability-feeds sqs:SendMessage': 'the feeds can not be read here',
  'ingest-report s3:ListBucket': 'S3 asks for it where an object is missing; the emulator does not',
  'ingest-import s3:ListBucket': 'S3 asks for it where an object is missing; the emulator does not',
  'take-upload s3:ListBucket': 'S3 asks for it where an object is missing; the emulator does not',
  'run-dispatcher dynamodb:ConditionCheckItem': 'an entry of a run that no longer waits',
  'sweep dynamodb:BatchGetItem': 'what a crash left behind',
  'sweep dynamodb:PutItem': 'what a crash left behind',
  'sweep dynamodb:UpdateItem': 'what a crash left behind',
  'sweep dynamodb:DeleteItem': 'what a crash left behind',
  'sweep states:DescribeExecution': 'a run that says nothing',
  'sweep dynamodb:ConditionCheckItem': 'what a crash left behind',
  'sweep states:StopExecution': 'an execution whose scan is past its deadline',
  'deleter dynamodb:GetItem': 'counters of an asset that was moved meanwhile',
  'deleter dynamodb:DeleteItem': 'counters of an asset that was moved meanwhile',
  'deleter sqs:SendMessage': 'a deletion that takes longer than one turn',
  'scans dynamodb:ConditionCheckItem': 'a scan of an asset that is being deleted',
};

/** Comes last: IAM's log then holds what all tests together had the functions do. */
describe('after all tests on the deployed service', () => {
  const { endpoint, iamLog } = inject('deployment');

  it('no function was refused anything that it asked for', () => {
    const refused = readIamLog(iamLog).filter(({ allowed }) => !allowed);
    const asked = refused.map(({ functionName, action }) => `${functionName} ${action}`);
    expect([...new Set(asked)]).toEqual([]);
  });

  it('what is rare is granted', async () => {
    const granted = (await openIam(endpoint).granted()).map((one) => `${one.functionName} ${one.action}`);
    expect(Object.keys(RARE).filter((grant) => !granted.includes(grant))).toEqual([]);
  });

  it('each grant was used', async () => {
    const used = new Set(readIamLog(iamLog).map(({ functionName, action }) => `${functionName} ${action}`));
    const unused = (await openIam(endpoint).granted())
      .filter(({ action }) => !NOT_ASKED.some((pattern) => pattern.test(action)))
      .map(({ functionName, action }) => `${functionName} ${action}`)
      .filter((grant) => !used.has(grant));
    expect(unused.filter((grant) => !(grant in RARE))).toEqual([]);
  });
});
