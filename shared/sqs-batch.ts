import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type * as z from 'zod';
import { Travelling } from '#events/travelling.ts';
import { logError } from './log.ts';
import { measure } from './metrics.ts';
import { withRequestId } from './request-scope.ts';

/**
 * Handles the messages of a batch one after the other, and reports those that failed, so that they
 * alone come again (and end in the dead-letter queue). A message of another shape fails as well: it
 * is evidence, not something to drop. Each is handled for the request that it comes from.
 */
export async function handleBatch<Schema extends z.ZodType>(
  event: SQSEvent,
  schema: Schema,
  handle: (message: z.output<Schema>) => Promise<void>,
): Promise<SQSBatchResponse> {
  const batchItemFailures: { itemIdentifier: string }[] = [];
  for (const record of event.Records) {
    let id: string | undefined;
    try {
      const body: unknown = JSON.parse(record.body);
      id = Travelling.safeParse(body).data?.request_id;
      await withRequestId(id, async () => handle(schema.parse(body)));
    } catch (error) {
      withRequestId(id, () => logError('message failed', error, { message_id: record.messageId }));
      // For Lambda the call went well: its own metric of errors never sees this one.
      measure({ WorkFailed: 1 });
      batchItemFailures.push({ itemIdentifier: record.messageId });
    }
  }
  return { batchItemFailures };
}
