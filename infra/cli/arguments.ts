import { parseArgs } from 'node:util';
import { SCANNERS, type Scanner, SEVERITIES, type Severity } from '#domain/vocabulary.ts';

export interface ScanArguments {
  /** A path or a URL, as typed. */
  readonly target: string;
  readonly scanners: readonly Scanner[] | null;
  readonly branch: string | null;
  readonly json: boolean;
  readonly sarif: string | null;
  readonly failOn: Severity | null;
}

export const SCAN_USAGE = `Usage: npm run scan -- PATH-or-URL [options]

Scans a git repository: its committed state, at a path of this machine or an http(s) URL.

Options:
  --scanners LIST     comma-separated: ${SCANNERS.join(', ')} (default: those that are installed)
  --branch NAME       another branch than the default one
  --json              prints the scan and its findings as JSON (npm run -s scan -- … for JSON alone)
  --sarif FILE        writes the findings as SARIF 2.1.0
  --fail-on SEVERITY  exit code 1 from this severity on: ${SEVERITIES.join(', ')}
  --help              this text

Exit codes: 0 done; 1 findings at or over --fail-on; 2 the scan, or one of its scanners, failed.`;

/** What the words of the command line ask for, or what is wrong with them. */
export function readScanArguments(
  words: readonly string[],
): ScanArguments | { readonly problem: string } | 'help' {
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        scanners: { type: 'string' },
        branch: { type: 'string' },
        json: { type: 'boolean', default: false },
        sarif: { type: 'string' },
        'fail-on': { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return 'help';
    const [target, ...rest] = positionals;
    if (target === undefined || rest.length > 0) return { problem: 'Name one path or URL to scan' };
    return {
      target,
      scanners: values.scanners === undefined ? null : readScanners(values.scanners),
      branch: values.branch ?? null,
      json: values.json,
      sarif: values.sarif ?? null,
      failOn: values['fail-on'] === undefined ? null : readSeverity(values['fail-on']),
    };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

function readScanners(list: string): Scanner[] {
  const names = list.split(',').map((name) => name.trim());
  const known = names.filter((name): name is Scanner => SCANNERS.some((scanner) => scanner === name));
  if (known.length === 0 || known.length < names.length)
    throw new Error(`--scanners must be of ${SCANNERS.join(', ')}`);
  return [...new Set(known)];
}

function readSeverity(text: string): Severity {
  const severity = SEVERITIES.find((candidate) => candidate === text);
  if (!severity) throw new Error(`--fail-on must be one of ${SEVERITIES.join(', ')}`);
  return severity;
}
