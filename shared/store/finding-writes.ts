import { closedAtHome } from '#domain/judgement.ts';
import { needsRevisit } from '#domain/lifecycle.ts';
import { originOf } from '#domain/origin.ts';
import type { CountedPlace } from './counter-items.ts';
import type { CounterStore } from './counters.ts';
import {
  type FindingRecord,
  findingDeltas,
  findingItem,
  parseFinding,
  replaceWrite,
} from './finding-record.ts';
import { branchFindingKey, findingKey, revisitKey } from './keys.ts';
import { chunksOf, type Table, type Write } from './table.ts';

/** Findings a transaction: 100 less the counters (4), the fence and the check of the asset's place. */
const FINDINGS_PER_TRANSACTION = 93;
/** What DynamoDB takes. */
export const WRITES_PER_TRANSACTION = 100;
/** Transactions of one ingest under way at once. */
const PARALLEL_TRANSACTIONS = 2;
/** How often a change is decided anew because somebody else changed the finding meanwhile. */
const DECISIONS = 6;
/** What a scan of another branch found is kept this long (design 5). */
const BRANCH_FINDING_SECONDS = 90 * 24 * 3600;

/** Where an ingest writes, and the conditions that every transaction of it carries. */
export interface WriteScope {
  readonly orgId: string;
  readonly place: CountedPlace;
  /** Lease of the manifest, and the asset being where its counts go. */
  readonly guards: readonly Write[];
}

/** What becomes of findings, in order; null where nothing does. Asked again where somebody else was faster. */
export type Decision = (held: readonly FindingRecord[]) => Promise<readonly (FindingRecord | null)[]>;

export type FindingWriteStore = ReturnType<typeof createFindingWriteStore>;

/** What ingest writes: findings and their counters, always in one transaction. */
export function createFindingWriteStore(table: Table, counters: CounterStore) {
  /** The findings that exist of those asked for; one request for each 100. */
  async function readExisting(orgId: string, ids: readonly string[]): Promise<FindingRecord[]> {
    const items = await table.batchGet(ids.map((id) => findingKey(orgId, id)));
    return items.filter((item) => item !== null).map(parseFinding);
  }

  /** Decides and writes one transaction's worth; decides anew what somebody else changed meanwhile. */
  async function changeChunk(
    scope: WriteScope,
    known: readonly FindingRecord[],
    decide: Decision,
    marked: ReadonlySet<string>,
  ): Promise<FindingRecord[]> {
    let held = known;
    for (let attempt = 1; ; attempt += 1) {
      const nexts = await decide(held);
      const decided = held.map((record, place) => ({ held: record, next: settled(nexts[place]) }));
      const changes = decided.flatMap(({ held: from, next }) => (next ? [{ held: from, next }] : []));
      const marks = decided.flatMap(({ held: from, next }) => markWrites(next ?? from, marked.has(from.id)));
      const writes = () => [
        ...changes.map(({ held: from, next }) => replaceWrite(from, next, () => new StaleFinding())),
        ...marks,
        ...counters.changeWrites(scope.orgId, scope.place, findingDeltas(changes)),
        ...scope.guards,
      ];
      // Some bring a mark, or take it with them: two writes.
      if (writes().length > WRITES_PER_TRANSACTION) return changeHalves(scope, held, decide, marked);
      try {
        if (changes.length > 0 || marks.length > 0) await table.transact(writes);
        return decided.map(({ held: from, next }) => next ?? from);
      } catch (error) {
        if (!(error instanceof StaleFinding) || attempt === DECISIONS) throw error;
        held = await readExisting(
          scope.orgId,
          known.map(({ id }) => id),
        );
      }
    }
  }

  async function changeHalves(
    scope: WriteScope,
    held: readonly FindingRecord[],
    decide: Decision,
    marked: ReadonlySet<string>,
  ): Promise<FindingRecord[]> {
    const now: FindingRecord[] = [];
    for (const half of halvesOf(held)) now.push(...(await changeChunk(scope, half, decide, marked)));
    return now;
  }

  async function createChunk(scope: WriteScope, records: readonly FindingRecord[]): Promise<void> {
    const items = records.map(findingItem);
    const deltas = findingDeltas(records.map((next) => ({ held: null, next })));
    const writes = () => [
      ...items.map((Item): Write => ({ Put: { Item, ConditionExpression: 'attribute_not_exists(pk)' } })),
      ...counters.changeWrites(scope.orgId, scope.place, deltas),
      ...scope.guards,
    ];
    if (writes().length <= WRITES_PER_TRANSACTION) return table.transact(writes);
    // Policies put them into many projects.
    for (const half of halvesOf(records)) await createChunk(scope, half);
  }

  return {
    readExisting,

    /** New findings; the caller knows that none of them exists. */
    async createAll(scope: WriteScope, records: readonly FindingRecord[]): Promise<void> {
      await side(chunksOf(records, FINDINGS_PER_TRANSACTION), (chunk) => createChunk(scope, chunk));
    },

    /**
     * Changes findings as `decide` says, each conditional on the state that it was decided on.
     * @param marked those that have a mark for the next run; it goes where nothing needs it any more
     * @returns how the findings stand now, changed or not
     */
    async changeAll(
      scope: WriteScope,
      held: readonly FindingRecord[],
      decide: Decision,
      marked: ReadonlySet<string>,
    ): Promise<FindingRecord[]> {
      const now: FindingRecord[] = [];
      await side(chunksOf(held, FINDINGS_PER_TRANSACTION), async (chunk) => {
        now.push(...(await changeChunk(scope, chunk, decide, marked)));
      });
      return now;
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

function settled(next: FindingRecord | null | undefined): FindingRecord | null {
  return next ? closedAtHome(next) : null;
}

function halvesOf<T>(records: readonly T[]): T[][] {
  return chunksOf(records, Math.ceil(records.length / 2));
}

/** The mark that a finding has, or no longer has, for its scanner's next run. */
function markWrites(record: FindingRecord, marked: boolean): Write[] {
  const needed = needsRevisit(record);
  if (needed === marked) return [];
  const origin = originOf(record.scanner, record.tool);
  const Key = revisitKey(record.org_id, record.asset_id, origin, record.id);
  return [needed ? { Put: { Item: Key } } : { Delete: { Key } }];
}

/** A few at a time, side by side. */
async function side<T>(chunks: readonly T[], run: (chunk: T) => Promise<void>): Promise<void> {
  const waiting = chunks.values();
  const worker = async () => {
    for (const chunk of waiting) await run(chunk);
  };
  await Promise.all(Array.from({ length: PARALLEL_TRANSACTIONS }, worker));
}

/** Somebody changed the finding after it was read. */
export class StaleFinding extends Error {
  override readonly name = 'StaleFinding';
}
