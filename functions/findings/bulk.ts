import type * as z from 'zod';
import { BULK_FINDINGS, type findings as contract } from '#contract/operations/findings.ts';
import type { Attribution } from '#domain/actor.ts';
import { parseCell } from '#domain/cells.ts';
import { ServiceError } from '#domain/errors.ts';
import { toOpaque } from '#domain/ids.ts';
import { opensToPolicies } from '#domain/judgement.ts';
import { type FindingSort, toWords } from '#store/finding-order.ts';
import { type PlacedFinding, placeOf, TRIAGED_PER_TRANSACTION, type Triage } from '#store/finding-triage.ts';
import type { FindingRef } from '#store/findings.ts';
import { chunksOf } from '#store/table.ts';
import type { FindingDependencies } from './dependencies.ts';
import { readCursor, readFilter, type Selection } from './list-findings.ts';
import { judgeAnew } from './triage.ts';

type BulkResult = z.input<typeof contract.operations.bulkUpdateFindings.response.schema>;
type Outcome = BulkResult['results'][number]['outcome'];

/** Any order would do; this one starts with what matters most. */
const ORDER: FindingSort = '-severity';
/** Transactions under way at once. */
const PARALLEL = 4;

interface Chosen {
  readonly refs: readonly FindingRef[];
  readonly total: number;
  readonly nextCursor: string | null;
}

export function chooseByIds(ids: readonly string[]): Chosen {
  const distinct = [...new Set(ids)];
  const refs = distinct.map((id) => ({ id, assetId: null, scanner: 'semgrep' as const, record: null }));
  return { refs, total: distinct.length, nextCursor: null };
}

/** The next findings that a filter matches: as many as one call takes. */
export async function chooseByFilter(
  orgId: string,
  selection: Selection,
  cursor: string | undefined,
  dependencies: FindingDependencies,
): Promise<Chosen> {
  const filter = await readFilter(orgId, selection, dependencies);
  const { cursors } = dependencies;
  const after = await readCursor(orgId, ORDER, cursor, cursors, 'validation_error');
  const window = { skip: 0, take: BULK_FINDINGS, after };
  const { placed, total } = await dependencies.findings.listPlaced(orgId, filter, ORDER, window);
  const last = placed.at(-1);
  return {
    refs: placed.map((one) => ({ ...one, scanner: parseCell(one.cell).scanner })),
    total,
    nextCursor:
      placed.length === BULK_FINDINGS && last ? await cursors.seal(orgId, toWords(ORDER, last)) : null,
  };
}

/** The same decision for many findings, several of one asset a transaction; each has an outcome of its own. */
export async function triageMany(
  orgId: string,
  chosen: Chosen,
  triage: Triage,
  attribution: Attribution,
  { findings, triage: store, reevaluations }: FindingDependencies,
): Promise<BulkResult> {
  const { records, context } = await findings.readPage(orgId, chosen.refs);
  const targets = records.flatMap((record): PlacedFinding[] => {
    const asset = context.assets.get(record.asset_id);
    return asset ? [{ record, asset: placeOf(asset) }] : [];
  });
  const byAsset = Map.groupBy(targets, ({ asset }) => asset.id);
  const chunks = [...byAsset.values()].flatMap((own) => chunksOf(own, TRIAGED_PER_TRANSACTION));
  const outcomes = new Map<string, Outcome>();
  const opened = new Set<string>();
  const waiting = chunks.values();
  const work = async () => {
    for (const chunk of waiting)
      for (const [id, outcome] of await changeChunk(chunk)) outcomes.set(id, outcome);
  };
  async function changeChunk(chunk: readonly PlacedFinding[]): Promise<[string, Outcome][]> {
    try {
      const now = await store.changeTogether(orgId, chunk, triage, 'finding.update', attribution);
      for (const [index, { record }] of chunk.entries()) {
        const next = now[index];
        if (next && opensToPolicies(record, next)) opened.add(record.asset_id);
      }
      return chunk.map(({ record }, index) => [record.id, outcomeOf(record.revision, now[index])]);
    } catch (error) {
      // Others were faster, or the store is busy: these are told as they are, the rest goes on.
      if (!(error instanceof ServiceError) || !['conflict', 'service_unavailable'].includes(error.code))
        throw error;
      return chunk.map(({ record }) => [record.id, 'conflict']);
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, work));
  for (const assetId of opened) await judgeAnew(orgId, assetId, reevaluations);
  return resultOf(chosen, outcomes);
}

function outcomeOf(revision: number, now: { readonly revision: number } | null | undefined): Outcome {
  if (!now) return 'not_found';
  return now.revision === revision ? 'unchanged' : 'updated';
}

function resultOf({ refs, total, nextCursor }: Chosen, outcomes: ReadonlyMap<string, Outcome>): BulkResult {
  const results = refs.map(({ id }) => ({
    id: toOpaque('finding', id),
    outcome: outcomes.get(id) ?? ('not_found' as const),
  }));
  const count = (...wanted: Outcome[]) => results.filter(({ outcome }) => wanted.includes(outcome)).length;
  return {
    results,
    updated: count('updated'),
    unchanged: count('unchanged'),
    failed: count('not_found', 'conflict'),
    total,
    next_cursor: nextCursor,
  };
}
