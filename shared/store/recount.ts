import { addCounts, type CellCounts, totalOf } from '#domain/cells.ts';
import { type Placement, placementOf, projectsOf, type Route } from '#domain/placement.ts';
import type { AssetEntry, AssetStore } from './assets.ts';
import type { AssetCounts, Counter } from './counter-items.ts';
import type { CounterStore } from './counters.ts';
import { placedAt } from './finding-pages.ts';
import { findingsPartition } from './keys.ts';
import type { Item, Table } from './table.ts';

/** A counter that is not what a recount gives: by how much each of its cells is off. */
export type CounterDifference = Counter & {
  /** What has to be added to the counter to make it right. */
  readonly missing: CellCounts;
};

export interface Recount {
  readonly findings: number;
  readonly counters: number;
  readonly differences: CounterDifference[];
}

/**
 * Counts an organization's findings anew, by reading the key of each, and compares what its counters say:
 * the operator's proof that they need no rebuilding. Of an organization that is being written to, a
 * difference can be a write that came in between: look twice.
 */
export function createRecounting(table: Table, assets: AssetStore, counters: CounterStore) {
  /** Findings of each asset by place and cell; 1 MB of keys a request. */
  async function countByAsset(orgId: string): Promise<Map<string, Parts>> {
    const byAsset = new Map<string, Parts>();
    let next: Item | undefined;
    do {
      const page = await table.queryPage({
        IndexName: 'gsi1',
        KeyConditionExpression: 'gsi1pk = :partition',
        ExpressionAttributeValues: { ':partition': findingsPartition(orgId) },
        ProjectionExpression: 'gsi1sk',
        ExclusiveStartKey: next,
      });
      for (const { gsi1sk } of page.items) {
        const { cell, assetId, route } = placedAt(String(gsi1sk));
        const parts = byAsset.get(assetId) ?? new Map();
        const counts = parts.get(route) ?? new Map<string, number>();
        counts.set(cell, (counts.get(cell) ?? 0) + 1);
        byAsset.set(assetId, parts.set(route, counts));
      }
      next = page.next;
    } while (next);
    return byAsset;
  }

  return {
    async recount(orgId: string): Promise<Recount> {
      const [counted, entries] = await Promise.all([countByAsset(orgId), assets.listEntries(orgId)]);
      const parts = entries.flatMap((entry) => partsOf(entry, counted.get(entry.id) ?? new Map()));
      const routed = await counters.readAllRouted(orgId);
      const routes = [...routed.values()].flatMap((there) => [...there.keys()]).map(placementOf);
      const places = [...entries, ...parts.map(({ place }) => place), ...routes];
      const projectIds = [...new Set(places.flatMap(projectsOf))];
      const [organization, projects, held] = await Promise.all([
        counters.readOrganization(orgId),
        counters.readProjects(orgId, projectIds),
        counters.readAssetCounts(
          orgId,
          entries.map(({ id }) => id),
        ),
      ]);
      const byAsset = Map.groupBy(parts, ({ assetId }) => assetId);
      const sumOf = (chosen: (part: Part) => boolean) =>
        addCounts(...parts.filter(chosen).map(({ counts }) => counts));
      const differences = [
        differenceOf({ of: 'organization', id: orgId }, sumOf(everywhere), organization),
        ...projectIds.map((id, index) =>
          differenceOf(
            { of: 'project', id },
            sumOf(({ place }) => projectsOf(place).includes(id)),
            projects[index],
          ),
        ),
        ...entries.flatMap(({ id }, index) =>
          assetDifferences(id, byAsset.get(id) ?? [], held[index], routed.get(id)),
        ),
      ];
      return {
        findings: parts.reduce((sum, { counts }) => sum + totalOf(counts), 0),
        counters: differences.length,
        differences: differences.filter(({ missing }) => missing.size > 0),
      };
    },

    /** Adds what is missing to each counter. */
    async mend(orgId: string, differences: readonly CounterDifference[]): Promise<void> {
      for (const { missing, ...counter } of differences)
        await table.transact(counters.mendWrites(orgId, counter, missing));
    },
  };
}

/** Findings of an asset by where policies put them (null: in its own project) and cell. */
type Parts = Map<Route | null, Map<string, number>>;

interface Part {
  readonly assetId: string;
  readonly route: Route | null;
  readonly place: Placement;
  readonly counts: CellCounts;
}

function partsOf(entry: AssetEntry, parts: Parts): Part[] {
  return Array.from(parts, ([route, counts]) => ({
    assetId: entry.id,
    route,
    place: route === null ? entry : placementOf(route),
    counts,
  }));
}

const everywhere = () => true;

/** An asset's counter tells of all its findings, and of those elsewhere; these have one for each place too. */
function assetDifferences(
  id: string,
  parts: readonly Part[],
  held: AssetCounts | undefined,
  routed: ReadonlyMap<Route, CellCounts> = new Map(),
): CounterDifference[] {
  const sumOf = (chosen: readonly Part[]) => addCounts(...chosen.map(({ counts }) => counts));
  const elsewhere = parts.filter(({ route }) => route !== null);
  const routes = new Set([...routed.keys(), ...elsewhere.map(({ route }) => route)]);
  return [
    differenceOf({ of: 'asset', id }, sumOf(parts), held?.all),
    differenceOf({ of: 'elsewhere', id }, sumOf(elsewhere), held?.elsewhere),
    ...[...routes]
      .filter((route) => route !== null)
      .map((route) =>
        differenceOf(
          { of: 'route', id, route },
          sumOf(parts.filter((part) => part.route === route)),
          routed.get(route),
        ),
      ),
  ];
}

function differenceOf(
  counter: Counter,
  counted: CellCounts,
  held: CellCounts = new Map(),
): CounterDifference {
  const cells = new Set([...counted.keys(), ...held.keys()]);
  const missing = new Map<string, number>();
  for (const cell of cells) {
    const by = (counted.get(cell) ?? 0) - (held.get(cell) ?? 0);
    if (by !== 0) missing.set(cell, by);
  }
  return { ...counter, missing };
}
