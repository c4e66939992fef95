import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  BatchWriteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  QueryCommand,
  type QueryCommandInput,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { ServiceError } from '#domain/errors.ts';

export interface Key {
  readonly pk: string;
  readonly sk: string;
}

export type Item = Record<string, unknown>;

type TransactItem = NonNullable<TransactWriteCommandInput['TransactItems']>[number];
type WithoutTable<T> = T extends object ? Omit<T, 'TableName'> : never;

/** One write of a transaction, and the error that its failed condition stands for. */
export type Write = {
  readonly [Kind in keyof TransactItem]?: WithoutTable<TransactItem[Kind]>;
} & { readonly otherwise?: () => Error };

const MAX_BATCH_GET = 100;
const MAX_BATCH_WRITE = 25;
const TRANSACTION_ATTEMPTS = 6;

/** The one table: reads and writes by key, without a Scan. Stores of single entities are built on it. */
export type Table = ReturnType<typeof createTable>;

export function createTable(name: string, client: DynamoDBClient = new DynamoDBClient({ maxAttempts: 4 })) {
  // Nobody reads what these two prepare, and they are a third of what a call costs besides the network.
  for (const step of ['loggerMiddleware', 'getUserAgentMiddleware']) client.middlewareStack.remove(step);
  // Throttled in spite of the client's own attempts: a 503 that says when to come back, not a 500.
  client.middlewareStack.add(
    (next) => (args) =>
      next(args).catch((error: unknown) => {
        throw isBusy(error) ? busy(error) : error;
      }),
    { step: 'initialize', name: 'tellBusy', priority: 'high', override: true },
  );
  const document = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });

  async function get(key: Key, options: { eventually?: boolean } = {}): Promise<Item | null> {
    const answer = await document.send(
      new GetCommand({ TableName: name, Key: key, ConsistentRead: !options.eventually }),
    );
    return answer.Item ?? null;
  }

  /** Items in the order of the keys, null where there is none; keys may repeat. 100 a request, side by side. */
  async function batchGet(keys: readonly Key[], projection?: readonly string[]): Promise<(Item | null)[]> {
    const distinct = new Map(keys.map((key) => [keyText(key), key]));
    const found = new Map<string, Item>();
    await Promise.all(
      chunksOf([...distinct.values()], MAX_BATCH_GET).map(async (chunk) => {
        let pending: Key[] = [...chunk];
        for (let attempt = 0; pending.length > 0; attempt += 1) {
          if (attempt > 0) await backOff(attempt, attempt >= TRANSACTION_ATTEMPTS);
          const answer = await document.send(
            new BatchGetCommand({
              RequestItems: { [name]: { Keys: pending, ConsistentRead: true, ...projected(projection) } },
            }),
          );
          for (const item of answer.Responses?.[name] ?? []) found.set(keyText(item as unknown as Key), item);
          pending = (answer.UnprocessedKeys?.[name]?.Keys ?? []) as unknown as Key[];
        }
      }),
    );
    return keys.map((key) => found.get(keyText(key)) ?? null);
  }

  /** One page of a query: at most `limit` items, and where to go on. */
  async function queryPage(
    input: Omit<QueryCommandInput, 'TableName'>,
  ): Promise<{ items: Item[]; next: Item | undefined; count: number }> {
    refuseEmptyKeys(input);
    const answer = await document.send(new QueryCommand({ ...input, TableName: name }));
    return { items: answer.Items ?? [], next: answer.LastEvaluatedKey, count: answer.Count ?? 0 };
  }

  /** Every item of a query, page after page (1 MB each). */
  async function queryAll(input: Omit<QueryCommandInput, 'TableName'>): Promise<Item[]> {
    const items: Item[] = [];
    let next: Item | undefined;
    do {
      const page = await queryPage({ ...input, ExclusiveStartKey: next });
      items.push(...page.items);
      next = page.next;
    } while (next);
    return items;
  }

  /** The first items of a query, over as many pages as they take. */
  async function queryFirst(input: Omit<QueryCommandInput, 'TableName'>, limit: number): Promise<Item[]> {
    const items: Item[] = [];
    let next: Item | undefined = input.ExclusiveStartKey;
    do {
      const page = await queryPage({ ...input, Limit: limit - items.length, ExclusiveStartKey: next });
      items.push(...page.items);
      next = page.next;
    } while (next && items.length < limit);
    return items;
  }

  /** Passes so many items of a query without reading them out: where to go on, or undefined at its end. */
  async function skip(input: Omit<QueryCommandInput, 'TableName'>, many: number): Promise<Item | undefined> {
    let passed = 0;
    let next: Item | undefined;
    do {
      const page = await queryPage({
        ...input,
        Select: 'COUNT',
        Limit: many - passed,
        ExclusiveStartKey: next,
      });
      passed += page.count;
      next = page.next;
    } while (next && passed < many);
    return next;
  }

  /** How many items a query matches, without reading them out. */
  async function count(input: Omit<QueryCommandInput, 'TableName'>): Promise<number> {
    // A count projects nothing, and DynamoDB refuses to be asked for both.
    const { ProjectionExpression: _, ...query } = input;
    let total = 0;
    let next: Item | undefined;
    do {
      const page = await queryPage({ ...query, Select: 'COUNT', ExclusiveStartKey: next });
      total += page.count;
      next = page.next;
    } while (next);
    return total;
  }

  /** One conditional write; answers the attributes asked for, or null where the condition failed. */
  async function update(input: Omit<UpdateCommandInput, 'TableName'>): Promise<Item | null> {
    try {
      const command = () => document.send(new UpdateCommand({ ...input, TableName: name }));
      const answer = await pastTransactions(command);
      return answer.Attributes ?? {};
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return null;
      throw error;
    }
  }

  /**
   * Writes all or nothing. A failed condition throws its write's own error; contention is retried
   * with growing, random waits.
   * @param given the writes, or what makes them: asked again for each attempt, so that counters can take another lane
   * @throws ServiceError service_unavailable where contention does not end
   */
  async function transact(given: readonly Write[] | (() => readonly Write[])): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const writes = typeof given === 'function' ? given() : given;
      const items = writes.map(({ otherwise: _, ...write }) => withTable(write, name));
      try {
        await document.send(new TransactWriteCommand({ TransactItems: items }));
        return;
      } catch (error) {
        if (!(error instanceof TransactionCanceledException)) throw error;
        const refused = refusalOf(error, writes);
        if (refused) throw refused;
        await backOff(attempt, attempt >= TRANSACTION_ATTEMPTS, error);
      }
    }
  }

  /** Deletes what is there of the keys; 25 a request. For what is deleted whole: no conditions, no counters. */
  async function deleteAll(keys: readonly Key[]): Promise<void> {
    await writeAll(keys.map(({ pk, sk }) => ({ DeleteRequest: { Key: { pk, sk } } })));
  }

  async function writeAll(
    requests: readonly ({ PutRequest: { Item: Item } } | { DeleteRequest: { Key: Key } })[],
  ): Promise<void> {
    for (const chunk of chunksOf(requests, MAX_BATCH_WRITE)) {
      let pending = [...chunk];
      for (let attempt = 0; pending.length > 0; attempt += 1) {
        if (attempt > 0) await backOff(attempt, attempt >= TRANSACTION_ATTEMPTS);
        const command = () => document.send(new BatchWriteCommand({ RequestItems: { [name]: pending } }));
        const answer = await pastTransactions(command);
        pending = (answer.UnprocessedItems?.[name] ?? []) as typeof pending;
      }
    }
  }

  /** Replaces items; 25 a request. For what nobody else writes: no conditions, no counters. */
  async function putAll(items: readonly Item[]): Promise<void> {
    await writeAll(items.map((Item) => ({ PutRequest: { Item } })));
  }

  return {
    name,
    document,
    get,
    batchGet,
    queryPage,
    queryFirst,
    queryAll,
    count,
    skip,
    update,
    transact,
    deleteAll,
    putAll,
  };
}

/** For a write whose failed condition is an answer rather than an error: `applied` makes it false. */
export class NotApplied extends Error {
  override readonly name = 'NotApplied';
}

/** Whether a transaction was carried out; false where a condition said NotApplied. */
export async function applied(transaction: Promise<void>): Promise<boolean> {
  try {
    await transaction;
    return true;
  } catch (error) {
    if (error instanceof NotApplied) return false;
    throw error;
  }
}

function keyText(key: Key): string {
  return `${key.pk}\n${key.sk}`;
}

function projected(names: readonly string[] | undefined) {
  if (!names) return {};
  const all = [...new Set([...names, 'pk', 'sk'])];
  return {
    ProjectionExpression: all.map((_, index) => `#p${index}`).join(', '),
    ExpressionAttributeNames: Object.fromEntries(all.map((attribute, index) => [`#p${index}`, attribute])),
  };
}

function withTable(write: Omit<Write, 'otherwise'>, table: string): TransactItem {
  return Object.fromEntries(
    Object.entries(write).map(([kind, input]) => [kind, { ...input, TableName: table }]),
  );
}

/** The error of the first write whose condition failed; null where the cause was contention alone. */
function refusalOf(error: TransactionCanceledException, writes: readonly Write[]): Error | null {
  const index = (error.CancellationReasons ?? []).findIndex(
    (reason) => reason.Code === 'ConditionalCheckFailed',
  );
  if (index === -1) return transientOnly(error) ? null : error;
  return writes[index]?.otherwise?.() ?? error;
}

const TRANSIENT = new Set([
  'None',
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
]);

function transientOnly(error: TransactionCanceledException): boolean {
  return (error.CancellationReasons ?? []).every((reason) => TRANSIENT.has(reason.Code ?? 'None'));
}

/** A single write that meets a transaction on its item is refused, and the client does not try again by itself. */
async function pastTransactions<T>(send: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof TransactionConflictException)) throw error;
      await backOff(attempt, attempt >= TRANSACTION_ATTEMPTS, error);
    }
  }
}

/** DynamoDB refuses an empty text in a condition on a key. The embedded store takes it: so it is refused here. */
function refuseEmptyKeys(query: Omit<QueryCommandInput, 'TableName'>): void {
  const { KeyConditionExpression: condition = '', ExpressionAttributeValues: values = {} } = query;
  for (const [name] of condition.matchAll(/:\w+/g))
    if (values[name] === '')
      throw new TypeError(`The value ${name} is empty in the condition "${condition}"`);
}

const BUSY = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  // The client's own attempts found the first of them still at work.
  'TransactionInProgressException',
  'RequestLimitExceeded',
  'InternalServerError',
  'ServiceUnavailable',
]);

function isBusy(error: unknown): boolean {
  return error instanceof Error && BUSY.has(error.name);
}

function busy(cause: unknown): ServiceError {
  return new ServiceError('service_unavailable', 'The store is busy; retry after 30 seconds', {
    retryAfter: 30,
    cause,
  });
}

/** Full jitter: up to 20 ms, doubling to 640 ms; six attempts take at most about 1.3 s. */
async function backOff(attempt: number, exhausted: boolean, cause?: unknown): Promise<void> {
  if (exhausted) throw busy(cause);
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * 2 ** attempt));
}

export function chunksOf<T>(values: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size),
  );
}
