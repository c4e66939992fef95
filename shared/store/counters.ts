import type { CellCounts } from '#domain/cells.ts';
import { addCounts } from '#domain/cells.ts';
import { ServiceError } from '#domain/errors.ts';
import { placementOf, projectsOf, type Route } from '#domain/placement.ts';
import type { FindingDeltas } from './finding-record.ts';
import {
  assetCountersKey,
  laneKey,
  orgCountersPartition,
  projectCountersPartition,
  projectKey,
  routedCountersKey,
  routeKey,
} from './keys.ts';
import { chunksOf, type Item, type Key, NotApplied, type Table, type Write } from './table.ts';

/** Where a finding is counted: its asset, and the projects that the asset is in. */
export interface CountedPlace {
  readonly assetId: string;
  readonly projectId: string | null;
  readonly subProjectId: string | null;
}

export type CounterStore = ReturnType<typeof createCounterStore>;

/**
 * Findings counted by cell, for the organization, its projects and its assets. Every write of a
 * finding carries the writes of `changeWrites` in the same transaction, so that counts are exact.
 * Organization and projects are kept in lanes, summed on read, so that parallel ingests don't
 * fight for one item.
 */
export function createCounterStore(table: Table, lanes: number) {
  const lanesOf = (partition: string): Key[] =>
    Array.from({ length: lanes }, (_, lane) => laneKey(partition, lane));
  const sum = (items: readonly (Item | null)[]): CellCounts =>
    addCounts(...items.map((item) => countsOf(item)));

  /** One item for each place that policies ever put findings of the asset into. */
  async function routedItems(orgId: string, assetId: string): Promise<RoutedItem[]> {
    return readItems(routedCountersKey(orgId, assetId, ''));
  }

  async function readItems({ pk, sk: prefix }: Key): Promise<RoutedItem[]> {
    const items = await table.queryAll({
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
      ExpressionAttributeValues: { ':pk': pk, ':prefix': prefix },
      ConsistentRead: true,
    });
    return items.map((item) => {
      const [, assetId = '', route = ''] = String(item.sk).split('#');
      return { assetId, route, item };
    });
  }

  return {
    /** One request. */
    async readOrganization(orgId: string): Promise<CellCounts> {
      return sum(await table.batchGet(lanesOf(orgCountersPartition(orgId))));
    },

    /** The same, with another item of the organization in the same request. */
    async readOrganizationWith(orgId: string, also: Key): Promise<{ counts: CellCounts; item: Item | null }> {
      const items = await table.batchGet([also, ...lanesOf(orgCountersPartition(orgId))]);
      return { counts: sum(items.slice(1)), item: items[0] ?? null };
    },

    /** In the order of the ids; one request for each 100 lanes. A project's counts include its sub-projects'. */
    async readProjects(orgId: string, projectIds: readonly string[]): Promise<CellCounts[]> {
      const items = await table.batchGet(
        projectIds.flatMap((id) => lanesOf(projectCountersPartition(orgId, id))),
      );
      return projectIds.map((_, index) => sum(items.slice(index * lanes, (index + 1) * lanes)));
    },

    /** In the order of the ids; one request for each 100. */
    async readAssets(orgId: string, assetIds: readonly string[]): Promise<CellCounts[]> {
      const items = await table.batchGet(assetIds.map((id) => assetCountersKey(orgId, id)));
      return items.map((item) => countsOf(item));
    },

    /** Of each place, in order; one request for each 100. */
    async readPlaces(orgId: string, places: readonly FindingPlace[]): Promise<CellCounts[]> {
      const items = await table.batchGet(places.map((place) => placeKey(orgId, place)));
      return places.map(({ part }, index) => {
        const item = items[index] ?? null;
        return part === null ? assetCountsOf(item).own : countsOf(item);
      });
    },

    /** What policies put elsewhere of an asset's findings, by place, those included that none are left in; one request. */
    async readRouted(orgId: string, assetId: string): Promise<Map<Route, CellCounts>> {
      const items = await routedItems(orgId, assetId);
      return new Map(items.map(({ route, item }) => [route, countsOf(item)]));
    },

    /** The same of all assets, by asset: 1 MB of counters a request. */
    async readAllRouted(orgId: string): Promise<Map<string, Map<Route, CellCounts>>> {
      const items = (await readItems(assetCountersKey(orgId, ''))).filter(({ route }) => route !== '');
      return new Map(
        Array.from(
          Map.groupBy(items, ({ assetId }) => assetId),
          ([assetId, own]) => [assetId, new Map(own.map(({ route, item }) => [route, countsOf(item)]))],
        ),
      );
    },

    /** What an asset counts: one request for each 100. */
    async readAssetCounts(orgId: string, assetIds: readonly string[]): Promise<AssetCounts[]> {
      const items = await table.batchGet(assetIds.map((id) => assetCountersKey(orgId, id)));
      return items.map(assetCountsOf);
    },

    /**
     * Writes that move the counts everywhere the findings are counted: three or four items, and for each place that
     * policies put some into two or three more, and as many where findings enter it.
     */
    changeWrites(orgId: string, place: CountedPlace, { all, routed, entered }: FindingDeltas): Write[] {
      const { assetId } = place;
      const lane = Math.floor(Math.random() * lanes);
      const elsewhere = addCounts(...routed.values());
      const projects = projectDeltas(orgId, place, addCounts(all, negative(elsewhere)), routed);
      return [
        ...addWrite(laneKey(orgCountersPartition(orgId), lane), named('c', all)),
        ...[...projects].flatMap(([partition, deltas]) =>
          addWrite(laneKey(partition, lane), named('c', deltas), VERSIONED),
        ),
        ...assetWrite(
          orgId,
          assetId,
          new Map([...named('c', all), ...named('e', elsewhere)]),
          routed.size > 0,
        ),
        ...[...routed].flatMap(([route, deltas]) =>
          addWrite(routedCountersKey(orgId, assetId, route), named('c', deltas)),
        ),
        ...[...entered].flatMap((route) => enterWrites(orgId, assetId, route)),
      ];
    },

    /** Writes that take an asset's own counts from one place to another when it is assigned. */
    moveWrites(orgId: string, from: CountedPlace, to: CountedPlace, counts: CellCounts): Write[] {
      const before = new Set(projectPartitions(orgId, from));
      const after = new Set(projectPartitions(orgId, to));
      const add = (partition: string, deltas: CellCounts) =>
        addWrite(laneKey(partition, 0), named('c', deltas), VERSIONED);
      return [
        ...[...before.difference(after)].flatMap((partition) => add(partition, negative(counts))),
        ...[...after.difference(before)].flatMap((partition) => add(partition, counts)),
      ];
    },

    /**
     * Writes that take an asset's counts away with it, where they are still as they were read; with those of the places
     * that are named.
     */
    removeAssetWrites(
      orgId: string,
      place: CountedPlace,
      counts: AssetCounts,
      version: number,
      routed: readonly RoutedCounts[],
    ): Write[] {
      const { ConditionCheck: check, ...otherwise } = this.unchangedCheck(orgId, place.assetId, version);
      return [
        ...addWrite(laneKey(orgCountersPartition(orgId), 0), named('c', negative(counts.all))),
        ...removalWrites(orgId, place, counts.own, routed),
        { ...(check && { Delete: check }), ...otherwise },
      ];
    },

    /**
     * What policies put elsewhere of an asset that is deleted, and is still counted there: as many as a transaction
     * takes away, each.
     */
    async readRoutedLeft(orgId: string, assetId: string): Promise<RoutedCounts[][]> {
      const left = (await routedItems(orgId, assetId)).filter(({ item }) => item.removed !== true);
      return chunksOf(
        left.map(({ route, item }) => ({ route, counts: countsOf(item) })),
        ROUTES_PER_TRANSACTION,
      );
    },

    /** Writes that take these out of the projects that they were put into. What tells where findings are is left. */
    removeRoutedWrites(orgId: string, assetId: string, routed: readonly RoutedCounts[]): Write[] {
      return removalWrites(orgId, { assetId, projectId: null, subProjectId: null }, new Map(), routed);
    },

    /** An asset's counts with their version, for `unchangedCheck`; one request. */
    async readAssetVersion(
      orgId: string,
      assetId: string,
    ): Promise<{ counts: AssetCounts; version: number }> {
      const item = await table.get(assetCountersKey(orgId, assetId));
      return { counts: assetCountsOf(item), version: versionOf(item) };
    },

    /** Refuses the transaction where the asset's counts have moved since they were read. */
    unchangedCheck(orgId: string, assetId: string, version: number): Write {
      return {
        ConditionCheck: {
          Key: assetCountersKey(orgId, assetId),
          ...isVersion(version),
        },
        otherwise: () =>
          new ServiceError('conflict', 'Findings of the asset are being written; retry in a moment'),
      };
    },

    /** Writes that add to one counter alone: the operator's, where a recount says that it is off. */
    mendWrites(orgId: string, counter: Counter, missing: CellCounts): Write[] {
      switch (counter.of) {
        case 'organization':
          return addWrite(laneKey(orgCountersPartition(orgId), 0), named('c', missing));
        case 'project':
          return addWrite(
            laneKey(projectCountersPartition(orgId, counter.id), 0),
            named('c', missing),
            VERSIONED,
          );
        case 'asset':
        case 'elsewhere': {
          const counts = named(counter.of === 'asset' ? 'c' : 'e', missing);
          return addWrite(assetCountersKey(orgId, counter.id), counts, VERSIONED);
        }
        case 'route':
          return addWrite(routedCountersKey(orgId, counter.id, counter.route), named('c', missing));
      }
    },

    /**
     * Writes that remove a project's lanes with the project, where it still counts what it did; null where it counts
     * findings.
     */
    async removeProjectWrites(
      orgId: string,
      projectId: string,
      otherwise: () => Error,
    ): Promise<Write[] | null> {
      const keys = lanesOf(projectCountersPartition(orgId, projectId));
      const items = await table.batchGet(keys);
      if ([...sum(items).values()].some((count) => count !== 0)) return null;
      return keys.map((Key, lane) => ({
        Delete: { Key, ...isVersion(versionOf(items[lane] ?? null)) },
        otherwise,
      }));
    },
  };
}

/** Which findings of an asset: all, those in its own project (null), or those that policies put elsewhere. */
export interface FindingPlace {
  readonly assetId: string;
  readonly part: 'all' | Route | null;
}

/** An asset's findings by cell: all, and of them those in its own project. */
export interface AssetCounts {
  readonly all: CellCounts;
  readonly own: CellCounts;
  /** What policies put elsewhere. */
  readonly elsewhere: CellCounts;
}

/** One of the counters; `elsewhere`: what an asset counts of all that policies put elsewhere, `route`: of one place. */
export type Counter =
  | { readonly of: 'organization' | 'project' | 'asset' | 'elsewhere'; readonly id: string }
  | { readonly of: 'route'; readonly id: string; readonly route: Route };

/** What policies put into one place of an asset's findings. */
export interface RoutedCounts {
  readonly route: Route;
  readonly counts: CellCounts;
}

interface RoutedItem {
  readonly assetId: string;
  readonly route: Route;
  readonly item: Item;
}

/** What a write of a counter counts as well, so that a condition can tell whether it moved. */
const VERSIONED = true;
/** Each is two projects and itself; with an asset's deletion they are no more than 100. */
const ROUTES_PER_TRANSACTION = 25;

function versionOf(item: Item | null): number {
  return typeof item?.version === 'number' ? item.version : 0;
}

function isVersion(version: number) {
  return version === 0
    ? { ConditionExpression: 'attribute_not_exists(version)' }
    : { ConditionExpression: 'version = :version', ExpressionAttributeValues: { ':version': version } };
}

function removalWrites(
  orgId: string,
  place: CountedPlace,
  own: CellCounts,
  routed: readonly RoutedCounts[],
): Write[] {
  const taken = new Map(routed.map(({ route, counts }) => [route, negative(counts)]));
  return [
    ...[...projectDeltas(orgId, place, negative(own), taken)].flatMap(([partition, deltas]) =>
      addWrite(laneKey(partition, 0), named('c', deltas), VERSIONED),
    ),
    ...routed.map(
      ({ route }): Write => ({
        Put: {
          Item: { ...routedCountersKey(orgId, place.assetId, route), removed: true },
          ConditionExpression: 'attribute_not_exists(removed)',
        },
        otherwise: () => new NotApplied(),
      }),
    ),
  ];
}

/** @param elsewhere whether something moves there, which may move neither of the asset's sums: its version tells */
function assetWrite(orgId: string, assetId: string, deltas: CellCounts, elsewhere: boolean): Write[] {
  const key = assetCountersKey(orgId, assetId);
  return elsewhere ? addWrite(key, new Map([...deltas, ['version', 1]])) : addWrite(key, deltas, VERSIONED);
}

/** A project that findings come into must be there, and is found by who looks for its findings. */
function enterWrites(orgId: string, assetId: string, route: Route): Write[] {
  const projects = projectsOf(placementOf(route));
  return [
    {
      ConditionCheck: {
        Key: projectKey(orgId, projects.at(-1) ?? ''),
        ConditionExpression: 'attribute_exists(pk)',
      },
      otherwise: () => new ProjectGone(),
    },
    ...projects.map((id): Write => ({ Put: { Item: routeKey(orgId, id, assetId, route) } })),
  ];
}

/** The project that a policy names was deleted meanwhile. */
class ProjectGone extends Error {
  override readonly name = 'ProjectGone';
}

/** What moves in each project: the asset's own counts in its own, the others where they were put. */
function projectDeltas(
  orgId: string,
  place: CountedPlace,
  own: CellCounts,
  routed: ReadonlyMap<Route, CellCounts>,
): Map<string, CellCounts> {
  const deltas = new Map<string, CellCounts>();
  const add = (partition: string, counts: CellCounts) =>
    deltas.set(partition, addCounts(deltas.get(partition) ?? new Map(), counts));
  for (const partition of projectPartitions(orgId, place)) add(partition, own);
  for (const [route, counts] of routed)
    for (const id of projectsOf(placementOf(route))) add(projectCountersPartition(orgId, id), counts);
  return deltas;
}

function negative(counts: CellCounts): CellCounts {
  return new Map([...counts].map(([cell, count]) => [cell, -count]));
}

function assetCountsOf(item: Item | null): AssetCounts {
  const all = countsOf(item);
  const elsewhere = countsOf(item, 'e');
  return { all, elsewhere, own: elsewhere.size === 0 ? all : addCounts(all, negative(elsewhere)) };
}

function placeKey(orgId: string, { assetId, part }: FindingPlace): Key {
  return part === 'all' || part === null
    ? assetCountersKey(orgId, assetId)
    : routedCountersKey(orgId, assetId, part);
}

function projectPartitions(orgId: string, { projectId, subProjectId }: CountedPlace): string[] {
  return [projectId, subProjectId]
    .filter((id) => id !== null)
    .map((id) => projectCountersPartition(orgId, id));
}

/** Attributes of a counter: `c` and the cell's three digits; `e` for what is elsewhere. */
function named(letter: 'c' | 'e', counts: CellCounts): CellCounts {
  return new Map([...counts].map(([cell, count]) => [`${letter}${cell}`, count]));
}

/** One attribute a cell; nothing to write where nothing moved. */
function addWrite(key: Key, deltas: CellCounts, versioned = false): Write[] {
  const moved = [...deltas].filter(([, delta]) => delta !== 0);
  if (moved.length === 0) return [];
  const added = versioned ? [...moved, ['version', 1] as const] : moved;
  return [
    {
      Update: {
        Key: key,
        UpdateExpression: `ADD ${added.map((_, index) => `#c${index} :d${index}`).join(', ')}`,
        ExpressionAttributeNames: Object.fromEntries(added.map(([name], index) => [`#c${index}`, name])),
        ExpressionAttributeValues: Object.fromEntries(added.map(([, delta], index) => [`:d${index}`, delta])),
      },
    },
  ];
}

export function countsOf(item: Item | null, letter: 'c' | 'e' = 'c'): CellCounts {
  const counts = new Map<string, number>();
  for (const [name, value] of Object.entries(item ?? {})) {
    if (name[0] === letter && /^.\d{3}$/.test(name) && typeof value === 'number' && value !== 0)
      counts.set(name.slice(1), value);
  }
  return counts;
}
