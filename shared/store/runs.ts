import * as z from 'zod';
import type { TierLimits } from '#contract/limits.ts';
import { timestamp } from '#domain/clock.ts';
import { isOrigin, type Origin } from '#domain/origin.ts';
import { HIDING_KINDS, SCANNERS, type Scanner } from '#domain/vocabulary.ts';
import {
  assetKey,
  capacityKey,
  deletedRunsKey,
  runKey,
  runRefKey,
  runsPartition,
  waitingRunKey,
  waitingRunsPartition,
} from './keys.ts';
import { leavePlaceWrites, takePlaceWrite } from './runner-places.ts';
import { applied, chunksOf, type Item, NotApplied, type Table, type Write } from './table.ts';

/** What one origin reported: chunks of its manifest. */
const ManifestRef = z.object({
  origin: z.custom<Origin>((value) => typeof value === 'string' && isOrigin(value)),
  chunks: z.array(z.string()),
  count: z.number(),
});

const HiddenCount = z.object({
  kind: z.enum(HIDING_KINDS),
  count: z.number(),
  places: z.array(z.object({ path: z.string(), line: z.number().nullable() })),
});

const ScannerState = z.object({
  /** `reported`: the raw report is in the bucket, and waits for ingest. */
  status: z.enum(['waiting', 'running', 'reported', 'completed', 'failed', 'cancelled']),
  started_at: z.string().nullable(),
  finished_at: z.string().nullable(),
  finding_count: z.number().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  /**
   * What ingest wrote: counts by cell as reported, and what the scan left behind, by origin. Of a `reported`
   * one: what of it is ingested so far.
   */
  result: z
    .object({
      counts: z.record(z.string(), z.number()),
      new_count: z.number(),
      resolved_count: z.number(),
      manifests: z.array(ManifestRef),
      /** What the repository hides: see `countHidden`. Absent: nothing. */
      hidden: z.array(HiddenCount).optional(),
    })
    .nullable(),
});
export type ScannerState = z.infer<typeof ScannerState>;
export type ManifestRef = z.infer<typeof ManifestRef>;

const RunRecord = z.object({
  id: z.string(),
  scan_id: z.string(),
  asset_id: z.string(),
  status: z.enum(['waiting', 'running', 'completed', 'failed', 'cancelled']),
  scanners: z.array(z.enum(SCANNERS)),
  /** Scanner processes that it holds while it runs; absent: one for each scanner. */
  slots: z.number().optional(),
  /** Where the deployment bounds its runners: the place that it holds while it runs. */
  place: z.number().nullish(),
  /** Of an import by upload: the scanner that its caller named. */
  named_scanner: z.enum(SCANNERS).nullish(),
  /** How often somebody began to read it. */
  upload_taken: z.number().optional(),
  branch: z.string().nullable(),
  /** Whether it is the asset's default branch: that alone moves what the organization sees (design 5). */
  default_branch: z.boolean(),
  commit: z.string().nullable(),
  claim_hash: z.string().nullable(),
  states: z.partialRecord(z.enum(SCANNERS), ScannerState),
  created_at: z.string(),
  started_at: z.string().nullable(),
  finished_at: z.string().nullable(),
  deadline_at: z.string(),
  /** The request that asked for its scan; older records have none. */
  request_id: z.string().nullish(),
});
export type RunRecord = z.infer<typeof RunRecord>;

export interface RunRef {
  readonly orgId: string;
  readonly scanId: string;
  readonly assetId: string;
  readonly runId: string;
}

const IDLE: ScannerState = {
  status: 'waiting',
  started_at: null,
  finished_at: null,
  finding_count: null,
  error: null,
  result: null,
};

export type Admission = 'admitted' | 'waits' | 'taken' | 'gone' | 'deleted';

class NotAdmitted extends Error {
  override readonly name = 'NotAdmitted';
  readonly reason: Exclude<Admission, 'admitted'>;
  constructor(reason: Exclude<Admission, 'admitted'>) {
    super(reason);
    this.reason = reason;
  }
}

/** A run's three items: record, reference, waiting entry. */
const RUNS_PER_TRANSACTION = 45;

export type RunStore = ReturnType<typeof createRunStore>;

/** Runs: one asset's part of a scan, with the state of each of its scanners. */
export function createRunStore(table: Table) {
  async function get(orgId: string, scanId: string, assetId: string): Promise<RunRecord | null> {
    const item = await table.get(runKey(orgId, scanId, assetId));
    return item && RunRecord.parse(item);
  }

  async function setState(
    ref: RunRef,
    scanner: Scanner,
    change: Partial<ScannerState>,
    expected: readonly ScannerState['status'][],
  ): Promise<boolean> {
    const entries = Object.entries(change);
    const allowed = expected.map((_, index) => `:e${index}`).join(', ');
    const updated = await table.update({
      Key: runKey(ref.orgId, ref.scanId, ref.assetId),
      UpdateExpression: `SET ${entries.map((_, index) => `states.#scanner.#f${index} = :v${index}`).join(', ')}`,
      ConditionExpression: `id = :run AND states.#scanner.#status IN (${allowed})`,
      ExpressionAttributeNames: {
        '#scanner': scanner,
        '#status': 'status',
        ...Object.fromEntries(entries.map(([name], index) => [`#f${index}`, name])),
      },
      ExpressionAttributeValues: {
        ':run': ref.runId,
        ...Object.fromEntries(entries.map(([, value], index) => [`:v${index}`, value])),
        ...Object.fromEntries(expected.map((status, index) => [`:e${index}`, status])),
      },
    });
    return updated !== null;
  }

  return {
    get,

    /** Writes down that the upload of a waiting import is about to be read; answers how often it was by now. */
    async uploadTaken({ orgId, scanId, assetId }: Omit<RunRef, 'runId'>): Promise<number> {
      const updated = await table.update({
        Key: runKey(orgId, scanId, assetId),
        UpdateExpression: 'ADD upload_taken :one',
        ConditionExpression: '#status = :waiting',
        ExpressionAttributeNames: { '#status': 'status' },
        ExpressionAttributeValues: { ':one': 1, ':waiting': 'waiting' },
        ReturnValues: 'ALL_NEW',
      });
      return Number(updated?.upload_taken ?? 0);
    },

    /** Runs of a scan by asset; all of them, for planning and ending it. Of a deleted one there are none. */
    async listAll(orgId: string, scanId: string): Promise<RunRecord[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :partition',
        ExpressionAttributeValues: { ':partition': runsPartition(orgId, scanId) },
        ConsistentRead: true,
      });
      if (items.at(-1)?.sk === deletedRunsKey(orgId, scanId).sk) return [];
      return items.map((item) => RunRecord.parse(item));
    },

    /** Writes the runs that do not exist yet; planning again changes nothing. */
    async plan(
      orgId: string,
      scanId: string,
      runs: readonly {
        id: string;
        assetId: string;
        scanners: readonly Scanner[];
        branch: string | null;
        defaultBranch: boolean;
        createdAt: string;
        deadlineAt: string;
        requestId?: string | null;
      }[],
    ): Promise<void> {
      const held = new Set((await this.listAll(orgId, scanId)).map((run) => run.asset_id));
      const missing = runs.filter((run) => !held.has(run.assetId));
      for (const chunk of chunksOf(missing, RUNS_PER_TRANSACTION)) {
        await table.transact(
          chunk.flatMap((run): Write[] => [
            { Put: { Item: runItem(orgId, scanId, run) } },
            { Put: { Item: { ...runRefKey(orgId, run.id), scan_id: scanId, asset_id: run.assetId } } },
          ]),
        );
      }
    },

    /** Lets planned runs be dispatched; an entry sorts by scan, so that older scans come first. */
    async enqueue(orgId: string, runs: readonly RunRecord[]): Promise<void> {
      for (const chunk of chunksOf(
        runs.filter((run) => run.status === 'waiting'),
        100,
      )) {
        await table.transact(
          chunk.map(
            (run): Write => ({
              Put: {
                Item: {
                  ...waitingRunKey(orgId, waitingId(run)),
                  scan_id: run.scan_id,
                  asset_id: run.asset_id,
                },
              },
            }),
          ),
        );
      }
    },

    async listWaiting(orgId: string, limit: number): Promise<Omit<RunRef, 'orgId'>[]> {
      const { items } = await table.queryPage({
        KeyConditionExpression: 'pk = :partition',
        ExpressionAttributeValues: { ':partition': waitingRunsPartition(orgId) },
        ConsistentRead: true,
        Limit: limit,
      });
      return items.map((item) => {
        const entry = z.object({ sk: z.string(), scan_id: z.string(), asset_id: z.string() }).parse(item);
        const runId = entry.sk.slice(waitingId({ scan_id: entry.scan_id, id: '' }).length);
        return { scanId: entry.scan_id, assetId: entry.asset_id, runId };
      });
    },

    /** Whether a run's asset is there: one that is deleted is gone from then on. */
    async hasAsset(orgId: string, assetId: string): Promise<boolean> {
      return (await table.get(assetKey(orgId, assetId))) !== null;
    },

    /** What an organization runs right now. */
    async readCapacity(orgId: string): Promise<{ runningScans: number; runningScanners: number }> {
      const item = await table.get(capacityKey(orgId));
      return {
        runningScans: Number(item?.running_scans ?? 0),
        runningScanners: Number(item?.running_scanners ?? 0),
      };
    },

    /**
     * Starts a waiting run if the tier's number of scanner processes allows, and its place is free.
     * @param bound where the deployment bounds its runners: the place to take, and until when the run then has time
     * @returns why not: it `waits` for its organization's others, the place is `taken`, it no longer waits, or its
     * asset was `deleted`
     */
    async admit(
      orgId: string,
      run: RunRecord,
      limits: TierLimits,
      claimHash: string,
      at: number,
      bound: { place: number; deadlineAt: string } | null = null,
    ): Promise<Admission> {
      const slots = run.scanners.length;
      // A tier with fewer processes than one run needs still runs it, alone.
      const room = Math.max(0, limits.concurrentScanners - slots);
      const held = { orgId, scanId: run.scan_id, assetId: run.asset_id, runId: run.id, admission: claimHash };
      try {
        await table.transact([
          {
            Update: {
              Key: runKey(orgId, run.scan_id, run.asset_id),
              UpdateExpression: `SET #status = :running, started_at = :now, claim_hash = :claim${bound ? ', place = :place, deadline_at = :deadline' : ''}`,
              ConditionExpression: '#status = :waiting',
              ExpressionAttributeNames: { '#status': 'status' },
              ExpressionAttributeValues: {
                ':running': 'running',
                ':waiting': 'waiting',
                ':now': timestamp(at),
                ':claim': claimHash,
                ...(bound && { ':place': bound.place, ':deadline': bound.deadlineAt }),
              },
            },
            otherwise: () => new NotAdmitted('gone'),
          },
          {
            ConditionCheck: {
              Key: assetKey(orgId, run.asset_id),
              ConditionExpression: 'attribute_exists(pk)',
            },
            // Before what is only full for now: this one never starts.
            otherwise: () => new NotAdmitted('deleted'),
          },
          {
            Update: {
              Key: capacityKey(orgId),
              UpdateExpression: 'ADD running_scanners :slots',
              ConditionExpression: 'attribute_not_exists(running_scanners) OR running_scanners <= :room',
              ExpressionAttributeValues: { ':slots': slots, ':room': room },
            },
            otherwise: () => new NotAdmitted('waits'),
          },
          { Delete: { Key: waitingRunKey(orgId, waitingId(run)) } },
          ...(bound ? [takePlaceWrite({ ...held, place: bound.place }, () => new NotAdmitted('taken'))] : []),
        ]);
        return 'admitted';
      } catch (error) {
        if (error instanceof NotAdmitted) return error.reason;
        throw error;
      }
    },

    /** Takes back what `admit` did, where the execution could not be started. */
    async returnToQueue(orgId: string, run: RunRecord, place: number | null = null): Promise<void> {
      await table.transact([
        ...leavePlaceWrites(place),
        {
          Update: {
            Key: runKey(orgId, run.scan_id, run.asset_id),
            UpdateExpression: 'SET #status = :waiting, started_at = :none, claim_hash = :none REMOVE place',
            ConditionExpression: '#status = :running',
            ExpressionAttributeNames: { '#status': 'status' },
            ExpressionAttributeValues: { ':waiting': 'waiting', ':running': 'running', ':none': null },
          },
        },
        slotsWrite(orgId, -run.scanners.length),
        {
          Put: {
            Item: { ...waitingRunKey(orgId, waitingId(run)), scan_id: run.scan_id, asset_id: run.asset_id },
          },
        },
      ]);
    },

    /** Removes an entry whose run does not wait; not that of one that waits again by now. */
    async dropWaiting(orgId: string, { scanId, assetId, runId }: Omit<RunRef, 'orgId'>): Promise<void> {
      await applied(
        table.transact([
          {
            ConditionCheck: {
              Key: runKey(orgId, scanId, assetId),
              ConditionExpression: 'attribute_not_exists(pk) OR #status <> :waiting',
              ExpressionAttributeNames: { '#status': 'status' },
              ExpressionAttributeValues: { ':waiting': 'waiting' },
            },
            otherwise: () => new NotApplied(),
          },
          { Delete: { Key: waitingRunKey(orgId, waitingId({ scan_id: scanId, id: runId })) } },
        ]),
      );
    },

    /** Removes the entry of a run that never starts: its scan was cancelled. */
    async dropCancelled(orgId: string, run: RunRecord): Promise<void> {
      await table.transact([{ Delete: { Key: waitingRunKey(orgId, waitingId(run)) } }]);
    },

    /** What a run id stands for; two requests. */
    async findByRunId(orgId: string, runId: string): Promise<RunRecord | null> {
      const ref = z
        .object({ scan_id: z.string(), asset_id: z.string() })
        .safeParse(await table.get(runRefKey(orgId, runId)));
      return ref.success ? get(orgId, ref.data.scan_id, ref.data.asset_id) : null;
    },

    /** Uses up the one-time claim; false where it was used, is wrong, or the run does not run. */
    async useClaim(ref: RunRef, claimHash: string): Promise<boolean> {
      const updated = await table.update({
        Key: runKey(ref.orgId, ref.scanId, ref.assetId),
        UpdateExpression: 'SET claim_hash = :used',
        ConditionExpression: 'id = :run AND claim_hash = :hash AND #status = :running',
        ExpressionAttributeNames: { '#status': 'status' },
        ExpressionAttributeValues: {
          ':used': null,
          ':run': ref.runId,
          ':hash': claimHash,
          ':running': 'running',
        },
      });
      return updated !== null;
    },

    /** `isDefault`: whether what was checked out is the asset's default branch, which only now may be known. */
    async recordCheckout(ref: RunRef, commit: string, isDefault: boolean): Promise<void> {
      await table.update({
        Key: runKey(ref.orgId, ref.scanId, ref.assetId),
        UpdateExpression: 'SET #commit = :commit, default_branch = :default',
        ConditionExpression: 'id = :run',
        ExpressionAttributeNames: { '#commit': 'commit' },
        ExpressionAttributeValues: { ':commit': commit, ':default': isDefault, ':run': ref.runId },
      });
    },

    scannerStarted: (ref: RunRef, scanner: Scanner, at: number) =>
      setState(ref, scanner, { status: 'running', started_at: timestamp(at) }, ['waiting']),

    scannerReported: (ref: RunRef, scanner: Scanner, findings: number, at: number) =>
      setState(ref, scanner, { status: 'reported', finding_count: findings, finished_at: timestamp(at) }, [
        'waiting',
        'running',
      ]),

    scannerFailed: (ref: RunRef, scanner: Scanner, error: { code: string; message: string }, at: number) =>
      setState(ref, scanner, { status: 'failed', error, finished_at: timestamp(at) }, [
        'waiting',
        'running',
        'reported',
      ]),

    /** A part of the report is ingested, that of some of its origins: a repeated step need not do it again. */
    scannerProgressed: (ref: RunRef, scanner: Scanner, result: NonNullable<ScannerState['result']>) =>
      setState(ref, scanner, { result }, ['reported']),

    scannerIngested: (ref: RunRef, scanner: Scanner, result: NonNullable<ScannerState['result']>) =>
      setState(ref, scanner, { status: 'completed', result }, ['reported']),

    /** Its report was not taken as a whole: what was taken is its result nevertheless. */
    scannerFellShort: (
      ref: RunRef,
      scanner: Scanner,
      error: { code: string; message: string },
      result: ScannerState['result'],
      at: number,
    ) =>
      setState(ref, scanner, { status: 'failed', error, result, finished_at: timestamp(at) }, ['reported']),

    /**
     * Ends a run together with its scan's countdown, and gives back its scanner processes. False
     * where it had ended already: a repeated step counts nothing twice.
     */
    async finish(
      ref: RunRef,
      run: RunRecord,
      end: { status: 'completed' | 'failed' | 'cancelled'; states: RunRecord['states']; at: number },
      countdown: Write,
    ): Promise<boolean> {
      return applied(
        table.transact([
          {
            Update: {
              Key: runKey(ref.orgId, ref.scanId, ref.assetId),
              UpdateExpression:
                'SET #status = :final, finished_at = :now, states = :states, claim_hash = :none',
              ConditionExpression: `id = :run AND #status = :held${holdsPlace(run) ? ' AND place = :place' : ''}`,
              ExpressionAttributeNames: { '#status': 'status' },
              ExpressionAttributeValues: {
                ':final': end.status,
                ':now': timestamp(end.at),
                ':states': end.states,
                ':none': null,
                ':run': ref.runId,
                ':held': run.status,
                ...(holdsPlace(run) && { ':place': run.place }),
              },
            },
            otherwise: () => new NotApplied(),
          },
          ...(holdsPlace(run) ? leavePlaceWrites(run.place) : []),
          // Only a run that was admitted holds processes.
          ...(run.status === 'running' && run.slots !== 0
            ? [slotsWrite(ref.orgId, -run.scanners.length)]
            : []),
          { Delete: { Key: waitingRunKey(ref.orgId, waitingId(run)) } },
          countdown,
        ]),
      );
    },
  };
}

function holdsPlace(run: RunRecord): boolean {
  return run.status === 'running' && typeof run.place === 'number';
}

function waitingId(run: { scan_id: string; id: string }): string {
  return `${run.scan_id}#${run.id}`;
}

function slotsWrite(orgId: string, by: number): Write {
  return {
    Update: {
      Key: capacityKey(orgId),
      UpdateExpression: 'ADD running_scanners :by',
      ExpressionAttributeValues: { ':by': by },
    },
  };
}

function runItem(
  orgId: string,
  scanId: string,
  run: {
    id: string;
    assetId: string;
    scanners: readonly Scanner[];
    branch: string | null;
    defaultBranch: boolean;
    createdAt: string;
    deadlineAt: string;
    requestId?: string | null;
  },
): Item {
  const record: RunRecord = {
    id: run.id,
    scan_id: scanId,
    asset_id: run.assetId,
    status: 'waiting',
    scanners: [...run.scanners],
    branch: run.branch,
    default_branch: run.defaultBranch,
    commit: null,
    claim_hash: null,
    states: Object.fromEntries(run.scanners.map((scanner) => [scanner, IDLE])),
    created_at: run.createdAt,
    started_at: null,
    finished_at: null,
    deadline_at: run.deadlineAt,
    request_id: run.requestId ?? null,
  };
  return { ...runKey(orgId, scanId, run.assetId), ...record };
}
