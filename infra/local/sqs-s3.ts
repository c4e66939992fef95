import type { AddressInfo } from 'node:net';
import { CreateBucketCommand, type S3Client } from '@aws-sdk/client-s3';
import { CreateQueueCommand, SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { buildApp } from 'fauxqs';
import type { ServiceLog } from './log.ts';
import type { CloudModel } from './model.ts';

export interface SqsAndS3 {
  readonly endpoint: string;
  /** Asks to be told of objects that were put; fauxqs itself tells nobody. */
  onPut(tell: (bucket: string, key: string) => void): void;
  stop(): Promise<void>;
}

/**
 * SQS and S3 in this process, in memory: with files, `ChangeMessageVisibility(0)` would lose messages
 * (fauxqs 2.4.1). What a restart forgets, the sweep sends again. Built by hand rather than by
 * `startFauxqs`, which listens on every address of the machine.
 */
export async function startSqsAndS3(): Promise<SqsAndS3> {
  const app = buildApp({ logger: false });
  let tell: ((bucket: string, key: string) => void) | null = null;
  app.addHook('onResponse', async (request, reply) => {
    if (request.method !== 'PUT' || reply.statusCode !== 200) return;
    const [, bucket, key] = /^\/([^/?]+)\/([^?]+)/.exec(request.url) ?? [];
    if (bucket && key) tell?.(bucket, key);
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    onPut: (told) => {
      tell = told;
    },
    stop: () => app.close(),
  };
}

/** Creates the template's queues, dead-letter queues before those that name them, and its buckets. */
export async function createQueuesAndBuckets(model: CloudModel, sqs: SQSClient, s3: S3Client): Promise<void> {
  const buckets = model.buckets.map(({ name }) => s3.send(new CreateBucketCommand({ Bucket: name })));
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

/** Raises the template's bucket notifications, as S3 words them. */
export function notifyOfUploads(
  model: CloudModel,
  sqsAndS3: SqsAndS3,
  sqs: SQSClient,
  log: ServiceLog,
): void {
  sqsAndS3.onPut((bucket, key) => {
    const wanted = model.buckets.find(({ name }) => name === bucket)?.notifications ?? [];
    for (const { queueUrl, prefix, suffix } of wanted) {
      const plain = decodeURIComponent(key);
      if (!plain.startsWith(prefix) || !plain.endsWith(suffix)) continue;
      const MessageBody = JSON.stringify({
        Records: [{ s3: { bucket: { name: bucket }, object: { key } } }],
      });
      sqs
        .send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody }))
        .catch((error: unknown) => log.write('ERROR', 'bucket', null, ['notification not sent', error]));
    }
  });
}
