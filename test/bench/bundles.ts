import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { bundleFunctions } from '#infra/functions/bundle.ts';
import { FUNCTION_NAMES, FUNCTIONS } from '#infra/functions/catalogue.ts';
import { BUNDLES } from '#infra/project.ts';
import { median } from './figures.ts';

const RUNS = 7;

/** Each function's bundle: its minified size, and the time of its import in a fresh process. */
export async function bundles(): Promise<void> {
  await bundleFunctions();
  console.log(`Minified size, and import() in a fresh process with its settings (median of ${RUNS}):`);
  for (const name of FUNCTION_NAMES) {
    const path = `${BUNDLES}/${name}/index.mjs`;
    const times: number[] = [];
    for (let run = 0; run < RUNS; run += 1) times.push(await importTime(path, FUNCTIONS[name].settings));
    const size = (await stat(path)).size / 1000;
    console.log(
      `  ${name.padEnd(16)} ${size.toFixed(0).padStart(4)} KB  ${median(times).toFixed(0).padStart(4)} ms`,
    );
  }
}

async function importTime(path: string, settings: readonly string[]): Promise<number> {
  const script = `const t = performance.now(); await import(${JSON.stringify(path)}); console.log(performance.now() - t)`;
  const env = {
    PATH: process.env.PATH,
    AWS_REGION: 'eu-west-1',
    ...Object.fromEntries(settings.map((name) => [name, EXAMPLES[name] ?? 'x'])),
  };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env,
  });
  return Number(stdout);
}

/** Values of the settings whose form is checked; any text does for the others. */
const EXAMPLES: Record<string, string> = {
  COUNTER_LANES: '8',
  POLICY_ASSETS_DIR: 'policy',
  REEVALUATION_QUEUE_URL: 'https://queues.example.com/reevaluations',
  PUBLIC_URL: 'https://api.example.com',
  SCAN_QUEUE_URL: 'https://queue.example.com/scans',
  DELETION_QUEUE_URL: 'https://queue.example.com/deletions',
  IMPORT_QUEUE_URL: 'https://queue.example.com/imports',
  EXPORT_QUEUE_URL: 'https://queue.example.com/exports',
  ASPM_GRYPE_DATABASE_URL: '',
  ASPM_TRIVY_DATABASE_URL: '',
  ASPM_EPSS_URL: 'https://feeds.example.com/epss.csv.gz',
  ASPM_KEV_URL: 'https://feeds.example.com/kev.json',
  DISPATCH_QUEUE_URL: 'https://queue.example.com/dispatch',
  REPORT_BUCKET_URL: 'https://reports.s3.eu-west-1.amazonaws.com',
  ASPM_DEFAULT_TIER: 'free',
  ASPM_OIDC_ISSUERS: '[]',
  ASPM_RATE_LIMIT_FACTOR: '1',
  ASPM_ALLOW_LOCAL_REPOSITORIES: '0',
  ASPM_ALLOW_PRIVATE_ADDRESSES: '0',
  SCANNERS: 'semgrep,grype,trivy,gitleaks',
};
