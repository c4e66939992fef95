import { type CellCounts, parseCell } from '#domain/cells.ts';
import { timestamp } from '#domain/clock.ts';
import type { Route } from '#domain/placement.ts';
import type { FindingPlace } from './counter-items.ts';
import type { CounterStore } from './counters.ts';
import { type DeletingAssets, parseDeletingAssets } from './deleting-assets.ts';
import {
  bySort,
  createdRange,
  type FindingFilter,
  type FindingSort,
  isIn,
  matchesCell,
  type Position,
  wasCreatedInRange,
} from './finding-order.ts';
import {
  assetFindingsPartition,
  cveFindingsPartition,
  deletingAssetsKey,
  findingsPartition,
} from './keys.ts';
import type { Item, Table } from './table.ts';

/** A finding of a page, with what its index told of it: that is read with it in one request. */
export interface Placed extends Position {
  readonly assetId: string;
  /** Where a policy put it; null: in its asset's project. */
  readonly route: Route | null;
  readonly cveId: string | null;
  readonly record: null;
}

/** Which part of a list: by number, or from where the last page ended. */
export interface Window {
  readonly skip: number;
  readonly take: number;
  readonly after: Position | null;
}

/** Of more runs of keys than this, a merge costs more than passing the organization's other findings. */
const MANY_SOURCES = 24;
/** Keys of the organization that a page of a project may pass at most; about two megabytes. */
const MAX_PASSED = 8000;

/** One run of keys in an index: a cell of the organization or of an asset, between two times. */
interface Source {
  readonly index: 'gsi1' | 'gsi2';
  readonly partition: string;
  readonly cell: string;
  readonly count: number;
  /** Bounds of the sort key, both inclusive. */
  readonly from: string;
  readonly to: string;
}

/** Findings of an asset in one place: they are an index partition. */
interface Part {
  readonly assetId: string;
  readonly route: Route | null;
  readonly counts: CellCounts;
}

/** Pages of findings, told by counters and indexes: never by reading what is not on them. */
export function createFindingPages(table: Table, counters: CounterStore) {
  /** The organization's cells that match, with their exact counts; and what of their keys counts no more. */
  async function organizationSources(orgId: string, filter: FindingFilter) {
    const { counts, item } = await counters.readOrganizationWith(orgId, deletingAssetsKey(orgId));
    const deleting = parseDeletingAssets(item);
    return { sources: sourcesIn('gsi1', findingsPartition(orgId), counts, filter), deleting };
  }

  /** The same of each place that the filter names; of many, the organization's beside them. */
  async function placeSources(orgId: string, named: readonly FindingPlace[], filter: FindingFilter) {
    const [parts, organization] = await Promise.all([
      readParts(orgId, named),
      named.length > 1 || named.some(isElsewhere) ? organizationSources(orgId, filter) : null,
    ]);
    // What policies put elsewhere of an asset that is being deleted may be counted for a moment more.
    const deleting = organization?.deleting ?? NONE;
    const own = parts
      .filter(({ assetId }) => !deleting.has(assetId))
      .flatMap(({ assetId, route, counts }) =>
        sourcesIn('gsi2', assetFindingsPartition(orgId, assetId, route), counts, filter),
      );
    return { own, whole: organization?.sources ?? [], deleting: NONE };
  }

  /** The parts of the index that places are, with their counts; a request more for a whole asset that has others. */
  async function readParts(orgId: string, places: readonly FindingPlace[]): Promise<Part[]> {
    const whole = places.filter(({ part }) => part === 'all').map(({ assetId }) => assetId);
    const single = places.flatMap(({ assetId, part }) => (part === 'all' ? [] : [{ assetId, part }]));
    const [ofAssets, ofSingle] = await Promise.all([
      counters.readAssetCounts(orgId, whole),
      counters.readPlaces(orgId, single),
    ]);
    const parts = whole.map(async (assetId, index): Promise<Part[]> => {
      const counts = ofAssets[index];
      if (!counts) return [];
      const routed = counts.elsewhere.size > 0 ? await counters.readRouted(orgId, assetId) : [];
      return [
        { assetId, route: null, counts: counts.own },
        ...Array.from(routed, ([route, there]) => ({ assetId, route, counts: there })),
      ];
    });
    return [
      ...single.map(({ assetId, part }, index) => ({
        assetId,
        route: part,
        counts: ofSingle[index] ?? new Map(),
      })),
      ...(await Promise.all(parts)).flat(),
    ];
  }

  /** Counters can't tell of times: where these are bounded, the index counts keys between its two ends. */
  async function countExactly(sources: readonly Source[], deleting: DeletingAssets): Promise<Source[]> {
    const count = async (source: Source) =>
      deleting.size === 0
        ? table.count(rangeQuery(source))
        : (await readWhere(source, isLeft(deleting), true, Number.POSITIVE_INFINITY)).length;
    const counted = await Promise.all(
      sources.map(async (source) =>
        isWholeCell(source) ? source : { ...source, count: await count(source) },
      ),
    );
    return counted.filter((source) => source.count > 0);
  }

  /** Findings of a source in order of creation. */
  async function readSource(
    source: Source,
    newestFirst: boolean,
    { skip, take }: { skip: number; take: number },
    deleting: DeletingAssets,
  ): Promise<Placed[]> {
    if (deleting.size > 0)
      return (await readWhere(source, isLeft(deleting), newestFirst, skip + take)).slice(skip, skip + take);
    const query = { ...rangeQuery(source), ScanIndexForward: !newestFirst };
    // What is skipped is counted, which is a third of the work of reading it.
    const start = skip > 0 ? await table.skip(query, skip) : undefined;
    if (skip > 0 && !start) return [];
    const items = await table.queryFirst(
      { ...query, ProjectionExpression: `${source.index}sk`, ExclusiveStartKey: start },
      take,
    );
    return items.map((item) => placedAt(String(item[`${source.index}sk`])));
  }

  /** Findings of several sources merged by time of creation: up to there each has to be read. */
  async function readGroup(
    group: readonly Source[],
    sort: FindingSort,
    { skip, take }: { skip: number; take: number },
    deleting: DeletingAssets,
  ): Promise<Placed[]> {
    const newestFirst = sort !== 'created_at';
    const [only] = group;
    if (only && group.length === 1) return readSource(only, newestFirst, { skip, take }, deleting);
    const lists = await Promise.all(
      group.map((source) =>
        readSource(source, newestFirst, { skip: 0, take: Math.min(skip + take, source.count) }, deleting),
      ),
    );
    return lists
      .flat()
      .sort(bySort(sort))
      .slice(skip, skip + take);
  }

  /** The first findings of a source that are wanted, passing the others. */
  async function readWhere(
    source: Source,
    isWanted: (place: Placed) => boolean,
    newestFirst: boolean,
    wanted: number,
  ): Promise<Placed[]> {
    const found: Placed[] = [];
    let next: Item | undefined;
    do {
      const page = await table.queryPage({
        ...rangeQuery(source),
        ScanIndexForward: !newestFirst,
        ProjectionExpression: `${source.index}sk`,
        ExclusiveStartKey: next,
        Limit: 1000,
      });
      for (const item of page.items) {
        const place = placedAt(String(item[`${source.index}sk`]));
        if (isWanted(place)) found.push(place);
      }
      next = page.next;
    } while (next && found.length < wanted);
    return found;
  }

  /**
   * Findings of many assets, read from the organization's index: for a project of hundreds of assets, where
   * each would be a query of its own. Null where too much of others would have to be passed.
   */
  async function readThrough(
    whole: readonly Source[],
    group: readonly Source[],
    places: readonly FindingPlace[],
    sort: FindingSort,
    { skip, take, after }: Window,
  ): Promise<Placed[] | null> {
    const size = (sources: readonly Source[]) => sources.reduce((sum, { count }) => sum + count, 0);
    // Of the whole organization, or of one asset, there is nothing to pass: the merge is all there is.
    if (places.length <= 1 || group.length <= MANY_SOURCES) return null;
    const cells = new Set(group.map(({ cell }) => cell));
    const passing = remainder(
      whole.filter(({ cell }) => cells.has(cell)),
      sort,
      after,
    );
    if (((skip + take) * size(passing)) / size(group) > MAX_PASSED) return null;
    const isWanted = isIn(places);
    const lists = await Promise.all(
      passing.map((source) => readWhere(source, isWanted, sort !== 'created_at', skip + take)),
    );
    return lists
      .flat()
      .sort(bySort(sort))
      .slice(skip, skip + take);
  }

  async function listByIndex(orgId: string, filter: FindingFilter, sort: FindingSort, window: Window) {
    const { own, whole, deleting } = filter.places
      ? await placeSources(orgId, filter.places, filter)
      : await organizationSources(orgId, filter).then(({ sources, deleting }) => ({
          own: sources,
          whole: [],
          deleting,
        }));
    const sources = await countExactly(own, deleting);
    const total = sources.reduce((sum, { count }) => sum + count, 0);
    const groups = groupsOf(sources, sort).map((group) => remainder(group, sort, window.after));
    const page: Placed[] = [];
    let toSkip = window.skip;
    // Whole groups are skipped by their counts; within one, cells are merged by time of creation.
    for (const group of groups) {
      const size = group.reduce((sum, { count }) => sum + count, 0);
      if (window.after === null && toSkip >= size) {
        toSkip -= size;
        continue;
      }
      const part = { ...window, skip: toSkip, take: window.take - page.length };
      const through = await readThrough(whole, group, filter.places ?? [], sort, part);
      page.push(...(through ?? (await readGroup(group, sort, part, deleting))));
      toSkip = 0;
      if (page.length >= window.take) break;
    }
    return { placed: page, total };
  }

  /** A CVE's findings are few: its keys are read whole, filtered and counted. */
  async function listByCve(
    orgId: string,
    cveId: string,
    filter: FindingFilter,
    sort: FindingSort,
    { skip, take, after }: Window,
  ) {
    const [items, deletingItem] = await Promise.all([
      table.queryAll({
        IndexName: 'gsi3',
        KeyConditionExpression: 'gsi3pk = :partition',
        ExpressionAttributeValues: { ':partition': cveFindingsPartition(orgId, cveId) },
      }),
      table.get(deletingAssetsKey(orgId)),
    ]);
    const isKept = isLeft(parseDeletingAssets(deletingItem));
    const isWanted = isIn(filter.places);
    const matching = items
      .map((item) => ({ ...placedAt(String(item.gsi3sk)), cveId }))
      .filter(({ cell, createdAt }) => {
        const parsed = parseCell(cell);
        return matchesCell(parsed, filter) && wasCreatedInRange(parsed, createdAt, filter);
      })
      .filter((place) => isKept(place) && isWanted(place))
      .sort(bySort(sort));
    const rest = after ? matching.filter((one) => bySort(sort)(after, one) < 0) : matching;
    return { placed: rest.slice(skip, skip + take), total: matching.length };
  }

  return {
    /** The findings of a page in order, and the exact total of the list. */
    async read(
      orgId: string,
      filter: FindingFilter,
      sort: FindingSort,
      window: Window,
    ): Promise<{ placed: Placed[]; total: number }> {
      if (filter.places?.length === 0) return { placed: [], total: 0 };
      return filter.cveId === undefined
        ? listByIndex(orgId, filter, sort, window)
        : listByCve(orgId, filter.cveId, filter, sort, window);
    },
  };
}

function isElsewhere({ part }: FindingPlace): boolean {
  return part !== 'all' && part !== null;
}

const NONE: DeletingAssets = new Set();

function isLeft(deleting: DeletingAssets) {
  return ({ assetId }: Placed) => !deleting.has(assetId);
}

function sourcesIn(
  index: Source['index'],
  partition: string,
  counts: CellCounts,
  filter: FindingFilter,
): Source[] {
  return [...counts].flatMap(([cell, count]) => {
    const parsed = parseCell(cell);
    const range = count > 0 && matchesCell(parsed, filter) ? createdRange(parsed, filter) : null;
    if (!range) return [];
    // Times sort as text; '~' sorts after every character of an id.
    const from = `${cell}#${range.from === -Infinity ? '' : timestamp(range.from)}`;
    const to = `${cell}#${range.to === Infinity ? '~' : `${timestamp(range.to)}~`}`;
    return [{ index, partition, cell, count, from, to }];
  });
}

function isWholeCell({ cell, from, to }: Source): boolean {
  return from === `${cell}#` && to === `${cell}#~`;
}

function rangeQuery(source: Source) {
  return {
    IndexName: source.index,
    KeyConditionExpression: `${source.index}pk = :partition AND ${source.index}sk BETWEEN :from AND :to`,
    ExpressionAttributeValues: {
      ':partition': source.partition,
      ':from': source.from,
      ':to': source.to,
    },
  };
}

/** By severity: a group for each, critical first or last; by time: everything is one group. */
function groupsOf(sources: readonly Source[], sort: FindingSort): Source[][] {
  if (sort.endsWith('created_at')) return sources.length > 0 ? [[...sources]] : [];
  const groups = Map.groupBy(sources, ({ cell }) => cell[0] ?? '');
  const order = [...groups.keys()].sort();
  return (sort === '-severity' ? order : order.reverse()).map((severity) => groups.get(severity) ?? []);
}

/** What of a group comes after a position: all, nothing, or each source from there on. */
function remainder(group: readonly Source[], sort: FindingSort, after: Position | null): Source[] {
  const [first] = group;
  if (!after || !first) return [...group];
  if (!sort.endsWith('created_at') && first.cell[0] !== after.cell[0]) {
    const laterGroup = sort === '-severity' ? first.cell > after.cell : first.cell < after.cell;
    return laterGroup ? [...group] : [];
  }
  // A key sorts right after its own prefix: '!' and '~' are the ends of the characters that follow an id.
  const place = `${after.createdAt}#${after.id}`;
  const rest = group.map((source) =>
    sort === 'created_at'
      ? { ...source, from: later(source.from, `${source.cell}#${place}~`) }
      : { ...source, to: earlier(source.to, before(`${source.cell}#${place}`)) },
  );
  // The position may be past all that a filter of times leaves; a range must not end before it begins.
  return rest.filter(({ from, to }) => from <= to);
}

const later = (a: string, b: string) => (a > b ? a : b);
const earlier = (a: string, b: string) => (a < b ? a : b);

/** The greatest text of ids' characters that sorts before this one: both ends of a range are inclusive. */
function before(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return `${text.slice(0, -1)}${String.fromCharCode(last - 1)}~`;
}

/** What an index key tells: cell, time, id, asset, CVE, and where a policy put it. */
export function placedAt(sortKey: string): Placed {
  const [cell = '', createdAt = '', id = '', assetId = '', cveId = '', route = null] = sortKey.split('#');
  return { cell, createdAt, id, assetId, cveId: cveId || null, route, record: null };
}
