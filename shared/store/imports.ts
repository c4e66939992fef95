import * as z from 'zod';
import { type Attribution, authorName } from '#domain/actor.ts';
import { addCounts } from '#domain/cells.ts';
import { timestamp } from '#domain/clock.ts';
import { notFound } from '#domain/errors.ts';
import type { Origin } from '#domain/origin.ts';
import type { Scanner } from '#domain/vocabulary.ts';
import { currentRequestId } from '#shared/request-scope.ts';
import { auditWrite } from './audit.ts';
import { activeScanKey, assetKey, importingKey, manifestKey, runKey, runRefKey, scanKey } from './keys.ts';
import type { ManifestHead } from './manifests.ts';
import type { RunRecord, RunRef, ScannerState } from './runs.ts';
import { idempotencyWrite, type ScanRecord, scanItem } from './scans.ts';
import { applied, NotApplied, type Table, type Write } from './table.ts';

/** What is lost for this long is ended by the sweep. */
const MAX_MINUTES = 60;

export interface NewImport {
  readonly ref: RunRef;
  readonly branch: string | null;
  readonly isDefault: boolean;
  /** The asset knows no default branch, and takes this one. */
  readonly becomesDefault: boolean;
  readonly reports: readonly { readonly scanner: Scanner; readonly count: number }[];
  /** What the caller says that an upload will be of. */
  readonly named?: Scanner | null;
  readonly idempotency: { readonly key: string; readonly request: string } | null;
}

/** Heads that are written in one transaction with the records of the scan. */
export const MAX_UNCHANGED = 80;

/** What of an import is still to be known once it was accepted. */
type AcceptedImport = Omit<NewImport, 'idempotency' | 'becomesDefault'>;

/** What one origin reports, and reported the last time. */
export interface UnchangedReport {
  readonly scanner: Scanner;
  readonly origin: Origin;
  readonly head: ManifestHead;
  readonly counts: Readonly<Record<string, number>>;
  readonly digest: string;
}

const WaitingImport = z.object({ scan_id: z.string(), run_id: z.string(), accepted_at: z.number() });
export type WaitingImport = z.infer<typeof WaitingImport>;

export type ImportStore = ReturnType<typeof createImportStore>;

/** Imports: scans that run nothing, so that they take no lock and none of the tier's capacity. */
export function createImportStore(table: Table) {
  return {
    /**
     * Accepts an import whose reports wait in the bucket.
     * @throws ServiceError not_found @throws IdempotentReplay @throws DefaultBranchTaken
     */
    async create(made: NewImport, attribution: Attribution): Promise<ScanRecord> {
      const { orgId, scanId } = made.ref;
      const scan = scanOf(made, attribution, { status: 'running', remaining: 1 });
      const states = statesOf(made, () => ({ status: 'reported', result: null }), attribution.at);
      await table.transact([
        ...recordWrites(made, scan, runOf(made, states, 'running', attribution.at), attribution),
        { Put: { Item: { ...activeScanKey(orgId, scanId), org_id: orgId, scan_id: scanId } } },
        importingWrite(made.ref, attribution.at),
      ]);
      return { ...scan, counts: new Map() };
    },

    /**
     * Accepts an import whose report is still to be uploaded: queued until it is there.
     * @throws ServiceError not_found @throws DefaultBranchTaken
     */
    async expectUpload(made: NewImport, attribution: Attribution): Promise<ScanRecord> {
      const { orgId, scanId } = made.ref;
      const scan = { ...scanOf(made, attribution, { status: 'queued', remaining: 1 }), started_at: null };
      await table.transact([
        ...recordWrites(made, scan, runOf(made, {}, 'waiting', attribution.at), attribution),
        { Put: { Item: { ...activeScanKey(orgId, scanId), org_id: orgId, scan_id: scanId } } },
      ]);
      return { ...scan, counts: new Map() };
    },

    /** The upload is there, and its findings are in the bucket; false where that was known already. */
    async uploaded(made: AcceptedImport, at: number): Promise<boolean> {
      const { orgId, scanId, assetId } = made.ref;
      const states = statesOf(made, () => ({ status: 'reported', result: null }), at);
      const run = runOf(made, states, 'running', at);
      return applied(
        table.transact([
          {
            Update: {
              Key: scanKey(orgId, scanId),
              UpdateExpression:
                'SET #status = :running, started_at = :now, scanners = :scanners, #total = :total',
              ConditionExpression: '#status = :queued',
              ExpressionAttributeNames: { '#status': 'status', '#total': 'total' },
              ExpressionAttributeValues: {
                ':running': 'running',
                ':queued': 'queued',
                ':now': timestamp(at),
                ':scanners': run.scanners,
                ':total': run.scanners.length,
              },
            },
            otherwise: () => new NotApplied(),
          },
          { Put: { Item: { ...runKey(orgId, scanId, assetId), ...run } } },
          importingWrite(made.ref, at),
        ]),
      );
    },

    /** Imports of an asset whose reports are there and that have not ended, in the order in which they were accepted. */
    async listWaiting(orgId: string, assetId: string): Promise<WaitingImport[]> {
      const { pk, sk } = importingKey(orgId, assetId, '');
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: { ':pk': pk, ':prefix': sk },
        ConsistentRead: true,
      });
      return items
        .map((item) => WaitingImport.parse(item))
        .sort((a, b) => a.accepted_at - b.accepted_at || (a.scan_id < b.scan_id ? -1 : 1));
    },

    /**
     * Accepts and completes an import that changes nothing: one transaction, conditional on the manifests
     * still being what they were. At most `MAX_UNCHANGED` of them.
     * @returns null where they are not @throws ServiceError not_found @throws IdempotentReplay
     */
    async completeUnchanged(
      made: NewImport,
      unchanged: readonly UnchangedReport[],
      attribution: Attribution,
    ): Promise<ScanRecord | null> {
      const done = { status: 'completed', done: made.reports.length, remaining: 0 } as const;
      const scan = { ...scanOf(made, attribution, done), finished_at: timestamp(attribution.at) };
      const byScanner = Map.groupBy(unchanged, ({ scanner }) => scanner);
      const states = statesOf(made, (scanner) => completed(byScanner.get(scanner) ?? []), attribution.at);
      const counts = addCounts(...unchanged.map((report) => new Map(Object.entries(report.counts))));
      const cells = Object.fromEntries(Array.from(counts, ([cell, count]) => [`c${cell}`, count]));
      const run = { ...runOf(made, states, 'completed', attribution.at), finished_at: scan.finished_at };
      const wrote = await applied(
        table.transact([
          ...recordWrites(made, { ...scan, ...cells }, run, attribution),
          ...unchanged.map((report) => touchWrite(made, report, attribution.at)),
        ]),
      );
      return wrote ? { ...scan, counts } : null;
    },
  };
}

/** Another import was accepted meanwhile, or the asset is gone. */
export class DefaultBranchTaken extends Error {
  override readonly name = 'DefaultBranchTaken';
}

function importingWrite({ orgId, assetId, scanId, runId }: RunRef, at: number): Write {
  return {
    Put: {
      Item: { ...importingKey(orgId, assetId, scanId), scan_id: scanId, run_id: runId, accepted_at: at },
    },
  };
}

function completed(reports: readonly UnchangedReport[]): Pick<ScannerState, 'status' | 'result'> {
  const counts = addCounts(...reports.map((report) => new Map(Object.entries(report.counts))));
  return {
    status: 'completed',
    result: {
      counts: Object.fromEntries(counts),
      new_count: 0,
      resolved_count: 0,
      manifests: reports.map(({ origin, head: { chunks, count } }) => ({ origin, chunks, count })),
    },
  };
}

/** The manifest's head with the scan that saw it last, while nobody is at work on it. */
function touchWrite({ ref }: NewImport, { origin, digest }: UnchangedReport, at: number): Write {
  return {
    Update: {
      Key: manifestKey(ref.orgId, ref.assetId, origin),
      UpdateExpression: 'SET last_scan_id = :scan, last_run_at = :now, held_scan_id = :none',
      ConditionExpression:
        'digest = :digest AND (attribute_not_exists(lease_run) OR attribute_type(lease_run, :null) OR lease_until < :at)',
      ExpressionAttributeValues: {
        ':scan': ref.scanId,
        ':now': timestamp(at),
        ':none': null,
        ':digest': digest,
        ':null': 'NULL',
        ':at': at,
      },
    },
    otherwise: () => new NotApplied(),
  };
}

function recordWrites(
  made: NewImport,
  scan: Omit<ScanRecord, 'counts'>,
  run: RunRecord,
  attribution: Attribution,
): Write[] {
  const { orgId, scanId, assetId, runId } = made.ref;
  return [
    ...(made.idempotency ? [idempotencyWrite(orgId, scanId, made.idempotency, attribution.at)] : []),
    {
      Put: { Item: { ...scanKey(orgId, scanId), ...scan }, ConditionExpression: 'attribute_not_exists(pk)' },
    },
    { Put: { Item: { ...runKey(orgId, scanId, assetId), ...run } } },
    { Put: { Item: { ...runRefKey(orgId, runId), scan_id: scanId, asset_id: assetId } } },
    {
      Update: {
        Key: assetKey(orgId, assetId),
        UpdateExpression: 'SET last_scan_at = :now',
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeValues: { ':now': timestamp(attribution.at) },
        ...(made.becomesDefault && {
          UpdateExpression: 'SET last_scan_at = :now, default_branch = :branch',
          // Nothing was accepted before it either: that may be of the default branch, and not be known yet.
          ConditionExpression: 'default_branch = :none AND last_scan_at = :none',
          ExpressionAttributeValues: {
            ':now': timestamp(attribution.at),
            ':branch': made.branch,
            ':none': null,
          },
        }),
      },
      otherwise: () => (made.becomesDefault ? new DefaultBranchTaken() : notFound('asset')),
    },
    auditWrite(orgId, attribution, {
      action: 'scan.import',
      target: { type: 'scan', id: scanId },
      changes: {
        asset_id: { after: assetId },
        branch: { after: made.branch },
        reports: { after: made.reports },
      },
    }),
  ];
}

function scanOf(
  made: NewImport,
  attribution: Attribution,
  state: Pick<ScanRecord, 'status'> & Partial<ScanRecord>,
): Omit<ScanRecord, 'counts'> {
  const { orgId, scanId, assetId } = made.ref;
  const scan = {
    id: scanId,
    scope: 'asset' as const,
    targetId: assetId,
    scanners: made.reports.map(({ scanner }) => scanner),
    branch: made.branch,
    trigger: 'import' as const,
  };
  return {
    ...scanItem(orgId, scan, MAX_MINUTES, authorName(attribution.actor), attribution.at),
    request_id: attribution.requestId,
    total: made.reports.length,
    started_at: timestamp(attribution.at),
    deadline_at: timestamp(attribution.at + MAX_MINUTES * 60_000),
    ...state,
  };
}

function statesOf(
  made: Pick<NewImport, 'reports'>,
  stateOf: (scanner: Scanner) => Pick<ScannerState, 'status' | 'result'>,
  at: number,
): RunRecord['states'] {
  const times = { started_at: timestamp(at), finished_at: timestamp(at), error: null };
  return Object.fromEntries(
    made.reports.map(({ scanner, count }) => [
      scanner,
      { ...times, finding_count: count, ...stateOf(scanner) },
    ]),
  );
}

function runOf(
  { ref, branch, isDefault, reports, named = null }: AcceptedImport,
  states: RunRecord['states'],
  status: RunRecord['status'],
  at: number,
): RunRecord {
  return {
    id: ref.runId,
    scan_id: ref.scanId,
    asset_id: ref.assetId,
    status,
    scanners: reports.map(({ scanner }) => scanner),
    slots: 0,
    named_scanner: named,
    branch,
    default_branch: isDefault,
    commit: null,
    claim_hash: null,
    states,
    created_at: timestamp(at),
    started_at: timestamp(at),
    finished_at: null,
    deadline_at: timestamp(at + MAX_MINUTES * 60_000),
    request_id: currentRequestId(),
  };
}
