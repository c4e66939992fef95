import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { SCANNERS } from '#domain/vocabulary.ts';
import { COUNTS_FILE } from '#infra/cost/files.ts';
import { Counts } from '#infra/cost/usage.ts';
import { startDynamoDb } from '#infra/local/dynamodb.ts';
import { prepareScannerDatabases } from '#test/harness/scanner-databases.ts';
import { createVulnerableRepository } from '#test/harness/vulnerable-repository.ts';
import { measureScan, measureWithoutScanners, startMetered } from './scenarios.ts';

/** `npm run measure`: counts anew what `npm run cost` computes from. */
const folder = await mkdtemp(join(tmpdir(), 'aspm-measure-'));
const store = await startDynamoDb(null);
try {
  const service = await startMetered(
    store.endpoint,
    await prepareScannerDatabases(join(folder, 'databases')),
  );
  try {
    const counted = await measureWithoutScanners(service);
    const findingBytes = await bytesOfFindings();
    const repository = await createVulnerableRepository({ path: await mkdtemp(join(folder, 'repository-')) });
    const scan = await measureScan(service, pathToFileURL(repository.path).href, SCANNERS);
    const counts = Counts.parse({
      measuredOn: `${cpus().length} cores of ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`,
      ...counted,
      scan,
      findingBytes,
    });
    await writeFile(COUNTS_FILE, `${JSON.stringify(counts, null, 2)}\n`);
    console.log(`Measured into ${COUNTS_FILE}`);
  } finally {
    await service.stop();
  }
} finally {
  await store.stop();
  await rm(folder, { recursive: true, force: true });
}

/** By the names and values of their items and of their two or three places in indexes, and 100 bytes that each costs. */
async function bytesOfFindings(): Promise<number> {
  const table = DynamoDBDocumentClient.from(new DynamoDBClient({}));
  const { Items: items = [] } = await table.send(new ScanCommand({ TableName: process.env.TABLE_NAME }));
  const found = items.filter(({ sk }) => sk === 'F');
  const sizes = found.map((item) => {
    const keys = ['pk', 'sk', 'gsi1pk', 'gsi1sk', 'gsi2pk', 'gsi2sk'].map((name) => String(item[name] ?? ''));
    return JSON.stringify(item).length + 100 + 2 * (keys.join('').length / 2 + 100);
  });
  return Math.round(sizes.reduce((total, size) => total + size, 0) / sizes.length);
}
