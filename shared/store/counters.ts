import { addCounts, type CellCounts } from '#domain/cells.ts';
import { ServiceError } from '#domain/errors.ts';
import type { Route } from '#domain/placement.ts';
import {
  type AssetCounts,
  addWrite,
  assetCountsOf,
  assetWrite,
  type CountedPlace,
  type Counter,
  countsOf,
  enterWrites,
  type FindingPlace,
  isVersion,
  named,
  negative,
  placeKey,
  projectDeltas,
  projectPartitions,
  projectWrites,
  type RoutedCounts,
  removalWrites,
  VERSIONED,
  versionOf,
} from './counter-items.ts';
import type { FindingDeltas } from './finding-record.ts';
import {
  assetCountersKey,
  laneKey,
  orgCountersPartition,
  projectCountersPartition,
  routedCountersKey,
} from './keys.ts';
import { chunksOf, type Item, type Key, type Table, type Write } from './table.ts';

interface RoutedItem {
  readonly assetId: string;
  readonly route: Route;
  readonly item: Item;
}

/** Each is two projects and itself; with an asset's deletion they are no more than 100. */
const ROUTES_PER_TRANSACTION = 25;

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
      return (await this.readAssetCounts(orgId, assetIds)).map(({ all }) => all);
    },

    /** The same, and how much of it is elsewhere. */
    async readAssetCounts(orgId: string, assetIds: readonly string[]): Promise<AssetCounts[]> {
      const items = await table.batchGet(assetIds.map((id) => assetCountersKey(orgId, id)));
      return items.map(assetCountsOf);
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

    /** What policies put elsewhere of all assets, by asset and place: 1 MB of counters a request. */
    async readAllRouted(orgId: string): Promise<Map<string, Map<Route, CellCounts>>> {
      const items = (await readItems(assetCountersKey(orgId, ''))).filter(({ route }) => route !== '');
      return new Map(
        Array.from(
          Map.groupBy(items, ({ assetId }) => assetId),
          ([assetId, own]) => [assetId, new Map(own.map(({ route, item }) => [route, countsOf(item)]))],
        ),
      );
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
        ...projectWrites(projects, lane),
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
      const left = [...before.difference(after)].map((partition) => [partition, negative(counts)] as const);
      const entered = [...after.difference(before)].map((partition) => [partition, counts] as const);
      return projectWrites(new Map([...left, ...entered]), 0);
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
          return projectWrites(new Map([[projectCountersPartition(orgId, counter.id), missing]]), 0);
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
