import { fileURLToPath } from 'node:url';
import { ServiceError } from '#domain/errors.ts';
import type { Scanner } from '#domain/vocabulary.ts';
import { logWarning } from '#shared/log.ts';
import { InvalidReportError } from '#shared/reports/parse.ts';
import { ExpendableWorker, WorkerFailure } from '#shared/threads/expendable-worker.ts';
import { Turn, Turns } from '#shared/threads/turns.ts';
import type { ReadEnd, ReadPart, ReadReport, ReadRequest } from './reader-messages.ts';
import { REPORT_LIMITS } from './report-limits.ts';

/** At once, while organizations wait for each other. */
const MAX_THREADS = 2;
/** MB. The largest report that the limits allow takes 240 of them. */
const HEAP_MB = 320;

/** A caller's report as far as it is needed to decide what becomes of it. */
export interface ReadUpload {
  readonly reports: readonly ReadReport[];
  /** Its findings as gzipped lines (`openReport`), for each of the reports in the same order. */
  readonly lines: Promise<readonly Uint8Array[]>;
}

interface UploadRequest {
  readonly bytes: Uint8Array;
  readonly named: Scanner | null;
  /** The organization's fingerprint key. */
  readonly key: string;
  readonly orgId: string;
  readonly assetId: string;
}

/** How long a report may wait for its turn, and be read then. */
export interface Patience {
  readonly waitMs: number;
  readonly readMs: number;
}

export interface ReportReader {
  /**
   * A report that came from outside.
   * @throws ServiceError invalid_json, validation_error, invalid_parameter, payload_too_large; service_unavailable
   * where its turn did not come in time
   */
  readUpload(request: UploadRequest, patience: Patience): Promise<ReadUpload>;
  /**
   * A report of our own runner's, whose contents a repository steers: its findings as gzipped lines.
   * @throws ServiceError, InvalidReportError
   */
  readRun(orgId: string, scanner: Scanner, bytes: Uint8Array): Promise<Uint8Array>;
  close(): Promise<void>;
}

type ReaderThread = ExpendableWorker<ReadPart, ReadEnd>;

/** Ingest is called again where it fails, and nobody waits for its answer. */
const INGEST: Patience = { waitMs: 120_000, readMs: 120_000 };

/** Reads reports in threads: one, and another while organizations wait for each other. */
export function createReportReader(limits = REPORT_LIMITS, heapMb = HEAP_MB): ReportReader {
  const turns = new Turns(
    () =>
      new ExpendableWorker<ReadPart, ReadEnd>({
        file: workerFile(),
        data: () => null,
        heapMb,
        youngMb: 16,
        stackMb: 4,
        subject: 'The report',
      }),
    MAX_THREADS,
    'The reader of reports',
  );

  function read(
    owner: string,
    request: ReadRequest,
    { waitMs, readMs }: Patience,
    onPart: (part: ReadPart) => void,
  ) {
    const work = async (thread: ReaderThread) => {
      try {
        return await thread.call(request, readMs, onPart);
      } catch (error) {
        throw failureOf(error, readMs);
      }
    };
    return turns.take(new Turn(owner, performance.now() + waitMs), work);
  }

  return {
    async readUpload({ bytes, ...rest }, patience) {
      const reports = Promise.withResolvers<readonly ReadReport[]>();
      const request: ReadRequest = { from: 'upload', bytes, limits, ...rest };
      const lines = read(rest.orgId, request, patience, reports.resolve).then(linesOf);
      // Of a report that nobody wants the lines of, nobody hears of these.
      lines.catch(reports.reject);
      return { reports: await reports.promise, lines };
    },
    async readRun(orgId, scanner, bytes) {
      try {
        const end = await read(orgId, { from: 'runner', bytes, limits, scanner }, INGEST, () => {});
        return linesOf(end)[0] as Uint8Array;
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code === 'service_unavailable') throw error;
        throw new InvalidReportError(scanner, error.message);
      }
    },
    close: () => turns.close(),
  };
}

/** The one of this process: functions that share a process share its threads. */
let shared: ReportReader | null = null;
export function reportReader(): ReportReader {
  shared ??= createReportReader();
  return shared;
}

/** Beside the bundle, or beside this source. */
function workerFile(): string {
  const name = import.meta.url.endsWith('.ts') ? 'reader-worker.ts' : 'reader-worker.mjs';
  return fileURLToPath(new URL(name, import.meta.url));
}

function linesOf(end: ReadEnd): readonly Uint8Array[] {
  if ('lines' in end) return end.lines;
  const { code, message, details } = end.refused;
  throw new ServiceError(code, message, details ? { details } : {});
}

/** What ended the thread: its next call finds a new one. */
function failureOf(error: unknown, readMs: number): unknown {
  if (!(error instanceof WorkerFailure) || error.reason === 'closed') return error;
  logWarning('a thread that read a report was ended, and is replaced', { reason: error.reason });
  switch (error.reason) {
    case 'deadline_exceeded':
      return new ServiceError(
        'validation_error',
        `The report could not be read within ${readMs / 1000} seconds`,
      );
    case 'memory_exceeded':
      return new ServiceError('payload_too_large', 'The report takes more memory to read than is allowed');
    case 'crashed':
      return new ServiceError('validation_error', 'The report could not be read: it broke its reader');
  }
}
