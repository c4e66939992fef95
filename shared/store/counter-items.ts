import { addCounts, type CellCounts } from '#domain/cells.ts';
import { placementOf, projectsOf, type Route } from '#domain/placement.ts';
import {
  assetCountersKey,
  laneKey,
  projectCountersPartition,
  projectKey,
  routedCountersKey,
  routeKey,
} from './keys.ts';
import { type Item, type Key, NotApplied, type Write } from './table.ts';

// What counters are made of: their attributes, and the writes that move them.

/** Where a finding is counted: its asset, and the projects that the asset is in. */
export interface CountedPlace {
  readonly assetId: string;
  readonly projectId: string | null;
  readonly subProjectId: string | null;
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

/** What a write of a counter counts as well, so that a condition can tell whether it moved. */
export const VERSIONED = true;
export function versionOf(item: Item | null): number {
  return typeof item?.version === 'number' ? item.version : 0;
}

export function isVersion(version: number) {
  return version === 0
    ? { ConditionExpression: 'attribute_not_exists(version)' }
    : { ConditionExpression: 'version = :version', ExpressionAttributeValues: { ':version': version } };
}

export function removalWrites(
  orgId: string,
  place: CountedPlace,
  own: CellCounts,
  routed: readonly RoutedCounts[],
): Write[] {
  const taken = new Map(routed.map(({ route, counts }) => [route, negative(counts)]));
  return [
    ...projectWrites(projectDeltas(orgId, place, negative(own), taken), 0),
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
export function assetWrite(orgId: string, assetId: string, deltas: CellCounts, elsewhere: boolean): Write[] {
  const key = assetCountersKey(orgId, assetId);
  return elsewhere ? addWrite(key, new Map([...deltas, ['version', 1]])) : addWrite(key, deltas, VERSIONED);
}

/** A project that findings come into must be there, and is found by who looks for its findings. */
export function enterWrites(orgId: string, assetId: string, route: Route): Write[] {
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
export function projectDeltas(
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

/** Writes that move the counts of projects, by partition, in one of their lanes. */
export function projectWrites(deltas: ReadonlyMap<string, CellCounts>, lane: number): Write[] {
  return [...deltas].flatMap(([partition, counts]) =>
    addWrite(laneKey(partition, lane), named('c', counts), VERSIONED),
  );
}

export function negative(counts: CellCounts): CellCounts {
  return new Map([...counts].map(([cell, count]) => [cell, -count]));
}

export function assetCountsOf(item: Item | null): AssetCounts {
  const all = countsOf(item);
  const elsewhere = countsOf(item, 'e');
  return { all, elsewhere, own: elsewhere.size === 0 ? all : addCounts(all, negative(elsewhere)) };
}

export function placeKey(orgId: string, { assetId, part }: FindingPlace): Key {
  return part === 'all' || part === null
    ? assetCountersKey(orgId, assetId)
    : routedCountersKey(orgId, assetId, part);
}

export function projectPartitions(orgId: string, { projectId, subProjectId }: CountedPlace): string[] {
  return [projectId, subProjectId]
    .filter((id) => id !== null)
    .map((id) => projectCountersPartition(orgId, id));
}

/** Attributes of a counter: `c` and the cell's three digits; `e` for what is elsewhere. */
export function named(letter: 'c' | 'e', counts: CellCounts): CellCounts {
  return new Map([...counts].map(([cell, count]) => [`${letter}${cell}`, count]));
}

/** One attribute a cell; nothing to write where nothing moved. */
export function addWrite(key: Key, deltas: CellCounts, versioned = false): Write[] {
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
