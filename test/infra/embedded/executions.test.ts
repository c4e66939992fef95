import {
  DescribeExecutionCommand,
  ExecutionAlreadyExists,
  ExecutionDoesNotExist,
  SFNClient,
  StartExecutionCommand,
  StateMachineDoesNotExist,
  StopExecutionCommand,
} from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type JsonEndpoint, openJsonEndpoint } from '#infra/local/aws-json.ts';
import { createExecutions } from '#infra/local/executions.ts';
import type { ServiceLog } from '#infra/local/log.ts';
import { makeCredentials } from '#infra/local/signatures.ts';

const ARN = 'arn:aws:states:us-east-1:000000000000:stateMachine:Test';
const definition = {
  StartAt: 'First',
  States: {
    First: {
      Type: 'Task',
      Resource: 'first',
      ResultPath: null,
      Catch: [{ ErrorEquals: ['States.ALL'], ResultPath: '$.failure', Next: 'Last' }],
      Next: 'Each',
    },
    Each: {
      Type: 'Map',
      ItemsPath: '$.items',
      ItemSelector: { 'item.$': '$$.Map.Item.Value', 'id.$': '$.id' },
      ItemProcessor: {
        StartAt: 'Inner',
        States: { Inner: { Type: 'Task', Resource: 'inner', End: true } },
      },
      ResultPath: null,
      Next: 'Last',
    },
    Last: { Type: 'Task', Resource: 'last', ResultPath: null, End: true },
  },
};

const calls: [string, unknown][] = [];
let first: (signal: AbortSignal) => Promise<unknown> = async () => null;
const log: ServiceLog = { write() {}, pipe: () => () => {}, async close() {} };
const executions = createExecutions(
  [{ arn: ARN, definition }],
  async ({ resource }, input, signal) => {
    calls.push([resource, input]);
    return resource === 'first' ? first(signal) : null;
  },
  log,
);

const credentials = makeCredentials();
let endpoint: JsonEndpoint;
let client: SFNClient;
beforeAll(async () => {
  endpoint = await openJsonEndpoint(executions.operations, credentials);
  client = new SFNClient({
    endpoint: endpoint.url,
    region: 'us-east-1',
    credentials,
    maxAttempts: 1,
  });
});
afterAll(() => endpoint.close());

const input = JSON.stringify({ id: 1, items: ['a', 'b'] });
const start = (name: string, text = input) =>
  client.send(new StartExecutionCommand({ stateMachineArn: ARN, name, input: text }));
const arnOf = (name: string) => `${ARN.replace(':stateMachine:', ':execution:')}:${name}`;
const describeOne = (name: string) =>
  client.send(new DescribeExecutionCommand({ executionArn: arnOf(name) }));
const untilEnded = (name: string) =>
  vi.waitUntil(async () => {
    const { status } = await describeOne(name);
    return status === 'RUNNING' ? null : status;
  });

describe('Step Functions', () => {
  it('runs a state machine from its first state to its last', async () => {
    calls.length = 0;
    const { executionArn, startDate } = await start('whole');
    expect(executionArn).toBe(arnOf('whole'));
    expect(startDate).toBeInstanceOf(Date);
    expect(await untilEnded('whole')).toBe('SUCCEEDED');
    expect(calls).toEqual([
      ['first', { id: 1, items: ['a', 'b'] }],
      ['inner', { id: 1, item: 'a' }],
      ['inner', { id: 1, item: 'b' }],
      ['last', { id: 1, items: ['a', 'b'] }],
    ]);
  });

  it('hands the failure of a task to the state that catches it', async () => {
    calls.length = 0;
    first = async () => {
      throw Object.assign(new Error('code 3'), { name: 'States.TaskFailed' });
    };
    await start('caught');
    expect(await untilEnded('caught')).toBe('SUCCEEDED');
    first = async () => null;
    expect(calls.at(-1)).toEqual([
      'last',
      { id: 1, items: ['a', 'b'], failure: { Error: 'States.TaskFailed', Cause: 'code 3' } },
    ]);
  });

  it('starts none twice', async () => {
    await start('once');
    await untilEnded('once');
    await expect(start('once')).rejects.toThrow(ExecutionAlreadyExists);
  });

  it('answers the very same start again while it runs, and refuses another input', async () => {
    first = (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(null)));
    const one = await start('same');
    expect((await start('same')).executionArn).toBe(one.executionArn);
    await expect(start('same', '{"other":1}')).rejects.toThrow(ExecutionAlreadyExists);
    await client.send(new StopExecutionCommand({ executionArn: arnOf('same') }));
    first = async () => null;
  });

  it('stops an execution: its task is told, and no state follows', async () => {
    calls.length = 0;
    const told = vi.fn();
    first = (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          told();
          reject(new Error('ended'));
        });
      });
    await start('stopped');
    await vi.waitUntil(() => calls.length === 1);
    await client.send(new StopExecutionCommand({ executionArn: arnOf('stopped') }));
    expect((await describeOne('stopped')).status).toBe('ABORTED');
    expect(told).toHaveBeenCalledOnce();
    first = async () => null;
    expect(calls).toHaveLength(1);
  });

  it('knows nothing of what was never started', async () => {
    await expect(describeOne('never')).rejects.toThrow(ExecutionDoesNotExist);
    await expect(client.send(new StopExecutionCommand({ executionArn: arnOf('never') }))).rejects.toThrow(
      ExecutionDoesNotExist,
    );
    await expect(
      client.send(new StartExecutionCommand({ stateMachineArn: `${ARN}2`, name: 'x', input: '{}' })),
    ).rejects.toThrow(StateMachineDoesNotExist);
  });
});
