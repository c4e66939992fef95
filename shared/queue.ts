import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { currentRequestId } from './request-scope.ts';

/** Sends messages of one kind to one queue. */
export interface Queue<Message> {
  send(message: Message): Promise<void>;
}

/** A queue whose messages can be told to wait. */
export interface DelayedQueue<Message> extends Queue<Message> {
  send(message: Message, delaySeconds?: number): Promise<void>;
}

/** Messages carry the id of the request that they come from (`handleBatch` reads it). */
export function createQueue<Message>(
  url: string,
  client: SQSClient = new SQSClient({ maxAttempts: 4 }),
): DelayedQueue<Message> {
  return {
    async send(message, delaySeconds) {
      const id = currentRequestId();
      await client.send(
        new SendMessageCommand({
          QueueUrl: url,
          MessageBody: JSON.stringify({ ...(id !== null && { request_id: id }), ...message }),
          ...(delaySeconds !== undefined && { DelaySeconds: delaySeconds }),
        }),
      );
    },
  };
}
