import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';

/** Sends messages of one kind to one queue. */
export interface Queue<Message> {
  send(message: Message): Promise<void>;
}

export function createQueue<Message>(
  url: string,
  client: SQSClient = new SQSClient({ maxAttempts: 4 }),
): Queue<Message> {
  return {
    async send(message) {
      await client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: JSON.stringify(message) }));
    },
  };
}
