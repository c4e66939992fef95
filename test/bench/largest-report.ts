import { fork } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { imports } from '#contract/operations/imports.ts';
import { scans } from '#contract/operations/scans.ts';
import { startEmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { gzipOf } from '#test/harness/bombs.ts';
import { sarifLog } from '#test/harness/sarif.ts';
import { addAsset, type Bench, connectBench, PASSWORD } from './imports.ts';

/** Of the process of the service, since it was asked the last time. */
interface Cost {
  readonly idleMb: number;
  readonly peakMb: number;
  readonly pauseMs: number;
}

const MB = 1024 * 1024;

/** What reports cost the process of the service: its memory above idle, and the longest pause of its event loop. */
export async function largestReport(): Promise<void> {
  console.log('a new process with all functions, its store in another one (goal: 300 MB and 100 ms):');
  for (const [name, make] of Object.entries(REPORTS)) {
    const report = make();
    const began = performance.now();
    const { outcome, read, whole } = await inService(name, report);
    console.log(
      `  ${name} (${(report.length / MB).toFixed(1)} MB sent): ${outcome} after ${((performance.now() - began) / 1000).toFixed(1)} s\n` +
        `    read: ${shown(read)}; taken in: ${shown(whole)}`,
    );
  }
}

const shown = ({ idleMb, peakMb, pauseMs }: Cost) =>
  `${(peakMb - idleMb).toFixed(0)} MB above ${idleMb.toFixed(0)} MB, longest pause ${pauseMs.toFixed(0)} ms`;

async function inService(name: string, report: Uint8Array<ArrayBuffer>) {
  const service = fork(fileURLToPath(import.meta.url), { serialization: 'advanced' });
  try {
    const [url] = (await once(service, 'message')) as [string];
    const bench = await connectBench(url);
    const asset = await addAsset(bench, name);
    const cost = async (): Promise<Cost> => {
      service.send('cost');
      const [answer] = (await once(service, 'message')) as [Cost];
      return answer;
    };
    await cost();
    const scan = await upload(bench, asset, report);
    await statusBeyond(bench, scan, ['queued']);
    const read = await cost();
    const outcome = await statusBeyond(bench, scan, ['queued', 'running']);
    return { outcome, read, whole: await cost() };
  } finally {
    service.kill();
  }
}

const REPORTS: Readonly<Record<string, () => Uint8Array<ArrayBuffer>>> = {
  '10,000 results of 600 bytes': () => sarif(10_000, 200),
  '25,000 results of 600 bytes': () => sarif(25_000, 200),
  '25,000 results of 2.6 KB, the most that is kept': () => sarif(25_000, 2200),
  '5,000 results of 7 KB': () => sarif(5000, 7000),
  '69 million empty objects': () => gzipOf('[', '{},', 69_000_000, '{}]'),
  '69 million empty objects where nobody looks': () =>
    gzipOf('{"version":"2.1.0","x":[', '{},', 69_000_000, '{}],"runs":[]}'),
  'a text of 190 MB': () => gzipOf('{"version":"', 'aaaaaaaaaa', 19_000_000, '","runs":[]}'),
};

/** Texts that gzip can't make small. */
function sarif(count: number, size: number): Uint8Array<ArrayBuffer> {
  const results = Array.from({ length: count }, (_, nth) => {
    let text = `Result ${nth}: `;
    while (text.length < size)
      text += `value ${(nth * 7919 + text.length * 104_729) % 999_983} reaches a call; `;
    return { path: `src/${nth % 400}/${nth}.ts`, line: 1 + (nth % 900), text: text.slice(0, size) };
  });
  return new Uint8Array(gzipSync(JSON.stringify(sarifLog(results))));
}

async function upload({ client }: Bench, asset: string, body: Uint8Array<ArrayBuffer>): Promise<string> {
  const { upload: to, scan } = await client.call(imports.operations.createImportUrl, {
    params: { asset_id: asset },
    body: { bytes: body.length },
  });
  const put = await fetch(to.url, { method: to.method, headers: to.headers, body });
  if (!put.ok) throw new Error(`The bucket answered ${put.status}`);
  return scan.id;
}

async function statusBeyond({ client }: Bench, scan: string, states: readonly string[]): Promise<string> {
  for (;;) {
    const { status } = await client.call(scans.operations.getScan, { params: { scan_id: scan } });
    if (!states.includes(status)) return status;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** The service's process: measures itself. */
async function serve(): Promise<void> {
  const cloud = await startEmbeddedCloud({
    port: 0,
    inMemory: true,
    adminPassword: PASSWORD,
    env: { ASPM_RATE_LIMIT_FACTOR: '1000000', ASPM_DEFAULT_TIER: 'enterprise' },
  });
  const pauses = monitorEventLoopDelay({ resolution: 5 });
  pauses.enable();
  const resident = () => process.memoryUsage.rss() / MB;
  let [idleMb, peakMb] = [0, 0];
  setInterval(() => {
    peakMb = Math.max(peakMb, resident());
  }, 20);
  process.on('message', () => {
    process.send?.({ idleMb, peakMb, pauseMs: pauses.max / 1e6 } satisfies Cost);
    pauses.reset();
    // Of the first time, before there was any report.
    idleMb ||= resident();
    peakMb = 0;
  });
  process.once('disconnect', () => void cloud.stop().finally(() => process.exit(0)));
  process.send?.(cloud.url);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve();
