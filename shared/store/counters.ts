import type { CellCounts } from '#domain/cells.ts';
import { addCounts } from '#domain/cells.ts';
import { ServiceError } from '#domain/errors.ts';
import { assetCountersKey, laneKey, orgCountersPartition, projectCountersPartition } from './keys.ts';
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

    /** Writes that move the counts by `deltas` everywhere the place is counted: three or four items. */
    changeWrites(orgId: string, place: CountedPlace, deltas: CellCounts): Write[] {
      const lane = Math.floor(Math.random() * lanes);
      const partitions = [orgCountersPartition(orgId), ...projectPartitions(orgId, place)];
      return [
        ...partitions.flatMap((partition) => addWrite(laneKey(partition, lane), deltas)),
        ...addWrite(assetCountersKey(orgId, place.assetId), deltas, ', version :one'),
      ];
    },

    /** Writes that take an asset's counts from one place to another when it is assigned. */
    moveWrites(orgId: string, from: CountedPlace, to: CountedPlace, counts: CellCounts): Write[] {
      const negative = new Map([...counts].map(([cell, count]) => [cell, -count]));
      const before = new Set(projectPartitions(orgId, from));
      const after = new Set(projectPartitions(orgId, to));
      return [
        ...[...before.difference(after)].flatMap((partition) => addWrite(laneKey(partition, 0), negative)),
        ...[...after.difference(before)].flatMap((partition) => addWrite(laneKey(partition, 0), counts)),
      ];
    },

    /** Writes that take an asset's counts away with it, where they are still as they were read. */
    removeAssetWrites(orgId: string, place: CountedPlace, counts: CellCounts, version: number): Write[] {
      const negative = new Map([...counts].map(([cell, count]) => [cell, -count]));
      const partitions = [orgCountersPartition(orgId), ...projectPartitions(orgId, place)];
      const { ConditionCheck: check, ...otherwise } = this.unchangedCheck(orgId, place.assetId, version);
      return [
        ...partitions.flatMap((partition) => addWrite(laneKey(partition, 0), negative)),
        { ...(check && { Delete: check }), ...otherwise },
      ];
    },

    /** An asset's counts with their version, for `unchangedCheck`; one request. */
    async readAssetVersion(orgId: string, assetId: string): Promise<{ counts: CellCounts; version: number }> {
      const item = await table.get(assetCountersKey(orgId, assetId));
      return { counts: countsOf(item), version: typeof item?.version === 'number' ? item.version : 0 };
    },

    /** Refuses the transaction where the asset's counts have moved since they were read. */
    unchangedCheck(orgId: string, assetId: string, version: number): Write {
      return {
        ConditionCheck: {
          Key: assetCountersKey(orgId, assetId),
          ...(version === 0
            ? { ConditionExpression: 'attribute_not_exists(version)' }
            : {
                ConditionExpression: 'version = :version',
                ExpressionAttributeValues: { ':version': version },
              }),
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
    ): Write[] {
      if (of === 'asset') return addWrite(assetCountersKey(orgId, id), missing, ', version :one');
      const partition = of === 'project' ? projectCountersPartition(orgId, id) : orgCountersPartition(orgId);
      return addWrite(laneKey(partition, 0), missing);
    },

    /** Writes that remove a project's lanes with the project. */
    removeProjectWrites(orgId: string, projectId: string): Write[] {
      return lanesOf(projectCountersPartition(orgId, projectId)).map((Key) => ({ Delete: { Key } }));
    },
  };
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
