import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scanner } from '#domain/vocabulary.ts';
import { InvalidReportError, parseReport } from '#shared/reports/parse.ts';
import type { SanitiseContext } from '#shared/reports/sanitise.ts';
import { Redactor, sanitiseReport, secretsIn } from '#shared/reports/sanitise.ts';
import type { ScannerSettings } from './commands.ts';
import { readScannerSettings, semgrepRulePrefixes } from './commands.ts';
import type { ScannerFailure, ScannerFailureCode, ScannerSuccess } from './run-scanner.ts';
import { runScanner } from './run-scanner.ts';
import { sourceLines } from './source-lines.ts';

export interface ScanRequest {
  readonly checkout: string;
  readonly scanners: readonly Scanner[];
  /** The organization's fingerprint key. */
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
  readonly settings?: ScannerSettings;
  readonly env?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (scanner: Scanner, event: ScanProgress) => void;
  /** Takes each report as soon as it is clean and checked; a rejection rejects the scan once all are through. */
  readonly onReport?: (scanner: Scanner, scanned: ScannedReport) => Promise<void>;
}

export type ScanProgress =
  | { readonly type: 'started'; readonly version: string }
  | { readonly type: 'finished'; readonly findings: number; readonly durationMs: number }
  | {
      readonly type: 'failed';
      readonly code: ScannerFailureCode;
      readonly message: string;
      readonly durationMs: number;
    };

interface ScannedReport {
  /** The scanner's own JSON, sanitised. */
  readonly report: unknown;
  readonly version: string;
  readonly findings: number;
  readonly warnings: readonly string[];
  /** The scanner's own time. */
  readonly durationMs: number;
}

export type ScannerOutcome =
  | ({ readonly scanner: Scanner; readonly status: 'completed' } & Omit<ScannedReport, 'report'>)
  | ({ readonly scanner: Scanner } & ScannerFailure);

/**
 * Runs the scanners over a checkout side by side. Each report is sanitised and checked here, and handed
 * over at once; the others wait for Gitleaks' where it takes part, because they may quote the secrets that
 * only it knows. One that fails holds up none, and is told by its code.
 */
export async function scanCheckout(request: ScanRequest): Promise<ScannerOutcome[]> {
  const { env = process.env } = request;
  const folder = await mkdtemp(join(env.TMPDIR || tmpdir(), 'aspm-scan-'));
  try {
    const scanners = [...new Set(request.scanners)];
    const scan = new Scan(request, folder);
    const results = await Promise.allSettled(scanners.map((scanner) => scan.run(scanner)));
    return results.map((result) => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

class Scan {
  readonly #request: ScanRequest;
  readonly #folder: string;
  readonly #settings: ScannerSettings;
  readonly #rulePrefixes: Promise<string[]>;
  readonly #secrets = Promise.withResolvers<ReadonlySet<string>>();

  constructor(request: ScanRequest, folder: string) {
    this.#request = request;
    this.#folder = folder;
    this.#settings = request.settings ?? readScannerSettings(request.env ?? process.env);
    this.#rulePrefixes = request.scanners.includes('semgrep')
      ? semgrepRulePrefixes(this.#settings)
      : Promise.resolve([]);
    this.#rulePrefixes.catch(() => undefined);
    if (!request.scanners.includes('gitleaks')) this.#secrets.resolve(new Set());
  }

  async run(scanner: Scanner): Promise<ScannerOutcome> {
    let result: ScannerSuccess | ScannerFailure | undefined;
    try {
      result = await this.#start(scanner);
    } finally {
      // Whatever became of it, the others must not wait for it for ever.
      if (scanner === 'gitleaks') {
        this.#secrets.resolve(result?.status === 'completed' ? secretsIn(result.report) : new Set());
      }
    }
    const secrets = await this.#secrets.promise;
    return result.status === 'failed'
      ? this.#fail(scanner, { ...result, message: new Redactor(secrets).text(result.message) })
      : this.#handOver(scanner, result, secrets);
  }

  #start(scanner: Scanner) {
    const { checkout, deadline, signal, env, onProgress } = this.#request;
    return runScanner({
      scanner,
      cwd: checkout,
      outDir: this.#folder,
      deadline,
      settings: this.#settings,
      signal,
      ...(env !== undefined && { env }),
      onStart: (version) => onProgress?.(scanner, { type: 'started', version }),
    });
  }

  async #handOver(
    scanner: Scanner,
    result: ScannerSuccess,
    secrets: ReadonlySet<string>,
  ): Promise<ScannerOutcome> {
    const { version, durationMs } = result;
    const context: SanitiseContext = {
      key: this.#request.key,
      readLines: sourceLines(this.#request.checkout),
      secrets,
      rulePrefixes: await this.#rulePrefixes,
    };
    const report = await sanitiseReport(scanner, result.report, context);
    let checked: { readonly findings: number; readonly warnings: readonly string[] };
    try {
      const parsed = parseReport(scanner, report);
      checked = { findings: parsed.findings.length, warnings: parsed.warnings };
    } catch (error) {
      if (!(error instanceof InvalidReportError)) throw error;
      return this.#fail(scanner, {
        status: 'failed',
        code: 'report_invalid',
        message: error.message,
        durationMs,
      });
    }
    await this.#request.onReport?.(scanner, { report, version, durationMs, ...checked });
    this.#request.onProgress?.(scanner, { type: 'finished', findings: checked.findings, durationMs });
    return { scanner, status: 'completed', version, durationMs, ...checked };
  }

  #fail(scanner: Scanner, failure: ScannerFailure): ScannerOutcome {
    const { code, message, durationMs } = failure;
    this.#request.onProgress?.(scanner, { type: 'failed', code, message, durationMs });
    return { scanner, ...failure };
  }
}
