import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scanner } from '#domain/vocabulary.ts';
import { SCANNER_RELEASES } from '#functions/scanner-runner/versions.ts';

/**
 * A program of that name in the folder `bin`: a shell script that tells a fitting version, and otherwise runs `body`
 * with the report's path in `$report`.
 */
export async function fake(
  bin: string,
  scanner: Scanner,
  body: string,
  version = SCANNER_RELEASES[scanner].version,
): Promise<void> {
  const script = `#!/bin/sh
case "$1" in version|--version) echo "${version}"; exit 0;; esac
for argument; do
  case "$previous" in --output|--report-path) report="$argument";; -o) report="\${argument#json=}";; esac
  previous="$argument"
done
${body}
`;
  await writeFile(join(bin, scanner), script);
  await chmod(join(bin, scanner), 0o755);
}

/** Reports of scanners that found nothing. */
export const EMPTY: Readonly<Record<Scanner, string>> = {
  semgrep: '{"results":[],"errors":[]}',
  grype: '{"matches":[]}',
  trivy: '{"SchemaVersion":2}',
  gitleaks: '[]',
};
