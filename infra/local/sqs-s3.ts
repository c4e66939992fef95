import type { AddressInfo } from 'node:net';
import { CreateBucketCommand, type S3Client } from '@aws-sdk/client-s3';
import { CreateQueueCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { buildApp } from 'fauxqs';
import type { CloudModel } from './model.ts';

export interface SqsAndS3 {
  readonly endpoint: string;
  stop(): Promise<void>;
}

/**
 * SQS and S3 in this process, in memory: with files, `ChangeMessageVisibility(0)` would lose messages
 * (fauxqs 2.4.1). What a restart forgets, the sweep sends again. Built by hand rather than by
 * `startFauxqs`, which listens on every address of the machine.
 */
export async function startSqsAndS3(): Promise<SqsAndS3> {
  const app = buildApp({ logger: false });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  return { endpoint: `http://127.0.0.1:${port}`, stop: () => app.close() };
}

/** Creates the template's queues, dead-letter queues before those that name them, and its buckets. */
export async function createQueuesAndBuckets(model: CloudModel, sqs: SQSClient, s3: S3Client): Promise<void> {
  const buckets = model.buckets.map((Bucket) => s3.send(new CreateBucketCommand({ Bucket })));
  const create = (queue: CloudModel['queues'][number]) =>
    sqs.send(
      new CreateQueueCommand({
        QueueName: queue.name,
        Attributes: {
          ...(queue.VisibilityTimeout !== undefined && {
            VisibilityTimeout: String(queue.VisibilityTimeout),
          }),
          ...(queue.RedrivePolicy && { RedrivePolicy: JSON.stringify(queue.RedrivePolicy) }),
        },
      }),
    );
  await Promise.all(model.queues.filter((queue) => !queue.RedrivePolicy).map(create));
  await Promise.all([...buckets, ...model.queues.filter((queue) => queue.RedrivePolicy).map(create)]);
}
