import { execFile } from 'node:child_process';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Scanner } from '#domain/vocabulary.ts';
import type { LocatedScanner } from '#functions/scanner-runner/locate.ts';
import { locateScanner } from '#functions/scanner-runner/locate.ts';

const run = promisify(execFile);
const FIXTURES = fileURLToPath(new URL('../fixtures/databases', import.meta.url));

/**
 * Puts the two small vulnerability databases of the fixtures (two invented advisories each: lodash 4.17.15
 * and django 2.2.0) into a folder, and answers the settings that make Trivy and Grype use them, and nothing
 * of the network.
 */
export async function prepareScannerDatabases(folder: string): Promise<Record<string, string>> {
  const trivy = join(folder, 'trivy');
  const grype = join(folder, 'grype');
  const env = {
    TRIVY_CACHE_DIR: trivy,
    GRYPE_DB_CACHE_DIR: grype,
    GRYPE_DB_AUTO_UPDATE: 'false',
    GRYPE_DB_VALIDATE_AGE: 'false',
    GRYPE_CHECK_FOR_APP_UPDATE: 'false',
    ASPM_SCANNERS_OFFLINE: '1',
  };
  await mkdir(grype, { recursive: true });
  await cp(join(FIXTURES, 'trivy-db'), join(trivy, 'db'), { recursive: true });
  const { path } = await requireScanner('grype');
  await run(path, ['db', 'import', join(FIXTURES, 'tinydb.tar.gz')], { env: { ...process.env, ...env } });
  return env;
}

/** A test that needs a scanner fails without it: a skipped one would look like a passed one. */
export async function requireScanner(scanner: Scanner): Promise<LocatedScanner> {
  const located = await locateScanner(scanner);
  if (located !== null) return located;
  throw new Error(`This test needs ${scanner}: run \`npm run scanners\` first.`);
}
