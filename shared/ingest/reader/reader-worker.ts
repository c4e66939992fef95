import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { ServiceError } from '#domain/errors.ts';
import { JsonRefused } from '#shared/json/refused.ts';
import { InvalidReportError } from '#shared/reports/parse.ts';
import { parseRunnerReport } from '#shared/reports/runner-report.ts';
import type { WorkerMessage } from '#shared/threads/expendable-worker.ts';
import { zipLines } from '../report-lines.ts';
import { sourceOf } from '../report-source.ts';
import { readReportedSets } from '../reported-set.ts';
import { readPruned } from './read-pruned.ts';
import { type ImportedReport, readUpload } from './read-upload.ts';
import type { ReadEnd, ReadPart, ReadReport, ReadRequest, Refusal } from './reader-messages.ts';
import { RUNNER_SHAPE } from './report-shape.ts';

/**
 * The thread that reports are read in, from their first byte on: whatever one of them costs, it costs this
 * thread, which may be ended at any time.
 */
/** A thread that has grown beyond this is replaced: it would keep what it took while it waits. */
const WORN_BYTES = 64 * 1024 * 1024;

function post(message: WorkerMessage<ReadPart, ReadEnd>): void {
  parentPort?.postMessage(message);
}

async function read(request: ReadRequest): Promise<void> {
  let end: ReadEnd;
  try {
    const reports = request.from === 'runner' ? [await readRun(request)] : await readCaller(request);
    if (request.from === 'upload') post({ part: await summarise(request, reports) });
    end = { lines: await Promise.all(reports.map(zipLines)) };
  } catch (error) {
    const refused = refusalOf(error);
    if (!refused) throw error;
    end = { refused };
  }
  post({ end, worn: getHeapStatistics().total_heap_size > WORN_BYTES });
}

async function readCaller({ bytes, named, key, limits }: Extract<ReadRequest, { from: 'upload' }>) {
  return readUpload(bytes, named, key, limits);
}

async function readRun({
  bytes,
  scanner,
  limits,
}: Extract<ReadRequest, { from: 'runner' }>): Promise<ImportedReport> {
  return { scanner, ...parseRunnerReport(scanner, await readPruned(bytes, limits, RUNNER_SHAPE)) };
}

async function summarise(
  { orgId, assetId }: Extract<ReadRequest, { from: 'upload' }>,
  reports: readonly ImportedReport[],
): Promise<ReadReport[]> {
  return Promise.all(
    reports.map(async (report) => {
      const sets = await readReportedSets(
        { ref: { orgId, assetId }, scanner: report.scanner },
        sourceOf(report),
      );
      return {
        scanner: report.scanner,
        incomplete: report.incomplete,
        unread: report.unread ?? [],
        hides: (report.hidden ?? []).length > 0,
        sets: sets.map(({ origin, counts, digest, entries }) => ({
          origin,
          counts,
          digest,
          count: entries.size,
        })),
      };
    }),
  );
}

/** Null where it is no fault of the report's. */
function refusalOf(error: unknown): Refusal | null {
  if (error instanceof ServiceError)
    return { code: error.code, message: error.message, details: error.details };
  if (error instanceof InvalidReportError)
    return { code: 'validation_error', message: error.message, details: undefined };
  if (error instanceof JsonRefused)
    return { code: 'validation_error', message: `The report ${error.message}`, details: undefined };
  return null;
}

// Thrown into nobody's hands it ends the thread, and with it this call alone.
parentPort?.on('message', (request: ReadRequest) => void read(request));
post({ ready: true });
