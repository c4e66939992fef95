import * as z from 'zod';
import type { CellCounts } from '#domain/cells.ts';
import { parseCell } from '#domain/cells.ts';
import { type Origin, originOf } from '#domain/origin.ts';
import type { Scanner, Severity } from '#domain/vocabulary.ts';
import { scoreShard, type VulnerabilityScore } from '#domain/vulnerability-scores.ts';
import type { CounterStore } from './counters.ts';
import type { FindingFilter, FindingSort } from './finding-order.ts';
import { createFindingPages, type Window } from './finding-pages.ts';
import { type FindingRecord, parseFinding } from './finding-record.ts';
import { assetKey, branchFindingsPartition, findingKey, manifestKey, orgKey, scoresKey } from './keys.ts';
import { SlaDays } from './organizations.ts';
import type { Item, Key, Table } from './table.ts';
import { scoreIn } from './vulnerability-scores.ts';

/** A page of findings in order, with what they are shown with. */
export interface FindingPage {
  readonly records: FindingRecord[];
  readonly context: FindingContext;
}

/** What findings are shown with, and do not hold themselves. */
export interface FindingContext {
  readonly assets: ReadonlyMap<string, Item>;
  /** By `headName` the scan that saw them last. */
  readonly heads: ReadonlyMap<string, string | null>;
  readonly slaDays: Readonly<Record<Severity, number | null>>;
  readonly scores: ReadonlyMap<string, VulnerabilityScore>;
}

/** What is known of a finding before it is read; `cveId` undefined: not known yet. */
export interface FindingRef {
  readonly id: string;
  readonly assetId: string | null;
  readonly scanner: Scanner;
  /** Not known where an index told of the finding: then most likely the scanner's own. */
  readonly origin?: Origin;
  readonly cveId?: string | null | undefined;
  readonly record: FindingRecord | null;
}

export type FindingStore = ReturnType<typeof createFindingStore>;

/** Reads of findings: by id, by list, and with what they are shown with. */
export function createFindingStore(table: Table, counters: CounterStore) {
  const pages = createFindingPages(table, counters);

  async function getMany(orgId: string, ids: readonly string[]): Promise<FindingRecord[]> {
    const items = await table.batchGet(ids.map((id) => findingKey(orgId, id)));
    return items.filter((item) => item !== null).map(parseFinding);
  }

  /**
   * Findings in the order of the references, those that are gone (or whose asset is being deleted) left
   * out, with all that showing them needs: one request where a reference tells its asset and CVE or brings
   * its finding, one or two more where it does not, or where a foreign tool found it.
   */
  async function readPage(orgId: string, refs: readonly FindingRef[]): Promise<FindingPage> {
    const unplaced = refs.filter((ref) => ref.record === null && ref.assetId === null);
    const early = await getMany(
      orgId,
      unplaced.map(({ id }) => id),
    );
    const fetched = new Map(early.map((record) => [record.id, record]));
    const known = refs.map((ref): FindingRef => {
      const record = ref.record ?? fetched.get(ref.id) ?? null;
      if (!record) return ref;
      const origin = originOf(record.scanner, record.tool);
      return { ...ref, record, origin, assetId: record.asset_id, cveId: record.cve_id };
    });
    const wanted = wantedKeys(orgId, known);
    const items = await table.batchGet(wanted.keys);
    const itemAt = new Map(wanted.keys.map((key, index) => [nameOf(key), items[index] ?? null]));
    const itemOf = (key: Key) => itemAt.get(nameOf(key)) ?? null;
    const records = known.flatMap((ref) => {
      const item = ref.record === null && ref.assetId !== null ? itemOf(findingKey(orgId, ref.id)) : null;
      const record = ref.record ?? (item && parseFinding(item));
      return record && itemOf(assetKey(orgId, record.asset_id)) ? [record] : [];
    });
    const cves = [...new Set(records.map(({ cve_id }) => cve_id))].filter((id) => id !== null);
    const heads = headsOf(orgId, records);
    // A scan's findings come from manifests, which do not know their CVEs; an index knows no tools.
    const late = [...cves.map((id) => scoresKey(scoreShard(id))), ...heads.values()].filter(
      (key) => !itemAt.has(nameOf(key)),
    );
    for (const [index, item] of (await table.batchGet(late)).entries()) {
      const key = late[index];
      if (key) itemAt.set(nameOf(key), item);
    }
    const scores = new Map<string, VulnerabilityScore>();
    for (const id of cves) {
      const score = scoreIn(itemOf(scoresKey(scoreShard(id))), id);
      if (score) scores.set(id, score);
    }
    return {
      records,
      context: {
        assets: new Map(wanted.assetIds.flatMap((id) => entry(id, itemOf(assetKey(orgId, id))))),
        heads: new Map(Array.from(heads, ([name, key]) => [name, textOrNull(itemOf(key)?.last_scan_id)])),
        slaDays: slaDaysOf(itemOf(orgKey(orgId))),
        scores,
      },
    };
  }

  return {
    getMany,

    async get(orgId: string, findingId: string): Promise<FindingRecord | null> {
      const item = await table.get(findingKey(orgId, findingId));
      return item && parseFinding(item);
    },

    /** Cells of the findings that exist of those asked for: a slim read, one request for each 100. */
    async countCells(orgId: string, ids: readonly string[]): Promise<CellCounts> {
      const items = await table.batchGet(
        ids.map((id) => findingKey(orgId, id)),
        ['gsi1sk'],
      );
      const counts = new Map<string, number>();
      for (const item of items) {
        if (!item) continue;
        const cell = String(item.gsi1sk).slice(0, 3);
        counts.set(cell, (counts.get(cell) ?? 0) + 1);
      }
      return counts;
    },

    /** A page of ids in order, and the exact total. */
    async listIds(
      orgId: string,
      filter: FindingFilter,
      sort: FindingSort,
      skip: number,
      take: number,
    ): Promise<{ ids: string[]; total: number }> {
      const { placed, total } = await pages.read(orgId, filter, sort, { skip, take, after: null });
      return { ids: placed.map(({ id }) => id), total };
    },

    /** Positions and what the index told, for who goes through a whole list page by page. */
    listPlaced: pages.read,

    /** A page of findings with all that showing them needs, and the exact total; three requests for a usual page. */
    async listPage(
      orgId: string,
      filter: FindingFilter,
      sort: FindingSort,
      window: Window,
    ): Promise<FindingPage & { total: number; placed: Awaited<ReturnType<typeof pages.read>>['placed'] }> {
      const { placed, total } = await pages.read(orgId, filter, sort, window);
      const refs = placed.map((one) => ({ ...one, scanner: parseCell(one.cell).scanner }));
      return { ...(await readPage(orgId, refs)), total, placed };
    },

    readPage,

    /** Findings that are at hand, with what they are shown with; one request. */
    async readContext(orgId: string, records: readonly FindingRecord[]): Promise<FindingPage> {
      return readPage(
        orgId,
        records.map((record) => ({
          id: record.id,
          assetId: record.asset_id,
          scanner: record.scanner,
          record,
        })),
      );
    },

    /** The organization's days to the due date, by severity. */
    async readSlaDays(orgId: string): Promise<FindingContext['slaDays']> {
      return slaDaysOf(await table.get(orgKey(orgId)));
    },

    /** Findings of a scan of another branch, which belong to that scan alone. */
    async listBranchFindings(orgId: string, scanId: string): Promise<FindingRecord[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :partition',
        ExpressionAttributeValues: { ':partition': branchFindingsPartition(orgId, scanId) },
        ConsistentRead: true,
      });
      return items.map(parseFinding);
    },
  };
}

/** What has to be read to show findings: those that are not at hand, their assets, heads, scores, and the deadlines. */
function wantedKeys(orgId: string, refs: readonly FindingRef[]) {
  const absent = refs.filter((ref) => ref.record === null && ref.assetId !== null);
  const assetIds = [...new Set(refs.map(({ assetId }) => assetId))].filter((id) => id !== null);
  const heads = refs.flatMap(({ assetId, scanner, origin = scanner }) =>
    assetId === null ? [] : [manifestKey(orgId, assetId, origin)],
  );
  const cves = new Set(refs.map(({ cveId }) => cveId).filter((id) => typeof id === 'string'));
  const keys = [
    orgKey(orgId),
    ...absent.map(({ id }) => findingKey(orgId, id)),
    ...assetIds.map((id) => assetKey(orgId, id)),
    ...heads,
    ...[...cves].map((id) => scoresKey(scoreShard(id))),
  ];
  return { keys: refs.length === 0 ? [] : keys, assetIds };
}

/** What names a finding's manifest in its context: asset and origin. */
export function headName({ asset_id, scanner, tool }: FindingRecord): string {
  return `${asset_id}#${originOf(scanner, tool)}`;
}

function headsOf(orgId: string, records: readonly FindingRecord[]): Map<string, Key> {
  return new Map(
    records.map((record) => [
      headName(record),
      manifestKey(orgId, record.asset_id, originOf(record.scanner, record.tool)),
    ]),
  );
}

function entry(id: string, item: Item | null): [string, Item][] {
  return item ? [[id, item]] : [];
}

function nameOf({ pk, sk }: Key): string {
  return `${pk}\n${sk}`;
}

function slaDaysOf(organization: Item | null): FindingContext['slaDays'] {
  const settings = z.object({ settings: z.object({ sla_days: SlaDays }) }).safeParse(organization);
  const none = { critical: null, high: null, medium: null, low: null, info: null };
  return settings.success ? settings.data.settings.sla_days : none;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
