import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { startEmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { PROJECT_ROOT } from '#infra/project.ts';
import type { Item } from '#store/table.ts';
import { startIdentityProvider } from '#test/harness/identity-provider.ts';
import { fill, PROVIDED } from './fill.ts';
import { keep, SNAPSHOTS, type Snapshot, withTextualBytes } from './snapshot.ts';
import { walkReads } from './walk.ts';

/**
 * `npm run snapshot`: keeps what this version writes, for later ones to read: every kind of record, filled by
 * the API of a service of its own, and what it answered of them.
 */
const admin = { email: 'admin@snapshot.example', password: 'ladder copper violin meadow' };

const folder = await mkdtemp(join(tmpdir(), 'aspm-snapshot-'));
const provider = await startIdentityProvider('aspm');
const cloud = await startEmbeddedCloud({
  port: 0,
  inMemory: false,
  dataDir: folder,
  env: {
    ASPM_ADMIN_EMAIL: admin.email,
    ASPM_ADMIN_PASSWORD: admin.password,
    ASPM_ALLOW_PRIVATE_ADDRESSES: '1',
    ASPM_DEFAULT_TIER: 'enterprise',
    ASPM_OIDC_ISSUERS: JSON.stringify([{ issuer: provider.issuer, audience: 'aspm' }]),
    ASPM_RATE_LIMIT_FACTOR: '1000',
  },
});
try {
  const token = await provider.token(PROVIDED, Date.now());
  const filled = await fill(cloud.url, admin, token);
  const reads = await walkReads(cloud.url, filled.key, filled.ids);
  const snapshot: Snapshot = {
    version: await version(),
    secrets: z
      .record(z.string(), z.string())
      .parse(JSON.parse(await readFile(join(folder, 'secrets.json'), 'utf8'))),
    admin,
    ...filled,
    items: await items(),
    reads,
  };
  await mkdir(SNAPSHOTS, { recursive: true });
  const path = `${SNAPSHOTS}${snapshot.version}.json.gz`;
  await writeFile(path, gzipSync(JSON.stringify(snapshot, keep), { level: 9 }));
  console.log(`${snapshot.items.length} items in ${path}`);
} finally {
  await cloud.stop();
  await provider.stop();
  await rm(folder, { recursive: true, force: true });
}

async function version(): Promise<string> {
  const text = await readFile(`${PROJECT_ROOT}/package.json`, 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}

/** Every item in the order of keys, but for counts of requests and sessions, which end by themselves. */
async function items(): Promise<Item[]> {
  const client = DynamoDBDocumentClient.from(new DynamoDBClient({}));
  const found: Item[] = [];
  let next: Item | undefined;
  do {
    const page = await client.send(
      new ScanCommand({ TableName: process.env.TABLE_NAME, ExclusiveStartKey: next }),
    );
    found.push(...(page.Items ?? []));
    next = page.LastEvaluatedKey;
  } while (next);
  const keyOf = ({ pk, sk }: Item) => `${pk}\n${sk}`;
  return found
    .filter(({ pk, sk }) => !String(pk).startsWith('RATE#') && !String(sk).startsWith('SESSION#'))
    .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    .map(withTextualBytes);
}
