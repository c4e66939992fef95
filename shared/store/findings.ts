import { type Cell, type CellCounts, parseCell, severityRank } from '#domain/cells.ts';
import { timestamp } from '#domain/clock.ts';
import type { FindingStatus, Scanner, Severity } from '#domain/vocabulary.ts';
import type { CounterStore } from './counters.ts';
import { type FindingRecord, parseFinding } from './finding-record.ts';
import {
  assetFindingsPartition,
  assetKey,
  branchFindingsPartition,
  cveFindingsPartition,
  findingKey,
  findingsPartition,
  manifestKey,
} from './keys.ts';
import type { Item, Table } from './table.ts';

export type FindingSort = 'severity' | '-severity' | 'created_at' | '-created_at';

export interface FindingFilter {
  readonly severity?: readonly Severity[] | undefined;
  readonly status?: readonly FindingStatus[] | undefined;
  readonly scanner?: readonly Scanner[] | undefined;
  readonly cveId?: string | undefined;
  /** Of findings of these assets alone: an asset's own, or those of a project. */
  readonly assetIds?: readonly string[] | undefined;
  /** Milliseconds; both inclusive. */
  readonly createdFrom?: number | undefined;
  readonly createdTo?: number | undefined;
}

/** A finding's place in an index: all that sorting needs. */
interface Position {
  readonly id: string;
  readonly cell: string;
  readonly createdAt: string;
  /** Where the index tells it: it saves asking the finding. */
  readonly assetId: string | null;
  /** The finding itself, where the index held it whole. */
  readonly record: FindingRecord | null;
}

/** A page of findings in order, with what they are shown with. */
export interface FindingPage {
  readonly records: FindingRecord[];
  readonly context: FindingContext;
}

/** The assets of findings, and by `asset#scanner` the scan that saw them last. */
export interface FindingContext {
  readonly assets: Item[];
  readonly heads: ReadonlyMap<string, string | null>;
}

/** What is known of a finding before it is read. */
export interface FindingRef {
  readonly id: string;
  readonly assetId: string | null;
  readonly scanner: Scanner;
  readonly record: FindingRecord | null;
}

/** Up to here a page is read whole from the index; deeper ones read keys first. */
const READ_WHOLE = 200;

/** One run of keys in an index: a cell of the organization, an asset or a CVE. */
interface Source {
  readonly index: 'gsi1' | 'gsi2' | 'gsi3';
  readonly partition: string;
  readonly cell: string;
  /** The asset that all of its findings are of. */
  readonly assetId: string | null;
}

export type FindingStore = ReturnType<typeof createFindingStore>;

/** Reads of findings: lists by index and counters, never the whole organization. */
export function createFindingStore(table: Table, counters: CounterStore) {
  /** Keys of a source in order of creation, at most `limit`. */
  async function positions(
    source: Source,
    filter: FindingFilter,
    newestFirst: boolean,
    limit: number,
    whole: boolean,
  ): Promise<Position[]> {
    const found: Position[] = [];
    let next: Item | undefined;
    do {
      const page = await table.queryPage({
        ...sourceQuery(source, filter),
        ...(whole && { ProjectionExpression: undefined }),
        ScanIndexForward: !newestFirst,
        Limit: limit - found.length,
        ExclusiveStartKey: next,
      });
      for (const item of page.items)
        found.push({
          ...parsePosition(String(item[`${source.index}sk`])),
          ...(source.assetId !== null && { assetId: source.assetId }),
          record: whole ? parseFinding(item) : null,
        });
      next = page.next;
    } while (next && found.length < limit);
    return found;
  }

  /** Cells that match, with their exact counts, of each index partition that the filter reaches. */
  async function matchingSources(
    orgId: string,
    filter: FindingFilter,
  ): Promise<{ source: Source; count: number }[]> {
    const sourcesOf = (
      index: Source['index'],
      partition: string,
      assetId: string | null,
      counts: CellCounts,
    ) =>
      [...counts]
        .filter(([cell, count]) => count > 0 && matchesCell(parseCell(cell), filter))
        .map(([cell, count]) => ({ source: { index, partition, cell, assetId }, count }));
    if (!filter.assetIds)
      return sourcesOf('gsi1', findingsPartition(orgId), null, await counters.readOrganization(orgId));
    const all = await counters.readAssets(orgId, filter.assetIds);
    return filter.assetIds.flatMap((assetId, index) =>
      sourcesOf('gsi2', assetFindingsPartition(orgId, assetId), assetId, all[index] ?? new Map()),
    );
  }

  async function listByIndex(
    orgId: string,
    filter: FindingFilter,
    sort: FindingSort,
    skip: number,
    take: number,
  ) {
    const matching = await matchingSources(orgId, filter);
    const aged = filter.createdFrom !== undefined || filter.createdTo !== undefined;
    const counted = aged
      ? await Promise.all(
          matching.map(async ({ source }) => ({
            source,
            count: await table.count(sourceQuery(source, filter)),
          })),
        )
      : matching;
    const total = counted.reduce((sum, { count }) => sum + count, 0);
    const page: Position[] = [];
    let toSkip = skip;
    // Whole groups are skipped by their counts; within one, cells are merged by time of creation.
    for (const group of groupsOf(counted, sort)) {
      const size = group.reduce((sum, { count }) => sum + count, 0);
      if (toSkip >= size) {
        toSkip -= size;
        continue;
      }
      const wanted = toSkip + take - page.length;
      const newestFirst = sort !== 'created_at';
      const lists = await Promise.all(
        group.map(({ source, count }) =>
          positions(
            source,
            filter,
            newestFirst,
            Math.min(wanted, count),
            source.index === 'gsi1' && wanted <= READ_WHOLE,
          ),
        ),
      );
      page.push(...lists.flat().sort(byCreation(newestFirst)).slice(toSkip, wanted));
      toSkip = 0;
      if (page.length >= take) break;
    }
    return { positions: page.slice(0, take), total };
  }

  /** A CVE's findings are few: its keys are read whole, filtered and counted. */
  async function listByCve(
    orgId: string,
    cveId: string,
    filter: FindingFilter,
    sort: FindingSort,
    skip: number,
    take: number,
  ) {
    const items = await table.queryAll({
      IndexName: 'gsi3',
      KeyConditionExpression: 'gsi3pk = :partition',
      ExpressionAttributeValues: { ':partition': cveFindingsPartition(orgId, cveId) },
    });
    const assets = filter.assetIds && new Set(filter.assetIds);
    const matching = items
      .map((item) => parsePosition(String(item.gsi3sk)))
      .filter(
        (position) => matchesCell(parseCell(position.cell), filter) && matchesAge(position.createdAt, filter),
      )
      .filter((position) => !assets || (position.assetId !== null && assets.has(position.assetId)))
      .sort(bySort(sort));
    return { positions: matching.slice(skip, skip + take), total: matching.length };
  }

  async function getMany(orgId: string, ids: readonly string[]): Promise<FindingRecord[]> {
    const items = await table.batchGet(ids.map((id) => findingKey(orgId, id)));
    return items.filter((item) => item !== null).map(parseFinding);
  }

  async function listPositions(
    orgId: string,
    filter: FindingFilter,
    sort: FindingSort,
    skip: number,
    take: number,
  ) {
    if (filter.assetIds?.length === 0) return { positions: [], total: 0 };
    return filter.cveId === undefined
      ? listByIndex(orgId, filter, sort, skip, take)
      : listByCve(orgId, filter.cveId, filter, sort, skip, take);
  }

  /**
   * Findings in the order of the references, those that are gone left out, with their assets and the heads
   * of their manifests: one request where a reference tells its asset or brings its finding, else two.
   */
  async function readPage(orgId: string, refs: readonly FindingRef[]): Promise<FindingPage> {
    const unknown = refs.filter((ref) => ref.record === null && ref.assetId === null);
    const fetched = new Map(
      (
        await getMany(
          orgId,
          unknown.map(({ id }) => id),
        )
      ).map((record) => [record.id, record]),
    );
    const known = refs.map((ref) => {
      const record = ref.record ?? fetched.get(ref.id) ?? null;
      return { ...ref, record, assetId: record?.asset_id ?? ref.assetId };
    });
    const absent = known.filter((ref) => ref.record === null && ref.assetId !== null);
    const assetIds = [...new Set(known.map(({ assetId }) => assetId))].filter((id) => id !== null);
    const pairs = [
      ...new Map(
        known.flatMap((ref) =>
          ref.assetId === null
            ? []
            : [[`${ref.assetId}#${ref.scanner}`, { assetId: ref.assetId, scanner: ref.scanner }] as const],
        ),
      ).entries(),
    ];
    const items = await table.batchGet([
      ...absent.map(({ id }) => findingKey(orgId, id)),
      ...assetIds.map((id) => assetKey(orgId, id)),
      ...pairs.map(([, { assetId, scanner }]) => manifestKey(orgId, assetId, scanner)),
    ]);
    const [assetsFrom, headsFrom] = [absent.length, absent.length + assetIds.length];
    for (const [index, { id }] of absent.entries()) {
      const item = items[index];
      if (item) fetched.set(id, parseFinding(item));
    }
    const heads = new Map(
      pairs.map(([name], index) => {
        const seen = items[headsFrom + index]?.last_scan_id;
        return [name, typeof seen === 'string' ? seen : null] as const;
      }),
    );
    return {
      records: known.map((ref) => ref.record ?? fetched.get(ref.id)).filter((record) => record !== undefined),
      context: { assets: items.slice(assetsFrom, headsFrom).filter((item) => item !== null), heads },
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
        const { cell } = parsePosition(String(item.gsi1sk));
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
      const { positions, total } = await listPositions(orgId, filter, sort, skip, take);
      return { ids: positions.map(({ id }) => id), total };
    },

    /** A page of findings with all that showing them needs, and the exact total; three requests for a usual page. */
    async listPage(
      orgId: string,
      filter: FindingFilter,
      sort: FindingSort,
      skip: number,
      take: number,
    ): Promise<FindingPage & { total: number }> {
      const { positions, total } = await listPositions(orgId, filter, sort, skip, take);
      const refs = positions.map((position) => ({ ...position, scanner: parseCell(position.cell).scanner }));
      return { ...(await readPage(orgId, refs)), total };
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

/** In memory, for what is at hand whole (a batch by id, a scan's findings). */
export function matchesFilter(record: FindingRecord, filter: FindingFilter): boolean {
  return (
    matchesCell(record, filter) &&
    matchesAge(record.created_at, filter) &&
    (filter.cveId === undefined || record.cve_id === filter.cveId) &&
    (!filter.assetIds || filter.assetIds.includes(record.asset_id))
  );
}

export function sortFindings<T extends { id: string; severity: Severity; created_at: string }>(
  records: readonly T[],
  sort: FindingSort,
): T[] {
  return records.toSorted(
    (a, b) =>
      compareBySort(sort, severityRank(a.severity) - severityRank(b.severity), a.created_at, b.created_at) ||
      compareIds(sort, a.id, b.id),
  );
}

function sourceQuery(source: Source, filter: FindingFilter) {
  // Times sort as text; '~' sorts after every character of an id.
  const from = filter.createdFrom === undefined ? '' : timestamp(filter.createdFrom);
  const to = filter.createdTo === undefined ? '~' : `${timestamp(filter.createdTo)}~`;
  return {
    IndexName: source.index,
    KeyConditionExpression: `${source.index}pk = :partition AND ${source.index}sk BETWEEN :from AND :to`,
    ExpressionAttributeValues: {
      ':partition': source.partition,
      ':from': `${source.cell}#${from}`,
      ':to': `${source.cell}#${to}`,
    },
    ProjectionExpression: `${source.index}sk`,
  };
}

function parsePosition(sortKey: string): Position {
  const [cell = '', createdAt = '', id = '', assetId = null] = sortKey.split('#');
  return { cell, createdAt, id, assetId, record: null };
}

function matchesCell(cell: Cell, filter: FindingFilter): boolean {
  return (
    (!filter.severity || filter.severity.includes(cell.severity)) &&
    (!filter.status || filter.status.includes(cell.status)) &&
    (!filter.scanner || filter.scanner.includes(cell.scanner))
  );
}

function matchesAge(createdAt: string, filter: FindingFilter): boolean {
  const time = Date.parse(createdAt);
  return (
    (filter.createdFrom === undefined || time >= filter.createdFrom) &&
    (filter.createdTo === undefined || time <= filter.createdTo)
  );
}

/** By severity: a group for each, critical first or last; by time: everything is one group. */
function groupsOf<T extends { source: Source }>(sources: readonly T[], sort: FindingSort): T[][] {
  if (sort.endsWith('created_at')) return sources.length > 0 ? [[...sources]] : [];
  const groups = Map.groupBy(sources, ({ source }) => source.cell[0] ?? '');
  const order = [...groups.keys()].sort();
  return (sort === '-severity' ? order : order.reverse()).map((severity) => groups.get(severity) ?? []);
}

function byCreation(newestFirst: boolean) {
  return (a: Position, b: Position) =>
    newestFirst
      ? compare(b.createdAt, a.createdAt) || compare(b.id, a.id)
      : compare(a.createdAt, b.createdAt) || compare(a.id, b.id);
}

function bySort(sort: FindingSort) {
  return (a: Position, b: Position) =>
    compareBySort(sort, Number(a.cell[0]) - Number(b.cell[0]), a.createdAt, b.createdAt) ||
    compareIds(sort, a.id, b.id);
}

/** `-severity` is critical first; ties go newest first, as the default sort has it (design 10). */
function compareBySort(sort: FindingSort, bySeverity: number, createdA: string, createdB: string): number {
  if (sort === 'created_at') return compare(createdA, createdB);
  if (sort === '-created_at') return compare(createdB, createdA);
  return (sort === '-severity' ? bySeverity : -bySeverity) || compare(createdB, createdA);
}

/** One ingest gives thousands of findings one time: their ids must run as the index is read, or pages overlap. */
function compareIds(sort: FindingSort, a: string, b: string): number {
  return sort === 'created_at' ? compare(a, b) : compare(b, a);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
