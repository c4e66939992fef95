import * as z from 'zod';
import type { TierLimits } from '#contract/limits.ts';
import type { Attribution } from '#domain/actor.ts';
import { authorName } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { notFound, ServiceError } from '#domain/errors.ts';
import { SCAN_STATUSES, SCANNERS, SCOPES, type ScanStatus } from '#domain/vocabulary.ts';
import { auditWrite } from './audit.ts';
import { countsOf } from './counter-items.ts';
import {
  ACTIVE_SCANS,
  activeScanKey,
  capacityKey,
  idempotencyKey,
  importingKey,
  queuedScanKey,
  queuedScansPartition,
  scanKey,
  scanLockKey,
  scansPartition,
} from './keys.ts';
import { applied, type Item, NotApplied, type Table, type Write } from './table.ts';

/** A failure within a scan, as `error.details` lists it. */
const ScanFailure = z.object({
  asset_id: z.string(),
  scanner: z.enum(SCANNERS).nullable(),
  code: z.string(),
  message: z.string(),
});
export type ScanFailure = z.infer<typeof ScanFailure>;

const ScanRecord = z.object({
  id: z.string(),
  org_id: z.string(),
  scope: z.enum(SCOPES),
  target_id: z.string().nullable(),
  scanners: z.array(z.enum(SCANNERS)),
  branch: z.string().nullable(),
  commit: z.string().nullable(),
  trigger: z.enum(['api', 'schedule', 'push', 'pull_request', 'import']),
  status: z.enum(SCAN_STATUSES),
  /** Scanner runs: one for each scanner of each asset; known once the scan is planned. */
  total: z.number(),
  done: z.number(),
  failed: z.number(),
  /** Of those that failed, they whose report was taken or held: the scan then is `partial`. */
  heard: z.number().default(0),
  /** Assets whose run has not ended; absent until the scan is planned. */
  remaining: z.number().optional(),
  new_count: z.number(),
  resolved_count: z.number(),
  /** Findings that repositories hide. */
  hidden_count: z.number().default(0),
  failures: z.array(ScanFailure),
  created_by: z.string(),
  created_at: z.string(),
  started_at: z.string().nullable(),
  finished_at: z.string().nullable(),
  /** Where runners are bounded: when the first of its runs began, from which its time counts. */
  first_run_at: z.string().optional(),
  /** The tier's longest duration, from the start; set when the scan starts. */
  deadline_at: z.string().nullable(),
  max_minutes: z.number(),
  /** The request that asked for it; older records have none. */
  request_id: z.string().nullish(),
});
export type ScanRecord = z.infer<typeof ScanRecord> & { readonly counts: ReadonlyMap<string, number> };

export interface NewScan {
  readonly id: string;
  readonly scope: ScanRecord['scope'];
  readonly targetId: string | null;
  readonly scanners: ScanRecord['scanners'];
  readonly branch: string | null;
  readonly trigger: ScanRecord['trigger'];
}

/** Kept with each failure list: a scan of thousands of assets can't grow past an item's 400 KB. */
const MAX_FAILURES = 100;
const IDEMPOTENCY_SECONDS = 24 * 3600;

export type ScanStore = ReturnType<typeof createScanStore>;

/** Scans: the record, the lock of its scope, and the organization's capacity, moved together. */
export function createScanStore(table: Table) {
  async function get(orgId: string, scanId: string): Promise<ScanRecord | null> {
    const item = await table.get(scanKey(orgId, scanId));
    return item && parseScan(item);
  }

  return {
    get,

    /** @throws ServiceError not_found */
    async require(orgId: string, scanId: string): Promise<ScanRecord> {
      const scan = await get(orgId, scanId);
      if (!scan) throw notFound('scan');
      return scan;
    },

    /**
     * Accepts a scan: record, lock of the scope, place in the queue, idempotency record and audit
     * entry in one transaction.
     * @throws ServiceError scan_already_running, scan_limit_exceeded
     * @throws IdempotentReplay where the idempotency key was used in the last 24 hours
     */
    async create(
      orgId: string,
      scan: NewScan,
      limits: TierLimits,
      idempotency: { key: string; request: string } | null,
      attribution: Attribution,
    ): Promise<ScanRecord> {
      const author = authorName(attribution.actor);
      const record = {
        ...scanItem(orgId, scan, limits.maxScanMinutes, author, attribution.at),
        request_id: attribution.requestId,
      };
      await table.transact([
        ...(idempotency ? [idempotencyWrite(orgId, scan.id, idempotency, attribution.at)] : []),
        {
          Put: {
            Item: { ...scanLockKey(orgId, scan.scope, scan.targetId, scan.branch), scan_id: scan.id },
            ConditionExpression: 'attribute_not_exists(pk)',
          },
          otherwise: () =>
            new ServiceError('scan_already_running', 'A scan of this scope is already in progress'),
        },
        {
          Update: {
            Key: capacityKey(orgId),
            UpdateExpression: 'ADD queued_scans :one',
            ConditionExpression: 'attribute_not_exists(queued_scans) OR queued_scans < :limit',
            ExpressionAttributeValues: { ':one': 1, ':limit': limits.scanQueue },
          },
          otherwise: () =>
            new ServiceError(
              'scan_limit_exceeded',
              `The queue of ${limits.scanQueue} waiting scans is full`,
              { retryAfter: 60 },
            ),
        },
        {
          Put: {
            Item: { ...scanKey(orgId, scan.id), ...record },
            ConditionExpression: 'attribute_not_exists(pk)',
          },
        },
        { Put: { Item: { ...queuedScanKey(orgId, scan.id), scan_id: scan.id } } },
        { Put: { Item: { ...activeScanKey(orgId, scan.id), org_id: orgId, scan_id: scan.id } } },
        auditWrite(orgId, attribution, {
          action: 'scan.create',
          target: { type: 'scan', id: scan.id },
          changes: {
            scope: { after: scan.scope },
            scanners: { after: scan.scanners },
            target_id: { after: scan.targetId },
          },
        }),
      ]);
      return { ...record, counts: new Map() };
    },

    /** The scan that an idempotency key made, and the request that it was for. */
    async findByIdempotencyKey(
      orgId: string,
      key: string,
    ): Promise<{ scanId: string; request: string } | null> {
      const held = z
        .object({ scan_id: z.string(), request: z.string() })
        .safeParse(await table.get(idempotencyKey(orgId, 'scan', key)));
      return held.success ? { scanId: held.data.scan_id, request: held.data.request } : null;
    },

    /** Newest or oldest first. `limit` bounds what is read where there is no filter. */
    async list(orgId: string, order: 'newest' | 'oldest', limit?: number): Promise<ScanRecord[]> {
      const query = {
        KeyConditionExpression: 'pk = :partition',
        ExpressionAttributeValues: { ':partition': scansPartition(orgId) },
        ScanIndexForward: order === 'oldest',
        ConsistentRead: true,
      };
      const items: Item[] =
        limit === undefined ? await table.queryAll(query) : await table.queryFirst(query, limit);
      return items.map(parseScan);
    },

    async count(orgId: string): Promise<number> {
      return table.count({
        KeyConditionExpression: 'pk = :partition',
        ExpressionAttributeValues: { ':partition': scansPartition(orgId) },
      });
    },

    /** Ids of the organization's waiting scans, the oldest first. */
    async listQueued(orgId: string, limit: number): Promise<string[]> {
      const { items } = await table.queryPage({
        KeyConditionExpression: 'pk = :partition',
        ExpressionAttributeValues: { ':partition': queuedScansPartition(orgId) },
        ConsistentRead: true,
        Limit: limit,
      });
      return items.map((item) => z.object({ scan_id: z.string() }).parse(item).scan_id);
    },

    /** Starts a queued scan if the tier's number of running scans allows; false where it must wait. */
    async admit(orgId: string, scan: ScanRecord, limits: TierLimits, at: number): Promise<boolean> {
      return applied(
        table.transact([
          {
            Update: {
              Key: scanKey(orgId, scan.id),
              UpdateExpression: 'SET #status = :running, started_at = :now, deadline_at = :deadline',
              ConditionExpression: '#status = :queued',
              ExpressionAttributeNames: { '#status': 'status' },
              ExpressionAttributeValues: {
                ':running': 'running',
                ':queued': 'queued',
                ':now': timestamp(at),
                ':deadline': timestamp(at + scan.max_minutes * 60_000),
              },
            },
            otherwise: () => new NotApplied(),
          },
          {
            Update: {
              Key: capacityKey(orgId),
              UpdateExpression: 'ADD queued_scans :less, running_scans :one',
              ConditionExpression: 'attribute_not_exists(running_scans) OR running_scans < :limit',
              ExpressionAttributeValues: { ':less': -1, ':one': 1, ':limit': limits.concurrentScans },
            },
            otherwise: () => new NotApplied(),
          },
          { Delete: { Key: queuedScanKey(orgId, scan.id) } },
        ]),
      );
    },

    /** The first of its runs has begun after it waited for a place: only now its time begins. */
    async firstRunBegan(orgId: string, scanId: string, deadlineAt: string, at: number): Promise<void> {
      await table.update({
        Key: scanKey(orgId, scanId),
        UpdateExpression: 'SET first_run_at = :now, deadline_at = :deadline',
        ConditionExpression: 'attribute_exists(pk) AND attribute_not_exists(first_run_at)',
        ExpressionAttributeValues: { ':now': timestamp(at), ':deadline': deadlineAt },
      });
    },

    /** Fixes how many runs the scan has; the first to plan it decides. */
    async recordPlan(orgId: string, scanId: string, runs: number, scannerRuns: number): Promise<void> {
      await table.update({
        Key: scanKey(orgId, scanId),
        UpdateExpression: 'SET remaining = :runs, #total = :total',
        ConditionExpression: 'attribute_not_exists(remaining) AND #status = :running',
        ExpressionAttributeNames: { '#total': 'total', '#status': 'status' },
        ExpressionAttributeValues: { ':runs': runs, ':total': scannerRuns, ':running': 'running' },
      });
    },

    /** The write by which a run that ended counts on its scan; goes with the run's own write. */
    countdownWrite(
      orgId: string,
      held: ScanRecord,
      run: {
        done: number;
        failed: number;
        /** Scanners of an asset that was deleted: nothing is told of them. */
        dropped: number;
        heard: number;
        counts: ReadonlyMap<string, number>;
        newCount: number;
        resolvedCount: number;
        hiddenCount: number;
        commit: string | null;
        failures: readonly ScanFailure[];
      },
    ): Write {
      const cells = [...run.counts];
      const room = Math.max(0, MAX_FAILURES - held.failures.length);
      const adds = cells.map((_, index) => `, #c${index} :c${index}`).join('');
      return {
        Update: {
          Key: scanKey(orgId, held.id),
          UpdateExpression: `ADD remaining :less, #total :dropped, done :done, #failed :failed, heard :heard, new_count :new, resolved_count :resolved, hidden_count :hidden${adds} SET failures = list_append(failures, :failures), #commit = :commit`,
          // A scan that was deleted meanwhile must not come back as a fragment.
          ConditionExpression: 'attribute_exists(pk)',
          ExpressionAttributeNames: {
            '#failed': 'failed',
            '#total': 'total',
            '#commit': 'commit',
            ...Object.fromEntries(cells.map(([cell], index) => [`#c${index}`, `c${cell}`])),
          },
          ExpressionAttributeValues: {
            ':less': -1,
            ':dropped': -run.dropped,
            ':done': run.done,
            ':failed': run.failed,
            ':heard': run.heard,
            ':new': run.newCount,
            ':resolved': run.resolvedCount,
            ':hidden': run.hiddenCount,
            ':failures': run.failures.slice(0, room),
            // A scan of several assets has no one commit.
            ':commit': held.scope === 'asset' ? run.commit : null,
            ...Object.fromEntries(cells.map(([, count], index) => [`:c${index}`, count])),
          },
        },
      };
    },

    /**
     * Ends a scan: status, lock, capacity and the sweep's entry in one transaction. False where it
     * had ended already.
     */
    async finish(
      orgId: string,
      scan: ScanRecord,
      status: Extract<ScanStatus, 'completed' | 'partial' | 'failed' | 'cancelled'>,
      attribution: Attribution,
      failures: readonly ScanFailure[] = [],
    ): Promise<boolean> {
      const wasQueued = scan.status === 'queued';
      return applied(
        table.transact([
          {
            Update: {
              Key: scanKey(orgId, scan.id),
              UpdateExpression:
                'SET #status = :final, finished_at = :now, failures = list_append(failures, :failures)',
              ConditionExpression: '#status = :held',
              ExpressionAttributeNames: { '#status': 'status' },
              ExpressionAttributeValues: {
                ':final': status,
                ':held': scan.status,
                ':now': timestamp(attribution.at),
                ':failures': failures,
              },
            },
            otherwise: () => new NotApplied(),
          },
          // An import runs nothing: it took neither.
          ...(scan.trigger === 'import'
            ? [{ Delete: { Key: importingKey(orgId, scan.target_id ?? '', scan.id) } }]
            : releaseWrites(orgId, scan)),
          ...(wasQueued ? [{ Delete: { Key: queuedScanKey(orgId, scan.id) } }] : []),
          { Delete: { Key: activeScanKey(orgId, scan.id) } },
          auditWrite(orgId, attribution, {
            action: status === 'cancelled' ? 'scan.cancel' : 'scan.finish',
            target: { type: 'scan', id: scan.id },
            changes: { status: { before: scan.status, after: status } },
          }),
        ]),
      );
    },

    /** For the sweep: every scan that has not ended, over all organizations. */
    async listActive(): Promise<{ orgId: string; scanId: string }[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :partition',
        ExpressionAttributeValues: { ':partition': ACTIVE_SCANS },
        ConsistentRead: true,
      });
      return items.map((item) => {
        const entry = z.object({ org_id: z.string(), scan_id: z.string() }).parse(item);
        return { orgId: entry.org_id, scanId: entry.scan_id };
      });
    },
  };
}

/** Gives back the lock of a scan's scope, and its share of the tier's capacity. */
function releaseWrites(orgId: string, scan: ScanRecord): Write[] {
  return [
    {
      Delete: {
        Key: scanLockKey(orgId, scan.scope, scan.target_id, scan.branch),
        ConditionExpression: 'attribute_not_exists(pk) OR scan_id = :scan',
        ExpressionAttributeValues: { ':scan': scan.id },
      },
    },
    {
      Update: {
        Key: capacityKey(orgId),
        UpdateExpression: 'ADD #count :less',
        ExpressionAttributeNames: { '#count': scan.status === 'queued' ? 'queued_scans' : 'running_scans' },
        ExpressionAttributeValues: { ':less': -1 },
      },
    },
  ];
}

/** A scan that was just accepted. */
export function scanItem(
  orgId: string,
  scan: NewScan,
  maxMinutes: number,
  author: string,
  at: number,
): Omit<ScanRecord, 'counts'> {
  return {
    id: scan.id,
    org_id: orgId,
    scope: scan.scope,
    target_id: scan.targetId,
    scanners: scan.scanners,
    branch: scan.branch,
    commit: null,
    trigger: scan.trigger,
    status: 'queued',
    total: 0,
    done: 0,
    failed: 0,
    heard: 0,
    new_count: 0,
    resolved_count: 0,
    hidden_count: 0,
    failures: [],
    created_by: author,
    created_at: timestamp(at),
    started_at: null,
    finished_at: null,
    deadline_at: null,
    max_minutes: maxMinutes,
  };
}

/** The idempotency key was used before: the answer is the scan that it made. */
export class IdempotentReplay extends Error {
  override readonly name = 'IdempotentReplay';
}

/** Remembers what an idempotency key made; goes with the writes of that. */
export function idempotencyWrite(
  orgId: string,
  scanId: string,
  idempotency: { key: string; request: string },
  at: number,
): Write {
  const seconds = Math.floor(at / 1000);
  return {
    Put: {
      Item: {
        ...idempotencyKey(orgId, 'scan', idempotency.key),
        scan_id: scanId,
        request: idempotency.request,
        expires_at: seconds + IDEMPOTENCY_SECONDS,
      },
      // TTL deletes late: an expired record counts as absent.
      ConditionExpression: 'attribute_not_exists(pk) OR expires_at <= :now',
      ExpressionAttributeValues: { ':now': seconds },
    },
    otherwise: () => new IdempotentReplay(),
  };
}

function parseScan(item: Item): ScanRecord {
  return { ...ScanRecord.parse(item), counts: countsOf(item) };
}
