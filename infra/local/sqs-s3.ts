import { readdir, rm, stat } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { CreateBucketCommand, paginateListObjectsV2, type S3Client } from '@aws-sdk/client-s3';
import { CreateQueueCommand, SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { buildApp } from 'fauxqs';
import type { ServiceLog } from './log.ts';
import type { CloudModel } from './model.ts';
import { isSigned, type LocalCredentials } from './signatures.ts';

const OBJECT_DAYS = 90;

export interface SqsAndS3 {
  readonly endpoint: string;
  /** Asks to be told of objects that were put; fauxqs itself tells nobody. */
  onPut(tell: (bucket: string, key: string) => void): void;
  stop(): Promise<void>;
}

/**
 * SQS and S3 in this process. Queues are in memory: with files, `ChangeMessageVisibility(0)` would lose messages
 * (fauxqs 2.4.1); what a restart forgets, the sweep sends again. Built by hand rather than by `startFauxqs`,
 * which listens on every address of the machine.
 * Only what is signed with the credentials is answered; addresses that were signed for a while are good for that long.
 * @param folder where objects are kept, so that a restart finds what was accepted before; null: in memory
 */
export async function startSqsAndS3(folder: string | null, credentials: LocalCredentials): Promise<SqsAndS3> {
  const stores = folder === null ? undefined : await storesIn(folder);
  const app = buildApp({ logger: false, ...(stores && { stores }) });
  let tell: ((bucket: string, key: string) => void) | null = null;
  app.addHook('onRequest', async (request, reply) => {
    const { method, url, headers } = request;
    if (!(await isSigned({ method, target: url, headers }, credentials, Date.now())))
      return reply.code(403).type('application/xml').send(ACCESS_DENIED);
    // Keys become paths.
    if (leadsOut(url)) return reply.code(400).send();
  });
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

/** As S3 words it, whatever is missing or wrong. */
const ACCESS_DENIED =
  '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>';

function leadsOut(target: string): boolean {
  try {
    return decodeURIComponent(target)
      .split(/[/\\?]/)
      .includes('..');
  } catch {
    // What can't be decoded is no key of ours.
    return true;
  }
}

type Stores = NonNullable<NonNullable<Parameters<typeof buildApp>[0]>['stores']>;

/** What `startFauxqs` would make of `s3StorageDir`; the package exports none of it. */
async function storesIn(folder: string): Promise<Stores> {
  const part = async (path: string) => import(new URL(path, import.meta.resolve('fauxqs')).href);
  const [{ SqsStore }, { SnsStore }, { S3Store }, { FileS3Persistence }] = await Promise.all([
    part('sqs/sqsStore.js'),
    part('sns/snsStore.js'),
    part('s3/s3Store.js'),
    part('s3/fileS3Persistence.js'),
  ]);
  const s3Store = new S3Store();
  await forgetOld(folder);
  const files = new FileS3Persistence(folder);
  files.loadS3(s3Store);
  s3Store.persistence = files;
  return { sqsStore: new SqsStore(), snsStore: new SnsStore(), s3Store };
}

/** Objects live for 90 days (the bucket's lifecycle). */
async function forgetOld(folder: string): Promise<void> {
  const oldest = Date.now() - OBJECT_DAYS * 24 * 3600 * 1000;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile() || !/\.(data|meta\.json)$/.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    if ((await stat(path)).mtimeMs < oldest) await rm(path, { force: true });
  }
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
    notify(model, bucket, key, sqs).catch((error: unknown) =>
      log.write('ERROR', 'bucket', null, ['notification not sent', error]),
    );
  });
}

/**
 * Raises those of the objects that are there already: S3 would not, but SQS does not forget messages either. What
 * is told twice is no harm: whoever takes an upload in removes it.
 */
export async function repeatNotifications(
  model: CloudModel,
  s3: S3Client,
  sqs: SQSClient,
  log: ServiceLog,
): Promise<void> {
  try {
    for (const { name, notifications = [] } of model.buckets) {
      if (notifications.length === 0) continue;
      for await (const { Contents = [] } of paginateListObjectsV2({ client: s3 }, { Bucket: name }))
        for (const { Key } of Contents) if (Key) await notify(model, name, encodeURI(Key), sqs);
    }
  } catch (error) {
    log.write('ERROR', 'bucket', null, ['uploads of before were not looked for', error]);
  }
}

/** @param key as a URL has it */
async function notify(model: CloudModel, bucket: string, key: string, sqs: SQSClient): Promise<void> {
  const wanted = model.buckets.find(({ name }) => name === bucket)?.notifications ?? [];
  const plain = decodeURIComponent(key);
  for (const { queueUrl, prefix, suffix } of wanted) {
    if (!plain.startsWith(prefix) || !plain.endsWith(suffix)) continue;
    const MessageBody = JSON.stringify({
      Records: [{ s3: { bucket: { name: bucket }, object: { key } } }],
    });
    await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody }));
  }
}
