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
const RARE: Readonly<Record<string, string>> = {};

/** Comes last: IAM's log then holds what all tests together had the functions do. */
describe('after all tests on the deployed service', () => {
  const { endpoint, iamLog } = inject('deployment');

  it('no function was refused anything that it asked for', () => {
    const refused = readIamLog(iamLog).filter(({ allowed }) => !allowed);
    const asked = refused.map(({ functionName, action }) => `${functionName} ${action}`);
    expect([...new Set(asked)]).toEqual([]);
  });

  it('each grant was used', async () => {
    const used = new Set(readIamLog(iamLog).map(({ functionName, action }) => `${functionName} ${action}`));
    const unused = (await openIam(endpoint).granted())
      .filter(({ action }) => !NOT_ASKED.some((pattern) => pattern.test(action)))
      .map(({ functionName, action }) => `${functionName} ${action}`)
      .filter((grant) => !used.has(grant));
    expect(unused.sort()).toEqual(Object.keys(RARE).sort());
  });
});
