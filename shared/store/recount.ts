import { addCounts, type CellCounts } from '#domain/cells.ts';
import { type AssetStore, countedPlace } from './assets.ts';
import type { CountedPlace, CounterStore } from './counters.ts';
import { findingsPartition } from './keys.ts';
import type { Item, Table } from './table.ts';

/** A counter that is not what a recount gives: by how much each of its cells is off. */
export interface CounterDifference {
  readonly of: 'organization' | 'project' | 'asset';
  readonly id: string;
  /** What has to be added to the counter to make it right. */
  readonly missing: CellCounts;
}

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
  /** Findings of each asset by cell; 1 MB of keys a request. */
  async function countByAsset(orgId: string): Promise<Map<string, Map<string, number>>> {
    const byAsset = new Map<string, Map<string, number>>();
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
        const [cell = '', , , assetId = ''] = String(gsi1sk).split('#');
        const counts = byAsset.get(assetId) ?? new Map<string, number>();
        counts.set(cell, (counts.get(cell) ?? 0) + 1);
        byAsset.set(assetId, counts);
      }
      next = page.next;
    } while (next);
    return byAsset;
  }

  return {
    async recount(orgId: string): Promise<Recount> {
      const [counted, entries] = await Promise.all([countByAsset(orgId), assets.listEntries(orgId)]);
      const own = entries.map((entry) => ({ entry, counts: counted.get(entry.id) ?? new Map() }));
      const projectIds = [...new Set(entries.flatMap(projectsOf))];
      const [organization, projects, held] = await Promise.all([
        counters.readOrganization(orgId),
        counters.readProjects(orgId, projectIds),
        counters.readAssets(
          orgId,
          entries.map(({ id }) => id),
        ),
      ]);
      const ofProject = (id: string) =>
        addCounts(...own.filter(({ entry }) => projectsOf(entry).includes(id)).map(({ counts }) => counts));
      const differences = [
        differenceOf('organization', orgId, addCounts(...own.map(({ counts }) => counts)), organization),
        ...projectIds.map((id, index) => differenceOf('project', id, ofProject(id), projects[index])),
        ...own.map(({ entry, counts }, index) => differenceOf('asset', entry.id, counts, held[index])),
      ];
      return {
        findings: own.reduce((sum, { counts }) => sum + addUp(counts), 0),
        counters: differences.length,
        differences: differences.filter(({ missing }) => missing.size > 0),
      };
    },

    /** Adds what is missing to each counter. */
    async mend(orgId: string, differences: readonly CounterDifference[]): Promise<void> {
      for (const { of, id, missing } of differences)
        await table.transact(counters.mendWrites(orgId, of, id, missing));
    },
  };
}

function projectsOf(entry: Parameters<typeof countedPlace>[0]): string[] {
  const { projectId, subProjectId }: CountedPlace = countedPlace(entry);
  return [projectId, subProjectId].filter((id) => id !== null);
}

function differenceOf(
  of: CounterDifference['of'],
  id: string,
  counted: CellCounts,
  held: CellCounts = new Map(),
): CounterDifference {
  const cells = new Set([...counted.keys(), ...held.keys()]);
  const missing = new Map<string, number>();
  for (const cell of cells) {
    const by = (counted.get(cell) ?? 0) - (held.get(cell) ?? 0);
    if (by !== 0) missing.set(cell, by);
  }
  return { of, id, missing };
}

function addUp(counts: CellCounts): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}
