import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiKeys } from '#contract/operations/api-keys.ts';
import { assets } from '#contract/operations/assets.ts';
import { auth } from '#contract/operations/auth.ts';
import { findings } from '#contract/operations/findings.ts';
import { imports } from '#contract/operations/imports.ts';
import { scans } from '#contract/operations/scans.ts';
import { toOpaque } from '#domain/ids.ts';
import type { Scanner } from '#domain/vocabulary.ts';
import { PERMISSIONS } from '#domain/vocabulary.ts';
import type { Counts } from '#infra/cost/usage.ts';
import { type EmbeddedCloud, startEmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { type Client, createClient } from '#shared/client/client.ts';
import { largeSarif } from '#test/harness/sarif.ts';
import { type Meter, startMeter } from './meter.ts';

/** Findings of a repository, for a million of them in a thousand. */
const FINDINGS = 1000;
const GONE = 10;
const EMAIL = 'operator@example.com';
const PASSWORD = 'ladder copper violin meadow';

/** What most calls ask for; each once. */
const READS = [
  '/api/findings?per_page=20',
  '/api/findings?severity=critical',
  '/api/findings/summary',
  '/api/findings/{finding}',
  '/api/assets',
  '/api/assets/{asset}',
  '/api/assets/{asset}/findings',
  '/api/scans',
  '/api/scans/{scan}',
  '/api/projects',
];

export interface Metered {
  readonly cloud: EmbeddedCloud;
  readonly meter: Meter;
  readonly client: Client;
  readonly key: string;
  readonly asset: string;
  stop(): Promise<void>;
}

/** A service of its own behind a meter, with the deployment's lanes of counters; `store` is where its store is. */
export async function startMetered(store: string, env: Record<string, string> = {}): Promise<Metered> {
  const folder = await mkdtemp(join(tmpdir(), 'aspm-cost-'));
  const meter = await startMeter(store);
  const before = process.env.DYNAMODB_ENDPOINT;
  process.env.DYNAMODB_ENDPOINT = meter.url;
  try {
    const cloud = await startEmbeddedCloud({
      port: 0,
      inMemory: true,
      dataDir: join(folder, 'data'),
      adminEmail: EMAIL,
      adminPassword: PASSWORD,
      env: {
        ...env,
        COUNTER_LANES: '8',
        ASPM_RATE_LIMIT_FACTOR: '1000',
        ASPM_DEFAULT_TIER: 'enterprise',
      },
    });
    const body = { email: EMAIL, password: PASSWORD };
    const session = await createClient({ url: cloud.url }).call(auth.operations.login, { body });
    const admin = createClient({ url: cloud.url, credential: session.access_token });
    const org_id = (await admin.call(auth.operations.getCurrentUser)).org_id ?? '';
    const { key } = await admin.call(apiKeys.operations.createApiKey, {
      params: { org_id },
      body: { name: 'cost', scopes: [...PERMISSIONS] },
    });
    const client = createClient({ url: cloud.url, credential: key });
    const made = await client.call(assets.operations.addRepository, {
      params: { org_id },
      body: { name: 'measured', url: 'https://git.example.com/team/measured.git' },
    });
    return {
      ...{ cloud, meter, client, key, asset: toOpaque('asset', made.id) },
      async stop() {
        await cloud.stop();
        meter.stop();
        await rm(folder, { recursive: true, force: true });
      },
    };
  } finally {
    if (before === undefined) delete process.env.DYNAMODB_ENDPOINT;
    else process.env.DYNAMODB_ENDPOINT = before;
  }
}

/** All that is measured without scanners, in the order in which each finds what the one before left. */
export async function measureWithoutScanners(service: Metered) {
  const { meter, cloud } = service;
  await settle(service);
  meter.take();
  await importReport(service, FINDINGS);
  const importNew = { findings: FINDINGS, usage: meter.take() };
  const scan = await importReport(service, FINDINGS);
  const importSame = { findings: FINDINGS, usage: meter.take() };
  await importReport(service, FINDINGS - GONE);
  const importFewer = { findings: FINDINGS, gone: GONE, usage: meter.take() };

  const [finding] = (await service.client.call(findings.operations.listFindings)).data;
  const ids = { finding: finding?.id ?? '', asset: service.asset, scan };
  // Once before, for what is read once in the life of a function.
  await readAll(service, ids);
  await settle(service);
  meter.take();
  const responseBytes = await readAll(service, ids);
  const reads = { operations: READS.length, responseBytes, usage: meter.take() };
  await service.client.call(findings.operations.updateFinding, {
    params: { finding_id: ids.finding },
    body: { status: 'confirmed' },
  });
  const triage = meter.take();
  await settle(service);
  meter.take();
  for (const name of ['sweep', 'suppression-clock']) await cloud.tick(name);
  return { importNew, importSame, importFewer, reads, triage, idleMinute: meter.take() };
}

/** A scan of a repository as it was scanned before. */
export async function measureScan(
  service: Metered,
  url: string,
  scanners: readonly Scanner[],
): Promise<Pick<Counts['scan'], 'scanners' | 'usage'>> {
  const { client, meter } = service;
  const org_id = (await client.call(auth.operations.getCurrentUser)).org_id ?? '';
  const made = await client.call(assets.operations.addRepository, {
    params: { org_id },
    body: { name: 'scanned', url },
  });
  const target_id = toOpaque('asset', made.id);
  const scanOnce = async () => {
    const body = { scope: 'asset' as const, target_id, scanners: [...scanners] };
    await ended(client, (await client.call(scans.operations.createScan, { body })).id);
  };
  await scanOnce();
  await settle(service);
  meter.take();
  await scanOnce();
  await settle(service);
  return { scanners: scanners.length, usage: meter.take() };
}

async function importReport({ client, asset }: Metered, count: number): Promise<string> {
  const { id } = await client.call(imports.operations.importFindings, {
    params: { asset_id: asset },
    upload: new TextEncoder().encode(JSON.stringify(largeSarif(count))),
    headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() },
  });
  await ended(client, id);
  return id;
}

async function readAll(
  { cloud, key }: Metered,
  ids: Readonly<Record<'finding' | 'asset' | 'scan', string>>,
): Promise<number> {
  let bytes = 0;
  for (const path of READS) {
    const place = path.replace(/\{(\w+)\}/, (_, name: keyof typeof ids) => ids[name]);
    const answer = await fetch(`${cloud.url}${place}`, { headers: { authorization: `Bearer ${key}` } });
    if (!answer.ok) throw new Error(`${place} answered ${answer.status}`);
    bytes += (await answer.arrayBuffer()).byteLength;
  }
  return bytes;
}

/** Looks by growing waits: each look is a call that is counted, too. */
async function ended(client: Client, scan_id: string): Promise<void> {
  for (let wait = 250; ; wait = Math.min(2 * wait, 4000)) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    const scan = await client.call(scans.operations.getScan, { params: { scan_id } });
    if (scan.finished_at !== null) return;
  }
}

/** What is done in the background after an answer belongs to what was asked. */
async function settle({ meter }: Metered): Promise<void> {
  for (let before = -1; meter.seen() !== before; ) {
    before = meter.seen();
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
