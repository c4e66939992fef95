import * as z from 'zod';
import { ASSET_TYPES, CRITICALITIES } from '#contract/schemas/records.ts';
import type { Attribution } from '#domain/actor.ts';
import type { CellCounts } from '#domain/cells.ts';
import { timestamp, timestampAfter } from '#domain/clock.ts';
import { notFound, ServiceError } from '#domain/errors.ts';
import { type Placement, projectsOf, type Route } from '#domain/placement.ts';
import { redactUrl } from '#domain/redacted-url.ts';
import { auditWrite } from './audit.ts';
import { countsOf } from './counter-items.ts';
import type { CounterStore } from './counters.ts';
import {
  assetCountersKey,
  assetEntriesPartition,
  assetEntryKey,
  assetKey,
  assetPlaceKey,
  foldName,
  routesPartition,
} from './keys.ts';
import { countWrite } from './projects.ts';
import { reevaluationWrite } from './reevaluations.ts';
import type { Table, Write } from './table.ts';

const AssetRecord = z.object({
  id: z.string(),
  name: z.string(),
  full_name: z.string(),
  type: z.enum(ASSET_TYPES),
  provider: z.string(),
  clone_url: z.string().nullable(),
  /** Null until the first scan has seen what the repository's HEAD points at. */
  default_branch: z.string().nullable(),
  project_id: z.string().nullable(),
  sub_project_id: z.string().nullable(),
  integration_id: z.string().nullable(),
  criticality: z.enum(CRITICALITIES),
  tags: z.array(z.string()),
  last_scan_at: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
});
export type AssetRecord = z.infer<typeof AssetRecord>;

/** What asset lists are filtered, sorted and cut by. */
const AssetEntry = z.object({
  id: z.string(),
  name: z.string(),
  type: z.enum(ASSET_TYPES),
  project_id: z.string().nullable(),
  sub_project_id: z.string().nullable(),
  created_at: z.string(),
});
export type AssetEntry = z.infer<typeof AssetEntry>;

export type AssetStore = ReturnType<typeof createAssetStore>;

/** Assets: repositories, images and what else can be scanned. */
export function createAssetStore(table: Table, counters: CounterStore) {
  async function get(orgId: string, assetId: string): Promise<AssetRecord | null> {
    const item = await table.get(assetKey(orgId, assetId));
    return item && AssetRecord.parse(item);
  }

  return {
    get,

    /** @throws ServiceError not_found */
    async require(orgId: string, assetId: string): Promise<AssetRecord> {
      const asset = await get(orgId, assetId);
      if (!asset) throw notFound('asset');
      return asset;
    },

    /** The assets that exist of those asked for; one request for each 100. */
    async getMany(orgId: string, assetIds: readonly string[]): Promise<AssetRecord[]> {
      const items = await table.batchGet(assetIds.map((id) => assetKey(orgId, id)));
      return items.filter((item) => item !== null).map((item) => AssetRecord.parse(item));
    },

    /** The assets that exist of those asked for, with their counts; one request for each 50. */
    async getManyWithCounts(
      orgId: string,
      assetIds: readonly string[],
    ): Promise<{ record: AssetRecord; counts: CellCounts }[]> {
      const items = await table.batchGet([
        ...assetIds.map((id) => assetKey(orgId, id)),
        ...assetIds.map((id) => assetCountersKey(orgId, id)),
      ]);
      return assetIds.flatMap((_, index) => {
        const item = items[index];
        const counts = countsOf(items[assetIds.length + index] ?? null);
        return item ? [{ record: AssetRecord.parse(item), counts }] : [];
      });
    },

    /** Every asset's slim entry: about 200 bytes each, so 5,000 a request. */
    async listEntries(orgId: string): Promise<AssetEntry[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :partition',
        ExpressionAttributeValues: { ':partition': assetEntriesPartition(orgId) },
        ConsistentRead: true,
      });
      return items.map((item) => AssetEntry.parse(item));
    },

    /** Assets that policies have put findings of into a project; of some of these none may be left there. */
    async listRoutedInto(orgId: string, projectId: string): Promise<{ assetId: string; route: Route }[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :partition AND begins_with(sk, :project)',
        ExpressionAttributeValues: { ':partition': routesPartition(orgId), ':project': `${projectId}#` },
        ConsistentRead: true,
      });
      return items.map(({ sk }) => {
        const [, assetId = '', route = ''] = String(sk).split('#');
        return { assetId, route };
      });
    },

    /** @throws ServiceError already_exists */
    async create(orgId: string, asset: AssetRecord, attribution: Attribution): Promise<void> {
      await table.transact([
        {
          Put: {
            Item: { ...placeKey(orgId, asset), asset_id: asset.id },
            ConditionExpression: 'attribute_not_exists(pk)',
          },
          otherwise: () =>
            new ServiceError(
              'already_exists',
              asset.clone_url ? 'An asset with this URL exists' : 'An asset with this name exists',
            ),
        },
        {
          Put: {
            Item: { ...assetKey(orgId, asset.id), ...asset },
            ConditionExpression: 'attribute_not_exists(pk)',
          },
        },
        { Put: { Item: entryItem(orgId, asset) } },
        ...projectsOf(asset).map((id) => countWrite(orgId, id, 'asset_count', 1)),
        auditWrite(orgId, attribution, {
          action: 'asset.create',
          target: { type: 'asset', id: asset.id },
          changes: {
            name: { after: asset.name },
            type: { after: asset.type },
            ...(asset.clone_url !== null && { url: { after: redactUrl(asset.clone_url) } }),
            ...(asset.default_branch !== null && { default_branch: { after: asset.default_branch } }),
            ...(asset.project_id !== null && { project_id: { after: asset.project_id } }),
            ...(asset.sub_project_id !== null && { sub_project_id: { after: asset.sub_project_id } }),
          },
        }),
      ]);
    },

    /** The asset that already has this place; two requests. */
    async findByPlace(
      orgId: string,
      asset: Pick<AssetRecord, 'type' | 'name' | 'clone_url'>,
    ): Promise<AssetRecord | null> {
      const item = z.object({ asset_id: z.string() }).safeParse(await table.get(placeKey(orgId, asset)));
      return item.success ? get(orgId, item.data.asset_id) : null;
    },

    /** @throws ServiceError conflict (changed by someone else meanwhile), already_exists */
    async update(
      orgId: string,
      held: AssetRecord,
      change: Partial<Pick<AssetRecord, 'name' | 'criticality' | 'tags' | 'default_branch'>>,
      attribution: Attribution,
    ): Promise<AssetRecord> {
      const changed = Object.entries(change).filter(
        ([name, value]) =>
          value !== undefined && JSON.stringify(value) !== JSON.stringify(held[name as keyof AssetRecord]),
      );
      if (changed.length === 0) return held;
      const next = AssetRecord.parse({
        ...held,
        ...Object.fromEntries(changed),
        updated_at: timestampAfter(held.updated_at, attribution.at),
      });
      await table.transact([
        ...movePlaceWrites(orgId, held, next),
        unchangedPut(orgId, held, next),
        { Put: { Item: entryItem(orgId, next) } },
        // Policies see it; the sweep takes it up.
        reevaluationWrite({ orgId, assetId: held.id }, attribution.at),
        auditWrite(orgId, attribution, {
          action: 'asset.update',
          target: { type: 'asset', id: held.id },
          changes: Object.fromEntries(
            changed.map(([name, after]) => [name, { before: held[name as keyof AssetRecord], after }]),
          ),
        }),
      ]);
      return next;
    },

    /**
     * Puts an asset into a project (or sub-project), or out of any, with its counts: all in one
     * transaction. The version of the asset's counts is part of the condition: an ingest meanwhile
     * refuses the move.
     * @throws ServiceError conflict, not_found (a project deleted meanwhile)
     */
    async place(
      orgId: string,
      held: AssetRecord,
      placement: Placement,
      attribution: Attribution,
    ): Promise<AssetRecord> {
      if (held.project_id === placement.project_id && held.sub_project_id === placement.sub_project_id)
        return held;
      const next: AssetRecord = {
        ...held,
        ...placement,
        updated_at: timestampAfter(held.updated_at, attribution.at),
      };
      const before = new Set(projectsOf(held));
      const after = new Set(projectsOf(next));
      const { counts, version } = await counters.readAssetVersion(orgId, held.id);
      await table.transact([
        unchangedPut(orgId, held, next),
        { Put: { Item: entryItem(orgId, next) } },
        ...[...before.difference(after)].map((id) => countWrite(orgId, id, 'asset_count', -1)),
        ...[...after.difference(before)].map((id) => countWrite(orgId, id, 'asset_count', 1)),
        ...counters.moveWrites(orgId, countedPlace(held), countedPlace(next), counts.own),
        counters.unchangedCheck(orgId, held.id, version),
        // Other policies may judge it from now on; the sweep takes it up.
        reevaluationWrite({ orgId, assetId: held.id }, attribution.at),
        auditWrite(orgId, attribution, {
          action: next.project_id === null ? 'asset.unassign' : 'asset.assign',
          target: { type: 'asset', id: held.id },
          changes: {
            project_id: { before: held.project_id, after: next.project_id },
            sub_project_id: { before: held.sub_project_id, after: next.sub_project_id },
          },
        }),
      ]);
      return next;
    },

    /** What a checkout taught: when the asset was scanned, and its default branch where `branch` names it. */
    async recordCheckout(orgId: string, assetId: string, branch: string | null, at: number): Promise<void> {
      await table.update({
        Key: assetKey(orgId, assetId),
        UpdateExpression: `SET last_scan_at = :at${branch === null ? '' : ', default_branch = :branch'}`,
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeValues: { ':at': timestamp(at), ...(branch !== null && { ':branch': branch }) },
      });
    },
  };
}

/** Refuses a transaction where the asset is gone, or no longer in the project that its findings are counted in. */
export function assetPlaceCheck(
  orgId: string,
  asset: Pick<AssetRecord, 'id'> & Placement,
  otherwise: () => Error,
): Write {
  return {
    ConditionCheck: {
      Key: assetKey(orgId, asset.id),
      ConditionExpression: 'project_id = :project AND sub_project_id = :sub',
      ExpressionAttributeValues: { ':project': asset.project_id, ':sub': asset.sub_project_id },
    },
    otherwise,
  };
}

/** Writes that take an asset away, and out of its project's count: where it is still as it was read. */
export function assetRemovalWrites(orgId: string, asset: AssetRecord): Write[] {
  const moved = () => new ServiceError('conflict', 'The asset was changed by someone else meanwhile');
  const { ConditionCheck: place = { Key: assetKey(orgId, asset.id) } } = assetPlaceCheck(orgId, asset, moved);
  return [
    { Delete: place, otherwise: moved },
    { Delete: { Key: placeKey(orgId, asset) } },
    { Delete: { Key: assetEntryKey(orgId, asset.id) } },
    ...projectsOf(asset).map((id) => countWrite(orgId, id, 'asset_count', -1)),
  ];
}

export function countedPlace(asset: Pick<AssetRecord, 'id'> & Placement) {
  return { assetId: asset.id, projectId: asset.project_id, subProjectId: asset.sub_project_id };
}

function placeKey(orgId: string, asset: Pick<AssetRecord, 'type' | 'name' | 'clone_url'>) {
  return assetPlaceKey(orgId, asset.type, asset.clone_url ?? foldName(asset.name));
}

/** A new name moves the place of an asset that has no URL. */
function movePlaceWrites(orgId: string, held: AssetRecord, next: AssetRecord): Write[] {
  const from = placeKey(orgId, held);
  const to = placeKey(orgId, next);
  if (from.sk === to.sk) return [];
  return [
    { Delete: { Key: from } },
    {
      Put: { Item: { ...to, asset_id: next.id }, ConditionExpression: 'attribute_not_exists(pk)' },
      otherwise: () => new ServiceError('already_exists', 'An asset with this name exists'),
    },
  ];
}

/** Replaces the record if nobody changed it meanwhile, and no scan taught something about it. */
function unchangedPut(orgId: string, held: AssetRecord, next: AssetRecord): Write {
  return {
    Put: {
      Item: { ...assetKey(orgId, next.id), ...next },
      ConditionExpression: 'updated_at = :held AND last_scan_at = :scanned AND default_branch = :branch',
      ExpressionAttributeValues: {
        ':held': held.updated_at,
        ':scanned': held.last_scan_at,
        ':branch': held.default_branch,
      },
    },
    otherwise: () => new ServiceError('conflict', 'The asset was changed by someone else meanwhile'),
  };
}

function entryItem(orgId: string, asset: AssetRecord) {
  return { ...assetEntryKey(orgId, asset.id), ...AssetEntry.parse(asset) };
}
