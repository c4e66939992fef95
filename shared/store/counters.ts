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
  routeKey,
} from './keys.ts';
import type { Item, Key, Table, Write } from './table.ts';

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
  const sum = (items: readonly (Item | null)[]): CellCounts => addCounts(...items.map(countsOf));

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
      return items.map(countsOf);
    },

    /** Of each place, in order; one request for each 100 assets. */
    async readPlaces(orgId: string, places: readonly FindingPlace[]): Promise<CellCounts[]> {
      const assets = await this.readAssetParts(
        orgId,
        places.map(({ assetId }) => assetId),
      );
      return places.map(({ part }, index) => {
        const counts = assets[index] ?? NO_COUNTS;
        if (part === 'all') return counts.all;
        return part === null ? counts.own : (counts.routed.get(part) ?? new Map());
      });
    },

    /** The same with what of it is where; one request for each 100. */
    async readAssetParts(orgId: string, assetIds: readonly string[]): Promise<AssetCounts[]> {
      const items = await table.batchGet(assetIds.map((id) => assetCountersKey(orgId, id)));
      return items.map(assetCountsOf);
    },

    /**
     * Writes that move the counts everywhere the findings are counted: three or four items, and for each place that
     * policies put some into one or two more, and as many checks that it is there.
     */
    changeWrites(orgId: string, place: CountedPlace, { all, routed, entered }: FindingDeltas): Write[] {
      const lane = Math.floor(Math.random() * lanes);
      const projects = projectDeltas(orgId, place, { own: ownOf(all, routed), routed });
      return [
        ...addWrite(laneKey(orgCountersPartition(orgId), lane), all),
        ...[...projects].flatMap(([partition, deltas]) =>
          addWrite(laneKey(partition, lane), deltas, VERSION),
        ),
        ...addWrite(assetCountersKey(orgId, place.assetId), namedByRoute(all, routed), VERSION),
        ...[...entered].flatMap((route) => enterWrites(orgId, place.assetId, route)),
      ];
    },

    /** Writes that take an asset's own counts from one place to another when it is assigned. */
    moveWrites(orgId: string, from: CountedPlace, to: CountedPlace, counts: CellCounts): Write[] {
      const before = new Set(projectPartitions(orgId, from));
      const after = new Set(projectPartitions(orgId, to));
      return [
        ...[...before.difference(after)].flatMap((partition) =>
          addWrite(laneKey(partition, 0), negative(counts), VERSION),
        ),
        ...[...after.difference(before)].flatMap((partition) =>
          addWrite(laneKey(partition, 0), counts, VERSION),
        ),
      ];
    },

    /** Writes that take an asset's counts away with it, where they are still as they were read. */
    removeAssetWrites(orgId: string, place: CountedPlace, counts: AssetCounts, version: number): Write[] {
      const { ConditionCheck: check, ...otherwise } = this.unchangedCheck(orgId, place.assetId, version);
      return [
        ...addWrite(laneKey(orgCountersPartition(orgId), 0), negative(counts.all)),
        ...[...projectDeltas(orgId, place, counts)].flatMap(([partition, deltas]) =>
          addWrite(laneKey(partition, 0), negative(deltas), VERSION),
        ),
        { ...(check && { Delete: check }), ...otherwise },
      ];
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
    mendWrites(
      orgId: string,
      of: 'organization' | 'project' | 'asset',
      id: string,
      missing: CellCounts,
      route: Route | null = null,
    ): Write[] {
      if (of === 'asset') {
        const named = route === null ? missing : namedByRoute(new Map(), new Map([[route, missing]]));
        return addWrite(assetCountersKey(orgId, id), named, VERSION);
      }
      const partition = of === 'project' ? projectCountersPartition(orgId, id) : orgCountersPartition(orgId);
      return addWrite(laneKey(partition, 0), missing, of === 'project' ? VERSION : '');
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

/** An asset's findings by cell: all, those in its own project, and those that policies put elsewhere. */
export interface AssetCounts {
  readonly all: CellCounts;
  readonly own: CellCounts;
  readonly routed: ReadonlyMap<Route, CellCounts>;
}

const NO_COUNTS: AssetCounts = { all: new Map(), own: new Map(), routed: new Map() };

/** What a write of a counter counts as well, so that a condition can tell whether it moved. */
const VERSION = ', version :one';

function versionOf(item: Item | null): number {
  return typeof item?.version === 'number' ? item.version : 0;
}

function isVersion(version: number) {
  return version === 0
    ? { ConditionExpression: 'attribute_not_exists(version)' }
    : { ConditionExpression: 'version = :version', ExpressionAttributeValues: { ':version': version } };
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
  { own, routed }: Pick<AssetCounts, 'own' | 'routed'>,
): Map<string, CellCounts> {
  const deltas = new Map<string, CellCounts>();
  const add = (partition: string, counts: CellCounts) =>
    deltas.set(partition, addCounts(deltas.get(partition) ?? new Map(), counts));
  for (const partition of projectPartitions(orgId, place)) add(partition, own);
  for (const [route, counts] of routed)
    for (const id of projectsOf(placementOf(route))) add(projectCountersPartition(orgId, id), counts);
  return deltas;
}

function ownOf(all: CellCounts, routed: ReadonlyMap<Route, CellCounts>): CellCounts {
  return routed.size === 0 ? all : addCounts(all, ...[...routed.values()].map(negative));
}

function negative(counts: CellCounts): CellCounts {
  return new Map([...counts].map(([cell, count]) => [cell, -count]));
}

/** An asset's counter holds what is elsewhere beside the whole: the cell, `@` and the route. */
function namedByRoute(all: CellCounts, routed: ReadonlyMap<Route, CellCounts>): CellCounts {
  const elsewhere = [...routed].flatMap(([route, counts]) =>
    [...counts].map(([cell, count]) => [`${cell}@${route}`, count] as const),
  );
  return new Map([...all, ...elsewhere]);
}

function assetCountsOf(item: Item | null): AssetCounts {
  const all = countsOf(item);
  const routed = new Map<Route, Map<string, number>>();
  for (const [name, value] of Object.entries(item ?? {})) {
    const [, cell, route] = /^c(\d{3})@(.+)$/.exec(name) ?? [];
    if (!cell || !route || typeof value !== 'number' || value === 0) continue;
    routed.set(route, (routed.get(route) ?? new Map()).set(cell, value));
  }
  return { all, own: ownOf(all, routed), routed };
}

function projectPartitions(orgId: string, { projectId, subProjectId }: CountedPlace): string[] {
  return [projectId, subProjectId]
    .filter((id) => id !== null)
    .map((id) => projectCountersPartition(orgId, id));
}

/** One attribute a cell, `c` and its three digits; nothing to write where nothing moved. */
function addWrite(key: Key, deltas: CellCounts, also = ''): Write[] {
  const moved = [...deltas].filter(([, delta]) => delta !== 0);
  if (moved.length === 0) return [];
  return [
    {
      Update: {
        Key: key,
        UpdateExpression: `ADD ${moved.map((_, index) => `#c${index} :d${index}`).join(', ')}${also}`,
        ExpressionAttributeNames: Object.fromEntries(
          moved.map(([cell], index) => [`#c${index}`, `c${cell}`]),
        ),
        ExpressionAttributeValues: {
          ...Object.fromEntries(moved.map(([, delta], index) => [`:d${index}`, delta])),
          ...(also !== '' && { ':one': 1 }),
        },
      },
    },
  ];
}

export function countsOf(item: Item | null): CellCounts {
  const counts = new Map<string, number>();
  for (const [name, value] of Object.entries(item ?? {})) {
    if (/^c\d{3}$/.test(name) && typeof value === 'number' && value !== 0) counts.set(name.slice(1), value);
  }
  return counts;
}
