import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import { performance } from 'node:perf_hooks';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, QueryCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import { findings as contract } from '#contract/operations/findings.ts';
import { createCounterStore } from '#store/counters.ts';
import { createFindingStore } from '#store/findings.ts';
import { findingsPartition } from '#store/keys.ts';
import { chunksOf, createTable } from '#store/table.ts';
import { median, spread } from './figures.ts';
import { addAsset, importReport, type LocalBench, startBench, zippedReport } from './imports.ts';
import { load } from './load.ts';

/** Findings of one import. */
const REPORT = 10_000;
const REIMPORTS = 7;
const FILTER = 'severity=critical,high&status=open&sort=-severity';

/** Imports, rescans, lists and triage at 10,000 and 100,000 findings in one organization. */
export async function findings(): Promise<void> {
  for (const size of [10_000, 100_000]) await measure(size);
}

/** The same at 1,000,000: minutes of imports, hence apart. */
export async function million(): Promise<void> {
  for (const size of [10_000, 1_000_000]) await measure(size);
}

async function measure(size: number): Promise<void> {
  const bench = await startBench();
  try {
    console.log(
      `### ${size.toLocaleString('en')} findings, imported ${REPORT.toLocaleString('en')} at a time (store in memory)`,
    );
    const asset = await measureImports(bench, size);
    await measureFloor(bench);
    await measureReimport(bench, asset);
    await measureReads(bench);
    await measureItemsRead(bench);
    await measureTriage(bench);
  } finally {
    await bench.cloud.stop();
  }
}

/** @returns the asset of the first import */
async function measureImports(bench: LocalBench, size: number): Promise<string> {
  const seconds: number[] = [];
  const requests: number[] = [];
  const ids: string[] = [];
  for (let part = 0; part < size / REPORT; part += 1) {
    const asset = await addAsset(bench, `asset ${part}`);
    const report = zippedReport(REPORT, String(part));
    requests.push(
      await storeRequests(bench, async () => seconds.push((await importReport(bench, asset, report)) / 1000)),
    );
    ids.push(asset);
  }
  console.log(
    `  first import of ${REPORT} until processed: ${spread(seconds, 's', 2)}; the first one ${seconds[0]?.toFixed(2)} s`,
  );
  console.log(
    `    store requests for 1,000 findings, polling included: ${(median(requests) / (REPORT / 1000)).toFixed(1)}`,
  );
  return ids[0] ?? '';
}

function clientOf(endpoint: string): DynamoDBClient {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  return new DynamoDBClient({ endpoint, region: 'eu-west-1', credentials });
}

/** The same items once more, by nothing but transactions: what the store itself takes. */
async function measureFloor({ cloud, orgId }: LocalBench): Promise<void> {
  const client = clientOf(cloud.endpoints.dynamodb);
  const document = DynamoDBDocumentClient.from(client);
  const items: Record<string, unknown>[] = [];
  const table = createTable(process.env.TABLE_NAME ?? '', client);
  let next: Record<string, unknown> | undefined;
  do {
    const page = await document.send(
      new QueryCommand({
        TableName: process.env.TABLE_NAME,
        IndexName: 'gsi1',
        KeyConditionExpression: 'gsi1pk = :pk',
        ExpressionAttributeValues: { ':pk': findingsPartition(orgId) },
        ExclusiveStartKey: next,
      }),
    );
    // The index holds keys alone.
    const keys = (page.Items ?? []).map(({ pk, sk }) => ({ pk: String(pk), sk: String(sk) }));
    items.push(...(await table.batchGet(keys)).filter((item) => item !== null));
    next = page.LastEvaluatedKey;
  } while (next && items.length < REPORT);
  const copies = items.slice(0, REPORT).map((item) => ({
    ...item,
    pk: `FLOOR#${item.pk}`,
    gsi1pk: 'FLOOR#1',
    gsi2pk: 'FLOOR#2',
  }));
  const began = performance.now();
  const waiting = chunksOf(copies, 97).values();
  await Promise.all(
    [1, 2].map(async () => {
      for (const chunk of waiting)
        await document.send(
          new TransactWriteCommand({
            TransactItems: chunk.map((Item) => ({ Put: { TableName: process.env.TABLE_NAME, Item } })),
          }),
        );
    }),
  );
  console.log(
    `    floor: the same ${copies.length} items by bare transactions: ${((performance.now() - began) / 1000).toFixed(2)} s`,
  );
  client.destroy();
}

async function measureReimport(bench: LocalBench, asset: string): Promise<void> {
  const report = zippedReport(REPORT, '0');
  const times: number[] = [];
  const requests: number[] = [];
  for (let run = 0; run < REIMPORTS; run += 1)
    requests.push(
      await storeRequests(bench, async () => times.push(await importReport(bench, asset, report))),
    );
  console.log(`  the same report again: ${spread(times, 'ms')}; store requests: median ${median(requests)}`);
}

async function measureReads({ cloud, client, headers }: LocalBench): Promise<void> {
  const [finding] = (await client.call(contract.operations.listFindings, { query: { per_page: 1 } })).data;
  const targets: [string, string][] = [
    ['list, first page of 20', `/api/findings?${FILTER}`],
    ['list, page 50', `/api/findings?${FILTER}&page=50`],
    ['one finding', `/api/findings/${finding?.id}`],
    ['summary', '/api/findings/summary'],
  ];
  for (const [name, path] of targets) {
    const url = `${cloud.url}${path}`;
    await load({ url, headers, connections: 1, requests: 100 });
    const alone = await load({ url, headers, connections: 1, requests: 300 });
    const many = await load({ url, headers, connections: 8, requests: 800 });
    console.log(
      `  ${name}: p50 alone ${median(alone.latencies).toFixed(1)} ms; 8 connections ${(800 / many.seconds).toFixed(0)} requests/s`,
    );
  }
}

/** What the store reads out for a page: items answered, and keys that are only counted. */
async function measureItemsRead({ cloud, orgId }: LocalBench): Promise<void> {
  const client = clientOf(cloud.endpoints.dynamodb);
  const read = { items: 0, counted: 0 };
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const output = result.output as {
        Items?: unknown[];
        Count?: number;
        Responses?: Record<string, unknown[]>;
      };
      read.items += output.Items?.length ?? 0;
      read.items += Object.values(output.Responses ?? {}).reduce((sum, items) => sum + items.length, 0);
      if (!output.Items) read.counted += output.Count ?? 0;
      return result;
    },
    { step: 'initialize', name: 'countItems' },
  );
  const table = createTable(process.env.TABLE_NAME ?? '', client);
  const store = createFindingStore(table, createCounterStore(table, 1));
  for (const page of [1, 50]) {
    Object.assign(read, { items: 0, counted: 0 });
    await store.listPage(orgId, { severity: ['critical', 'high'], status: ['open'] }, '-severity', {
      skip: (page - 1) * 20,
      take: 20,
      after: null,
    });
    console.log(`  items read for page ${page} of 20: ${read.items}, keys counted ${read.counted}`);
  }
  client.destroy();
}

async function measureTriage({ client }: LocalBench): Promise<void> {
  const { data } = await client.call(contract.operations.listFindings, { query: { per_page: 100 } });
  const times: number[] = [];
  for (const status of ['confirmed', 'triaged'] as const) {
    for (const { id } of data) {
      const began = performance.now();
      await client.call(contract.operations.updateFinding, { params: { finding_id: id }, body: { status } });
      times.push(performance.now() - began);
    }
  }
  console.log(`  patch of one finding: ${spread(times, 'ms', 1)}`);
}

/** Requests that the service makes to the store meanwhile. */
async function storeRequests({ cloud }: LocalBench, work: () => Promise<unknown>): Promise<number> {
  const { port } = new URL(cloud.endpoints.dynamodb);
  let count = 0;
  const onRequest = (message: unknown) => {
    const { request } = message as { request: ClientRequest };
    if (String(request.getHeader('host')).endsWith(`:${port}`)) count += 1;
  };
  subscribe('http.client.request.start', onRequest);
  try {
    await work();
    return count;
  } finally {
    unsubscribe('http.client.request.start', onRequest);
  }
}
