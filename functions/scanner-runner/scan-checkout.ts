import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RepositoryExclusions, Scanner } from '#domain/vocabulary.ts';
import { InvalidReportError, parseReport } from '#shared/reports/parse.ts';
import type { ReportedFinding } from '#shared/reports/reported-finding.ts';
import type { BesideReport } from '#shared/reports/runner-report.ts';
import type { SanitiseContext } from '#shared/reports/sanitise.ts';
import { Redactor, sanitiseReport, secretsIn } from '#shared/reports/sanitise.ts';
import { showAsText } from './attributes.ts';
import { CheckoutGit } from './checkout-git.ts';
import type { ScannerSettings } from './commands.ts';
import { privateFolder, readScannerSettings, semgrepRulePrefixes } from './commands.ts';
import { hiddenOf, mayHide, type RepositoryFiles } from './hidden-findings.ts';
import type { ScannerFailure, ScannerFailureCode, ScannerSuccess } from './run-scanner.ts';
import { runScanner } from './run-scanner.ts';
import { sourceLines } from './source-lines.ts';
import { passedOver, takenForBinary, trackedFiles } from './tracked-files.ts';
import { commentedFiles, withoutComments } from './trivy-comments.ts';
import { type TrivyNotes, unreadByTrivy } from './trivy-notes.ts';
import { type WholeHistory, wholeHistory, withoutTree } from './whole-history.ts';

export interface ScanRequest {
  readonly checkout: string;
  readonly scanners: readonly Scanner[];
  /** The organization's fingerprint key. */
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
  /** `overrule` unless it is told otherwise. */
  readonly exclusions?: RepositoryExclusions;
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
  readonly beside: BesideReport;
  readonly version: string;
  readonly findings: number;
  readonly warnings: readonly string[];
  /** The scanner's own time. */
  readonly durationMs: number;
}

export type ScannerOutcome =
  | ({ readonly scanner: Scanner; readonly status: 'completed' } & Omit<ScannedReport, 'report' | 'beside'>)
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

const NO_HISTORY: WholeHistory = { options: [], tree: null };

class Scan {
  readonly #request: ScanRequest;
  readonly #folder: string;
  readonly #settings: ScannerSettings;
  readonly #rulePrefixes: Promise<string[]>;
  readonly #git: CheckoutGit;
  readonly #repository: Promise<RepositoryFiles>;
  readonly #history: Promise<WholeHistory>;
  readonly #secrets = Promise.withResolvers<ReadonlySet<string>>();

  constructor(request: ScanRequest, folder: string) {
    this.#request = request;
    this.#folder = folder;
    this.#settings = request.settings ?? readScannerSettings(request.env ?? process.env);
    this.#rulePrefixes = request.scanners.includes('semgrep')
      ? semgrepRulePrefixes(this.#settings)
      : Promise.resolve([]);
    this.#rulePrefixes.catch(() => undefined);
    const { checkout, env = process.env } = request;
    this.#git = new CheckoutGit(checkout, join(folder, 'git'), env);
    this.#repository = this.#look();
    this.#repository.catch(() => undefined);
    this.#history = this.#showAll();
    this.#history.catch(() => undefined);
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

  async #look(): Promise<RepositoryFiles> {
    const { checkout, scanners } = this.#request;
    return {
      checkout,
      files: await trackedFiles(this.#git),
      commented: scanners.includes('trivy') ? await commentedFiles(this.#git) : [],
      readLines: sourceLines(checkout),
    };
  }

  /** Whatever the repository excludes: all that is there. */
  async #start(scanner: Scanner) {
    const { onProgress } = this.#request;
    const result = await runScanner({
      ...(await this.#run(scanner)),
      checkout: await this.#treeFor(scanner),
      outDir: this.#folder,
      exclusions: 'overrule',
      onStart: (version) => onProgress?.(scanner, { type: 'started', version }),
    });
    if (scanner !== 'gitleaks' || result.status === 'failed') return result;
    return { ...result, report: await withoutTree(result.report, await this.#history, this.#git) };
  }

  async #run(scanner: Scanner) {
    const { deadline, signal, env } = this.#request;
    const { options: history } = scanner === 'gitleaks' ? await this.#history : NO_HISTORY;
    return {
      scanner,
      deadline,
      settings: this.#settings,
      signal,
      history,
      ...(env !== undefined && { env }),
    };
  }

  /** For Gitleaks, which looks at differences between commits alone: what these would not show. */
  async #showAll(): Promise<WholeHistory> {
    const { checkout, scanners } = this.#request;
    if (!scanners.includes('gitleaks')) return NO_HISTORY;
    const { files } = await this.#repository;
    await showAsText(checkout, await takenForBinary(files, checkout));
    return wholeHistory(this.#git);
  }

  async #treeFor(scanner: Scanner): Promise<string> {
    const { checkout } = this.#request;
    if (scanner !== 'trivy') return checkout;
    const { files, commented } = await this.#repository;
    if (commented.length === 0) return checkout;
    const tree = join(this.#folder, 'without-comments');
    await withoutComments(checkout, files, commented, tree);
    return tree;
  }

  /** What the scanner does not tell of its report: it needs the checkout, and where the repository may hide, another run. */
  async #beside(
    scanner: Scanner,
    report: unknown,
    found: readonly ReportedFinding[],
    context: SanitiseContext,
    notes: TrivyNotes | undefined,
  ): Promise<BesideReport> {
    const repository = await this.#repository;
    const { checkout, exclusions = 'overrule' } = this.#request;
    const { files } = repository;
    const unread = [
      ...(await passedOver(scanner, files, checkout, report)),
      ...(notes ? await unreadByTrivy(files, checkout, report, notes) : []),
    ];
    if (exclusions === 'overrule' || !(await mayHide(scanner, found, repository)))
      return { unread, hidden: [] };
    const outDir = await privateFolder(join(this.#folder, 'honoured'));
    const result = await runScanner({ ...(await this.#run(scanner)), checkout, outDir, exclusions });
    // What can't be honoured (an allow list that is no list) hides nothing.
    if (result.status === 'failed') return { unread, hidden: [] };
    const shown = parseReport(scanner, await sanitiseReport(scanner, result.report, context));
    return { unread, hidden: await hiddenOf(scanner, found, shown.findings, repository) };
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
    let checked: Pick<ScannedReport, 'findings' | 'warnings' | 'beside'>;
    try {
      const { findings, warnings } = parseReport(scanner, report);
      const beside = await this.#beside(scanner, report, findings, context, result.notes);
      checked = { findings: findings.length - beside.hidden.length, warnings, beside };
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
    const { beside: _, ...told } = checked;
    return { scanner, status: 'completed', version, durationMs, ...told };
  }

  #fail(scanner: Scanner, failure: ScannerFailure): ScannerOutcome {
    const { code, message, durationMs } = failure;
    this.#request.onProgress?.(scanner, { type: 'failed', code, message, durationMs });
    return { scanner, ...failure };
  }
}
