import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { createGzip } from 'node:zlib';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { startEmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { ingestDependenciesOf } from '#shared/ingest/dependencies.ts';
import { ingestReport } from '#shared/ingest/ingest.ts';
import { linesOf } from '#shared/ingest/report-source.ts';
import { createReportBucket } from '#shared/report-bucket.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createImportStore } from '#store/imports.ts';
import type { RunRef } from '#store/runs.ts';
import { createTable } from '#store/table.ts';
import { sampleAsset, sampleFinding, testAttribution } from '#test/harness/samples.ts';

interface Job {
  readonly ref: RunRef;
  readonly dynamodb: string;
  readonly table: string;
  readonly bucketUrl: string;
}

const HEAP_MB = 96;

/** Peak memory of a process that does nothing but ingest one report, by the report's size. */
export async function ingestMemory(): Promise<void> {
  const cloud = await startEmbeddedCloud({ port: 0, inMemory: true });
  try {
    const table = createTable(process.env.TABLE_NAME ?? '', clientOf(cloud.endpoints.dynamodb));
    console.log('peak memory of a process that ingests one report (store in memory, another process):');
    for (const size of [1000, 10_000, 100_000]) {
      const ref = await prepare(table, size);
      const bucketUrl = process.env.REPORT_BUCKET_URL ?? '';
      const job = { ref, dynamodb: cloud.endpoints.dynamodb, table: table.name, bucketUrl };
      const { seconds, megabytes } = await inProcess(job);
      console.log(
        `  ${size.toLocaleString('en')} findings: ${megabytes.toFixed(0)} MB, ${seconds.toFixed(1)} s`,
      );
    }
  } finally {
    await cloud.stop();
  }
}

function clientOf(endpoint: string): DynamoDBClient {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  return new DynamoDBClient({ endpoint, region: 'eu-west-1', credentials });
}

/** An import whose report waits in the bucket. */
async function prepare(table: ReturnType<typeof createTable>, size: number): Promise<RunRef> {
  const orgId = randomUUID();
  const asset = sampleAsset();
  await createAssetStore(table, createCounterStore(table, 1)).create(orgId, asset, testAttribution());
  const ref = { orgId, scanId: randomUUID(), assetId: asset.id, runId: randomUUID() };
  const reports = [{ scanner: 'semgrep' as const, count: size }];
  await createImportStore(table).create(
    { ref, branch: null, isDefault: true, becomesDefault: false, reports, idempotency: null },
    testAttribution(),
  );
  const bucket = createReportBucket(process.env.REPORT_BUCKET_URL ?? '');
  await bucket.write({ ...ref, scanner: 'semgrep', format: 'findings' }, await reportOf(size));
  return ref;
}

async function reportOf(size: number): Promise<Uint8Array<ArrayBuffer>> {
  const zip = createGzip({ level: 1 });
  const parts: Buffer[] = [];
  zip.on('data', (part: Buffer) => parts.push(part));
  const ended = new Promise((resolve) => zip.once('end', resolve));
  const { org_id: _, asset_id: __, ...finding } = sampleFinding('', '');
  for (const line of linesOf({ findings: [], incomplete: null })) zip.write(line);
  for (let nth = 0; nth < size; nth += 1)
    zip.write(
      `${JSON.stringify({ ...finding, fingerprint: `f${nth}`, description: `Finding ${nth}. ${'It goes on for a while. '.repeat(12)}` })}\n`,
    );
  zip.end();
  await ended;
  return new Uint8Array(Buffer.concat(parts));
}

async function inProcess(job: Job): Promise<{ seconds: number; megabytes: number }> {
  // A heap this small makes V8 collect at once: what is left is what the work needs.
  const execArgv = [`--max-old-space-size=${HEAP_MB}`, '--max-semi-space-size=4'];
  const child = fork(fileURLToPath(import.meta.url), { serialization: 'advanced', execArgv });
  try {
    return await new Promise((resolve, reject) => {
      child.once('message', (result) => resolve(result as { seconds: number; megabytes: number }));
      child.once('exit', (code) => reject(new Error(`The ingest ended with ${code}`)));
      child.send(job);
    });
  } finally {
    child.kill();
  }
}

async function run({ ref, dynamodb, table: name, bucketUrl }: Job) {
  const table = createTable(name, clientOf(dynamodb));
  const counters = createCounterStore(table, 1);
  const began = performance.now();
  await ingestReport(
    {
      org_id: ref.orgId,
      scan_id: ref.scanId,
      asset_id: ref.assetId,
      run_id: ref.runId,
      scanner: 'semgrep',
      format: 'findings',
    },
    ingestDependenciesOf(table, counters, { REPORT_BUCKET_URL: bucketUrl, POLICY_ASSETS_DIR: '' }),
  );
  const counts = await counters.readOrganization(ref.orgId);
  if (counts.size === 0) throw new Error('Nothing was ingested');
  return {
    seconds: (performance.now() - began) / 1000,
    megabytes: process.resourceUsage().maxRSS / 1024,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.once('message', (job) => {
    run(job as Job).then((result) => process.send?.(result));
  });
