import { type CellCounts, cellKey } from '#domain/cells.ts';
import { timestamp } from '#domain/clock.ts';
import type { CountedPlace, CounterStore } from './counters.ts';
import { type FindingRecord, findingItem, indexAttributes, parseFinding } from './finding-record.ts';
import { branchFindingKey, findingKey } from './keys.ts';
import { chunksOf, type Table, type Write } from './table.ts';

/** Findings a transaction: 100 less the counters (4), the fence and the check of the asset's place. */
const FINDINGS_PER_TRANSACTION = 92;
/** Transactions of one ingest under way at once. */
const PARALLEL_TRANSACTIONS = 2;
/** What a scan of another branch found is kept this long (design 5). */
const BRANCH_FINDING_SECONDS = 90 * 24 * 3600;

/** Where an ingest writes, and the conditions that every transaction of it carries. */
export interface WriteScope {
  readonly orgId: string;
  readonly place: CountedPlace;
  /** Lease of the manifest, and the asset being where its counts go. */
  readonly guards: readonly Write[];
}

/** A change of status that a scan makes, conditional on the status that it was decided on. */
export interface StatusMove {
  readonly held: FindingRecord;
  readonly next: FindingRecord;
}

export type FindingWriteStore = ReturnType<typeof createFindingWriteStore>;

/** What ingest writes: findings and their counters, always in one transaction. */
export function createFindingWriteStore(table: Table, counters: CounterStore) {
  async function inTransactions<T>(
    scope: WriteScope,
    changes: readonly T[],
    toWrite: (change: T) => Write,
    deltasOf: (chunk: readonly T[]) => CellCounts,
  ): Promise<void> {
    const chunks = chunksOf(changes, FINDINGS_PER_TRANSACTION);
    for (const group of chunksOf(chunks, PARALLEL_TRANSACTIONS)) {
      await Promise.all(
        group.map((chunk) =>
          table.transact([
            ...chunk.map(toWrite),
            ...counters.changeWrites(scope.orgId, scope.place, deltasOf(chunk)),
            ...scope.guards,
          ]),
        ),
      );
    }
  }

  return {
    /** The findings that exist of those asked for, by id; one request for each 100. */
    async readExisting(orgId: string, ids: readonly string[]): Promise<Map<string, FindingRecord>> {
      const items = await table.batchGet(ids.map((id) => findingKey(orgId, id)));
      return new Map(
        items
          .filter((item) => item !== null)
          .map(parseFinding)
          .map((record) => [record.id, record]),
      );
    },

    async createAll(scope: WriteScope, records: readonly FindingRecord[]): Promise<void> {
      await inTransactions(
        scope,
        records,
        (record) => ({ Put: { Item: findingItem(record), ConditionExpression: 'attribute_not_exists(pk)' } }),
        (chunk) => count(chunk.map((record) => [cellKey(record), 1])),
      );
    },

    async moveAll(scope: WriteScope, moves: readonly StatusMove[]): Promise<void> {
      await inTransactions(scope, moves, moveWrite, (chunk) =>
        count(
          chunk.flatMap(({ held, next }): [string, number][] => [
            [cellKey(held), -1],
            [cellKey(next), 1],
          ]),
        ),
      );
    },

    /** What a scan of another branch found: the scan's own, uncounted, for 90 days. */
    async writeBranchFindings(
      orgId: string,
      scanId: string,
      records: readonly FindingRecord[],
      at: number,
    ): Promise<void> {
      const expires_at = Math.floor(at / 1000) + BRANCH_FINDING_SECONDS;
      for (const chunk of chunksOf(records, 100)) {
        await table.transact(
          chunk.map(
            (record): Write => ({
              Put: { Item: { ...branchFindingKey(orgId, scanId, record.id), ...record, expires_at } },
            }),
          ),
        );
      }
    },
  };
}

/** Resolved: by a scan that no longer reports it. Reopened: by one that does again. */
export function resolvedBy(
  held: FindingRecord,
  scanId: string,
  lastSeenScanId: string,
  at: number,
): StatusMove {
  const now = timestamp(at);
  return {
    held,
    next: {
      ...held,
      status: 'resolved',
      resolved_at: now,
      resolved_by_scan_id: scanId,
      last_seen_scan_id: lastSeenScanId,
      updated_at: now,
    },
  };
}

export function reopenedBy(held: FindingRecord, at: number): StatusMove {
  return {
    held,
    next: {
      ...held,
      status: 'reopened',
      resolved_at: null,
      resolved_by_scan_id: null,
      updated_at: timestamp(at),
    },
  };
}

function moveWrite({ held, next }: StatusMove): Write {
  const indexes = indexAttributes(next);
  return {
    Update: {
      Key: findingKey(next.org_id, next.id),
      UpdateExpression: `SET #status = :status, resolved_at = :resolved, resolved_by_scan_id = :by, last_seen_scan_id = :seen, updated_at = :now, gsi1sk = :position, gsi2sk = :position${indexes.gsi3sk ? ', gsi3sk = :cve' : ''}`,
      ConditionExpression: '#status = :held',
      ExpressionAttributeNames: { '#status': 'status' },
      ExpressionAttributeValues: {
        ':status': next.status,
        ':held': held.status,
        ':resolved': next.resolved_at,
        ':by': next.resolved_by_scan_id,
        ':seen': next.last_seen_scan_id,
        ':now': next.updated_at,
        ':position': indexes.gsi1sk,
        ...(indexes.gsi3sk && { ':cve': indexes.gsi3sk }),
      },
    },
  };
}

function count(changes: readonly (readonly [string, number])[]): CellCounts {
  const sum = new Map<string, number>();
  for (const [cell, by] of changes) sum.set(cell, (sum.get(cell) ?? 0) + by);
  return sum;
}
