import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { inject } from 'vitest';
import { createTable, type Table } from '#store/table.ts';

/** A table of the service under test that counts the requests made through it, attempts included. */
export function countedTable(): { table: Table; requestsOf(work: () => Promise<unknown>): Promise<number> } {
  const { dynamodb, region, table: name, credentials } = inject('service');
  const client = new DynamoDBClient({ endpoint: dynamodb, region, credentials });
  let requests = 0;
  client.middlewareStack.add(
    (next) => async (input) => {
      requests += 1;
      return next(input);
    },
    { step: 'finalizeRequest', name: 'countRequests' },
  );
  return {
    table: createTable(name, client),
    async requestsOf(work) {
      const before = requests;
      await work();
      return requests - before;
    },
  };
}
