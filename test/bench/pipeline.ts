import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { assets } from '#contract/operations/assets.ts';
import { auth } from '#contract/operations/auth.ts';
import { scans } from '#contract/operations/scans.ts';
import { toOpaque } from '#domain/ids.ts';
import { SCANNERS } from '#domain/vocabulary.ts';
import { locateScanner } from '#functions/scanner-runner/locate.ts';
import { startEmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { createClient } from '#shared/client/client.ts';
import { prepareScannerDatabases } from '#test/harness/scanner-databases.ts';
import { createVulnerableRepository } from '#test/harness/vulnerable-repository.ts';
import { spread } from './figures.ts';

const RUNS = 5;

/** What a scan costs beyond its slowest scanner, and that scanners run side by side. */
export async function pipeline(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'aspm-bench-'));
  const cloud = await startEmbeddedCloud({
    port: 0,
    inMemory: true,
    adminPassword: 'a password for the bench',
    env: { ...(await prepareScannerDatabases(join(folder, 'databases'))), ASPM_RATE_LIMIT_FACTOR: '1000' },
  });
  try {
    const repository = await createVulnerableRepository({ path: await mkdtemp(join(folder, 'repository-')) });
    const session = await createClient({ url: cloud.url }).call(auth.operations.login, {
      body: { email: cloud.admin.email, password: 'a password for the bench' },
    });
    const client = createClient({ url: cloud.url, credential: session.access_token });
    const me = await client.call(auth.operations.getCurrentUser);
    const added = await client.call(assets.operations.addRepository, {
      params: { org_id: me.org_id ?? '' },
      body: { name: 'bench', url: pathToFileURL(repository.path).href },
    });
    const located = await Promise.all(
      SCANNERS.map(async (scanner) => ((await locateScanner(scanner)) ? [scanner] : [])),
    );
    const scanners = located.flat();
    const measured: Measured[] = [];
    for (let run = 0; run <= RUNS; run += 1)
      measured.push(await scanOnce(client, toOpaque('asset', added.id), scanners));
    report(scanners, measured.slice(1));
  } finally {
    await cloud.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Measured {
  /** Milliseconds from the record's creation to its end. */
  readonly whole: number;
  readonly own: Readonly<Record<string, number>>;
}

async function scanOnce(
  client: ReturnType<typeof createClient>,
  assetId: string,
  scanners: readonly (typeof SCANNERS)[number][],
): Promise<Measured> {
  const queued = await client.call(scans.operations.createScan, {
    body: { scope: 'asset', target_id: assetId, scanners: [...scanners] },
  });
  const params = { scan_id: queued.id };
  for (;;) {
    const scan = await client.call(scans.operations.getScan, { params });
    if (scan.finished_at === null) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      continue;
    }
    if (scan.status !== 'completed')
      throw new Error(`The scan ended as ${scan.status}: ${JSON.stringify(scan.error)}`);
    const runs = await client.call(scans.operations.listScanRuns, { params });
    const own = Object.fromEntries(
      (runs.data[0]?.scanners ?? []).map((state) => [
        state.scanner,
        between(state.started_at, state.finished_at),
      ]),
    );
    return { whole: between(scan.created_at, scan.finished_at), own };
  }
}

function between(from: string | null, to: string | null): number {
  return Date.parse(to ?? '') - Date.parse(from ?? '');
}

function report(scanners: readonly string[], measured: readonly Measured[]): void {
  const slowest = measured.map(({ own }) => Math.max(...Object.values(own)));
  const together = measured.map(({ own }) => Object.values(own).reduce((sum, time) => sum + time, 0));
  console.log(
    'A scan of the vulnerable example repository by times of the API: POST to the end of the scan, and',
  );
  console.log(
    'each scanner from its start to its cleaned report being in the bucket. The first scan is not counted.',
  );
  for (const scanner of scanners)
    console.log(
      `  ${scanner.padEnd(22)} ${spread(
        measured.map(({ own }) => own[scanner] ?? 0),
        'ms',
      )}`,
    );
  console.log(`  sum of the scanners    ${spread(together, 'ms')}`);
  console.log(
    `  whole scan             ${spread(
      measured.map(({ whole }) => whole),
      'ms',
    )}`,
  );
  console.log(
    `  beyond the slowest     ${spread(
      measured.map(({ whole }, index) => whole - (slowest[index] ?? 0)),
      'ms',
    )}`,
  );
}
