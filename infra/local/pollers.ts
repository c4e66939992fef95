import {
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import * as z from 'zod';
import type { Functions } from './functions.ts';
import type { ServiceLog } from './log.ts';
import type { LocalMapping } from './model.ts';
import { REGION } from './resolver.ts';

/** Batches of one mapping that are handled at once. */
const CONCURRENCY = 5;
/** SQS's longest wait for a message; one that arrives ends it at once. */
const WAIT_SECONDS = 20;
const AFTER_FAULT_MS = 500;

const PartialFailures = z.object({ batchItemFailures: z.array(z.object({ itemIdentifier: z.string() })) });

export interface Pollers {
  /** Takes no more messages, and waits for those that are being handled. */
  stop(): Promise<void>;
}

/** Event source mappings: hand the messages of a queue to a function, and delete what it has handled. */
export function startPollers(
  mappings: readonly LocalMapping[],
  functions: Functions,
  sqs: SQSClient,
  log: ServiceLog,
): Pollers {
  const stopping = new AbortController();

  async function poll(mapping: LocalMapping): Promise<void> {
    const inHand = new Set<Promise<void>>();
    while (!stopping.signal.aborted) await takeBatch(mapping, inHand);
    await Promise.all(inHand);
  }

  async function takeBatch(mapping: LocalMapping, inHand: Set<Promise<void>>): Promise<void> {
    try {
      const messages = await receive(mapping);
      if (messages.length === 0) return;
      const handled = handle(mapping, messages).catch((error: unknown) => complain(mapping, error));
      inHand.add(handled);
      void handled.then(() => inHand.delete(handled));
      if (inHand.size >= CONCURRENCY) await Promise.race(inHand);
    } catch (error) {
      if (stopping.signal.aborted) return;
      complain(mapping, error);
      await new Promise((resolve) => setTimeout(resolve, AFTER_FAULT_MS));
    }
  }

  async function receive({ queueUrl, batchSize }: LocalMapping): Promise<Message[]> {
    const { Messages } = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: Math.min(10, batchSize),
        WaitTimeSeconds: WAIT_SECONDS,
        MessageSystemAttributeNames: ['All'],
        MessageAttributeNames: ['All'],
      }),
      { abortSignal: stopping.signal },
    );
    return Messages ?? [];
  }

  /** What failed stays in the queue: it comes again when its visibility time-out is over. */
  async function handle(mapping: LocalMapping, messages: readonly Message[]): Promise<void> {
    const Records = messages.map((message) => recordOf(mapping, message));
    const answer = await functions.invoke(mapping.functionName, { Records });
    const failed = mapping.partialFailures ? failuresOf(answer) : new Set<string>();
    const done = messages.filter(({ MessageId }) => !failed.has(MessageId ?? ''));
    if (done.length === 0) return;
    await sqs.send(
      new DeleteMessageBatchCommand({
        QueueUrl: mapping.queueUrl,
        Entries: done.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle })),
      }),
    );
  }

  function complain({ functionName }: LocalMapping, error: unknown): void {
    log.write('ERROR', functionName, null, ['messages were not handled:', error]);
  }

  const polling = mappings.map(poll);
  return {
    async stop() {
      stopping.abort();
      await Promise.all(polling);
    },
  };
}

/** Nothing, null and an empty object mean that all went well; an answer of another shape, that nothing did. */
function failuresOf(answer: unknown): Set<string> {
  if (answer === undefined || answer === null) return new Set();
  if (typeof answer === 'object' && !('batchItemFailures' in answer)) return new Set();
  const { batchItemFailures } = PartialFailures.parse(answer);
  return new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
}

function recordOf({ queueArn }: LocalMapping, message: Message) {
  return {
    messageId: message.MessageId ?? '',
    receiptHandle: message.ReceiptHandle ?? '',
    body: message.Body ?? '',
    attributes: message.Attributes ?? {},
    messageAttributes: message.MessageAttributes ?? {},
    md5OfBody: message.MD5OfBody ?? '',
    eventSource: 'aws:sqs',
    eventSourceARN: queueArn,
    awsRegion: REGION,
  };
}
