import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { parseCell } from '#domain/cells.ts';
import { timestamp } from '#domain/clock.ts';
import type { ExportRequested } from '#events/exports.ts';
import type { FindingDependencies } from '#functions/findings/dependencies.ts';
import { readFilter, type Selection } from '#functions/findings/list-findings.ts';
import { logError, logInfo } from '#shared/log.ts';
import { presentFindings } from '#shared/presenters/finding.ts';
import type { ReportBucket } from '#shared/report-bucket.ts';
import type { ExportStore } from '#store/exports.ts';
import type { FindingFilter, Position } from '#store/finding-order.ts';
import { type ReadFindings, writeFile } from './write-file.ts';

export interface ExportFindingsDependencies
  extends Pick<FindingDependencies, 'findings' | 'assets' | 'clock'> {
  readonly exports: ExportStore;
  readonly bucket: Pick<ReportBucket, 'write'>;
}

/** Findings read at once. */
const PAGE = 500;

/** The lease is renewed after so long: well within its 60 seconds. */
const RENEWAL = 15_000;

/**
 * Writes the file of an export, page by page through the list. Safe to repeat: the file is written anew,
 * whole, so that one that was overtaken leaves a good file as well. One at a time works on it; after a
 * crash the sweep sends it again.
 */
export async function exportFindings(
  message: ExportRequested,
  dependencies: ExportFindingsDependencies,
): Promise<void> {
  const { exports, bucket, clock } = dependencies;
  const { org_id: orgId, export_id: exportId } = message;
  const record = await exports.get(orgId, exportId, clock.now());
  if (record?.status !== 'queued' && record?.status !== 'running') {
    if (!record) await exports.forget(orgId, exportId);
    return;
  }
  const holder = randomUUID();
  if (!(await exports.take(orgId, exportId, holder, clock.now()))) return;
  let renewed = clock.now();
  const keepLease = async () => {
    const now = clock.now();
    if (!(await exports.renew(orgId, exportId, holder, now))) throw new TakenOver();
    renewed = now;
  };
  try {
    const filter = await readFilter(orgId, record.selection as Selection, dependencies);
    let count = 0;
    const read: ReadFindings = async function* (scanner) {
      for await (const finding of walk(orgId, ofScanner(filter, scanner), dependencies)) {
        if (clock.now() - renewed > RENEWAL) await keepLease();
        count += 1;
        yield finding;
      }
    };
    const file = await zipped(writeFile(record.format, read));
    await keepLease();
    await bucket.write({ orgId, exportId }, file);
    const finished_at = timestamp(clock.now());
    await exports.finish(orgId, exportId, { status: 'completed', count, error: null, finished_at }, holder);
    logInfo('export written', { org_id: orgId, export_id: exportId, count });
  } catch (error) {
    if (error instanceof TakenOver) return;
    logError('export failed', error, { org_id: orgId, export_id: exportId });
    const failure = { code: 'internal_error', message: 'The file could not be written; ask again' };
    const finished_at = timestamp(clock.now());
    const outcome = { status: 'failed', count: null, error: failure, finished_at } as const;
    await exports.finish(orgId, exportId, outcome, holder);
  }
}

/** The lease ran out and another one goes on, or the sweep has ended it. */
class TakenOver extends Error {
  override readonly name = 'TakenOver';
}

function ofScanner(filter: FindingFilter, scanner: Parameters<ReadFindings>[0]): FindingFilter {
  if (scanner === null) return filter;
  const asked = filter.scanner === undefined || filter.scanner.includes(scanner);
  return asked ? { ...filter, scanner: [scanner] } : { ...filter, places: [] };
}

/** Every finding that the filter matches, as the API shows it, worst first. */
async function* walk(
  orgId: string,
  filter: FindingFilter,
  { findings, clock }: Pick<ExportFindingsDependencies, 'findings' | 'clock'>,
) {
  for (let after: Position | null = null; ; ) {
    const { placed } = await findings.listPlaced(orgId, filter, '-severity', { skip: 0, take: PAGE, after });
    const refs = placed.map((one) => ({ ...one, scanner: parseCell(one.cell).scanner }));
    yield* presentFindings(await findings.readPage(orgId, refs), clock.now());
    const last = placed.at(-1);
    if (!last || placed.length < PAGE) return;
    after = last;
  }
}

/** Only what is packed is kept in memory: a tenth of the text. */
async function zipped(text: AsyncIterable<string>): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Buffer[] = [];
  for await (const part of Readable.from(text).pipe(createGzip())) parts.push(part as Buffer);
  return new Uint8Array(Buffer.concat(parts));
}
