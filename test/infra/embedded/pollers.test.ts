import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ServiceLog } from '#infra/local/log.ts';
import { type Pollers, startPollers } from '#infra/local/pollers.ts';
import { makeCredentials } from '#infra/local/signatures.ts';
import { type SqsAndS3, startSqsAndS3 } from '#infra/local/sqs-s3.ts';

const log: ServiceLog = { write() {}, pipe: () => () => {}, async close() {} };
const credentials = makeCredentials();
let part: SqsAndS3;
let sqs: SQSClient;
let queueUrl: string;
let pollers: Pollers;
const handled: { body: string; at: number; event: SQSEvent }[] = [];

beforeAll(async () => {
  part = await startSqsAndS3(null, credentials);
  sqs = new SQSClient({
    endpoint: part.endpoint,
    region: 'us-east-1',
    credentials,
  });
  const { QueueUrl } = await sqs.send(
    new CreateQueueCommand({ QueueName: 'work', Attributes: { VisibilityTimeout: '1' } }),
  );
  queueUrl = QueueUrl ?? '';
  const mapping = {
    queueUrl,
    queueArn: 'arn:work',
    functionName: 'worker',
    batchSize: 10,
    partialFailures: true,
  };
  pollers = startPollers([mapping], { invoke: (_, event) => work(event as SQSEvent) }, sqs, log);
});
afterAll(async () => {
  await pollers.stop();
  await part.stop();
});

/** Fails what says so at its first attempt. */
async function work(event: SQSEvent) {
  const batchItemFailures = event.Records.filter(
    ({ body, attributes }) => body.startsWith('fails') && attributes.ApproximateReceiveCount === '1',
  ).map(({ messageId }) => ({ itemIdentifier: messageId }));
  for (const { body } of event.Records) handled.push({ body, at: performance.now(), event });
  if (
    event.Records.some(
      ({ body, attributes }) => body === 'throws' && attributes.ApproximateReceiveCount === '1',
    )
  )
    throw new Error('whole batch');
  return { batchItemFailures };
}

const timesOf = (body: string) => handled.filter((entry) => entry.body === body).length;
async function left(): Promise<number> {
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['All'] }),
  );
  return (
    Number(Attributes?.ApproximateNumberOfMessages) +
    Number(Attributes?.ApproximateNumberOfMessagesNotVisible)
  );
}

describe('event source mappings', () => {
  it('wake up at once', async () => {
    const sent = performance.now();
    await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: 'quick' }));
    await vi.waitUntil(() => timesOf('quick') === 1, { interval: 1 });
    const [{ at, event } = { at: Number.POSITIVE_INFINITY, event: { Records: [] } }] = handled;
    expect(at - sent).toBeLessThan(500);
    expect(event.Records[0]).toMatchObject({
      body: 'quick',
      eventSource: 'aws:sqs',
      eventSourceARN: 'arn:work',
      attributes: { ApproximateReceiveCount: '1' },
    });
  });

  it('delete what was handled, and only that', async () => {
    const bodies = ['good-1', 'fails-1', 'good-2', 'fails-2'];
    await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: queueUrl,
        Entries: bodies.map((MessageBody, index) => ({ Id: String(index), MessageBody })),
      }),
    );
    await vi.waitUntil(() => timesOf('fails-1') === 2 && timesOf('fails-2') === 2, { timeout: 10_000 });
    await vi.waitUntil(async () => (await left()) === 0);
    expect([timesOf('good-1'), timesOf('good-2')]).toEqual([1, 1]);
  });

  it('leave everything to come again where the function throws', async () => {
    await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: 'throws' }));
    await vi.waitUntil(() => timesOf('throws') === 2, { timeout: 10_000 });
    await vi.waitUntil(async () => (await left()) === 0);
  });
});
