import { DynamoDBClient, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { inject } from 'vitest';
import { createTable, type Table } from '#store/table.ts';

/** What a request to the store is, as far as faults ask. */
export interface StoreRequest {
  readonly command: string;
  readonly input: Record<string, unknown>;
}

/**
 * The table of the service under test behind faults that real DynamoDB has and the embedded store never
 * shows. The requests are real; `fault` is asked before each, and answers what happens in its place.
 */
export function faultyTable(fault: (request: StoreRequest) => unknown): Table {
  const { dynamodb, table } = inject('service');
  const client = new DynamoDBClient({
    endpoint: dynamodb,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 1,
  });
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const instead = fault({
          command: String(commandName),
          input: args.input as unknown as Record<string, unknown>,
        });
        if (instead instanceof Error) throw instead;
        if (instead !== undefined) return { output: instead as object, response: {} } as never;
        return next(args);
      },
    { step: 'initialize', name: 'fault', priority: 'low' },
  );
  return createTable(table, client);
}

/** A transaction that others were in the way of: every reason is one that passes. */
export function transactionConflict(items: number): Error {
  return new TransactionCanceledException({
    message: 'Transaction cancelled',
    $metadata: {},
    CancellationReasons: Array.from({ length: items }, (_, index) =>
      index === 0 ? { Code: 'TransactionConflict' } : { Code: 'None' },
    ),
  });
}
