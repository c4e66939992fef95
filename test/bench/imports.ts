import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { assets } from '#contract/operations/assets.ts';
import { auth } from '#contract/operations/auth.ts';
import { imports } from '#contract/operations/imports.ts';
import { scans } from '#contract/operations/scans.ts';
import { toOpaque } from '#domain/ids.ts';
import { startEmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { type Client, createClient } from '#shared/client/client.ts';
import { largeSarif } from '#test/harness/sarif.ts';

export const PASSWORD = 'a password for the bench';

/** The admin of a service of the bench's own. */
export interface Bench {
  readonly client: Client;
  readonly headers: Record<string, string>;
  readonly orgId: string;
}

/** A service in this process. */
export interface LocalBench extends Bench {
  readonly cloud: Awaited<ReturnType<typeof startEmbeddedCloud>>;
}

/** A service in this process, its store in memory, and its admin. */
export async function startBench(): Promise<LocalBench> {
  const cloud = await startEmbeddedCloud({
    port: 0,
    inMemory: true,
    adminPassword: PASSWORD,
    env: { ASPM_RATE_LIMIT_FACTOR: '1000000', ASPM_DEFAULT_TIER: 'enterprise' },
  });
  return { cloud, ...(await connectBench(cloud.url, cloud.admin.email)) };
}

export async function connectBench(url: string, email = 'admin@example.com'): Promise<Bench> {
  const { access_token } = await createClient({ url }).call(auth.operations.login, {
    body: { email, password: PASSWORD },
  });
  const client = createClient({ url, credential: access_token });
  const me = await client.call(auth.operations.getCurrentUser);
  return { client, headers: { authorization: `Bearer ${access_token}` }, orgId: me.org_id ?? '' };
}

export async function addAsset({ client, orgId }: Bench, name: string): Promise<string> {
  const body = { name, type: 'other' as const };
  const made = await client.call(assets.operations.addRepository, { params: { org_id: orgId }, body });
  return toOpaque('asset', made.id);
}

/** @returns milliseconds until its findings are there */
export async function importReport(
  { client }: Bench,
  asset: string,
  report: Uint8Array<ArrayBuffer>,
): Promise<number> {
  const began = performance.now();
  let scan = await client.call(imports.operations.importFindings, {
    params: { asset_id: asset },
    upload: report,
    headers: { 'content-type': 'application/gzip' },
  });
  while (scan.status === 'running' || scan.status === 'queued') {
    // Seldom enough to leave the machine to the import.
    await sleep(100);
    scan = await client.call(scans.operations.getScan, { params: { scan_id: scan.id } });
  }
  if (scan.status !== 'completed') throw new Error(`The import ended ${scan.status}`);
  return performance.now() - began;
}

export function zippedReport(count: number, seed: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(gzipSync(JSON.stringify(largeSarif(count, seed))));
}
