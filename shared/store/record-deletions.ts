import * as z from 'zod';
import type { Attribution } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { notFound, ServiceError } from '#domain/errors.ts';
import { placementOf, projectsOf, type Route } from '#domain/placement.ts';
import { type AssetStore, assetRemovalWrites, countedPlace } from './assets.ts';
import { auditWrite } from './audit.ts';
import type { CounterStore } from './counters.ts';
import { deletingAssetWrite, forgetDeletingAsset } from './deleting-assets.ts';
import { suppressionEndsOf } from './finding-purge.ts';
import {
  assetFindingsPartition,
  branchFindingsPartition,
  deletedRunsKey,
  deletionKey,
  reevaluationKey,
  routedCountersKey,
  routeKey,
  runRefKey,
  runsPartition,
  scanKey,
  scansPartition,
} from './keys.ts';
import { listManifests } from './manifests.ts';
import { originPartitions } from './organization-purge.ts';
import { createPurging, type KeepGoing, keyOf } from './purging.ts';
import type { ScanRecord } from './scans.ts';
import { applied, type Key, type Table } from './table.ts';

/** All that says that findings of an asset were put there. */
function routeKeys(orgId: string, assetId: string, route: Route): Key[] {
  const projects = projectsOf(placementOf(route));
  return [
    ...projects.map((id) => routeKey(orgId, id, assetId, route)),
    routedCountersKey(orgId, assetId, route),
  ];
}

/** How often a deletion is tried again because findings of the asset were being written. */
const ATTEMPTS = 8;

/** `more`: the time was up. `later`: nothing is left to be seen, but an index may lag, or a scan still runs. */
export type DeletionProgress = 'more' | 'later' | 'done';

export type RecordDeletions = ReturnType<typeof createRecordDeletions>;

/**
 * Deleting assets and scans: accepted at once, in one transaction with the counters, and carried out in
 * the background in bounded batches.
 */
export function createRecordDeletions(table: Table, assets: AssetStore, counters: CounterStore) {
  const purging = createPurging(table);

  /** What belongs to a scan alone. */
  async function emptyScan(orgId: string, scanId: string, keepGoing: KeepGoing): Promise<boolean> {
    const runs = { pk: runsPartition(orgId, scanId) };
    return (
      (await purging.empty(branchFindingsPartition(orgId, scanId), keepGoing)) &&
      (await purging.eachPage(runs, keepGoing, async (items) => {
        const runIds = items.map((item) => item.id).filter((id) => typeof id === 'string');
        const refs = runIds.map((id) => runRefKey(orgId, id));
        await table.deleteAll([...refs, ...items.map(keyOf)]);
      }))
    );
  }

  /** Scans of an asset alone; `running`: that one has not ended yet, and goes with a later look. */
  async function listOwnScans(orgId: string, assetId: string) {
    const items = await table.queryAll({
      KeyConditionExpression: 'pk = :pk',
      FilterExpression: '#scope = :asset AND target_id = :id',
      ProjectionExpression: 'sk, #status',
      ExpressionAttributeNames: { '#scope': 'scope', '#status': 'status' },
      ExpressionAttributeValues: { ':pk': scansPartition(orgId), ':asset': 'asset', ':id': assetId },
      ConsistentRead: true,
    });
    return items.map((item) => ({
      id: z.string().parse(item.sk),
      running: item.status === 'running' || item.status === 'queued',
    }));
  }

  async function removeRouted(orgId: string, assetId: string): Promise<void> {
    for (const some of await counters.readRoutedLeft(orgId, assetId))
      await applied(table.transact(counters.removeRoutedWrites(orgId, assetId, some)));
  }

  /** One look finds nothing, and so must another one a while later: real indexes lag behind the table. */
  async function confirmEmpty(orgId: string, part: string, now: number): Promise<DeletionProgress> {
    const seen = await table.update({
      Key: deletionKey(orgId, part),
      UpdateExpression: 'SET emptied_at = if_not_exists(emptied_at, :now)',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeValues: { ':now': timestamp(now) },
      ReturnValues: 'ALL_NEW',
    });
    if (!seen) return 'done';
    if (now - Date.parse(z.string().parse(seen.emptied_at)) < 30_000) return 'later';
    await table.deleteAll([deletionKey(orgId, part)]);
    return 'done';
  }

  return {
    /**
     * Takes the asset away from now on, with all that it counts for.
     * @throws ServiceError not_found, conflict (findings of it are being written all the time)
     */
    async beginAsset(orgId: string, assetId: string, attribution: Attribution): Promise<void> {
      for (let attempt = 1; ; attempt += 1) {
        const [asset, { counts, version }] = await Promise.all([
          assets.require(orgId, assetId),
          counters.readAssetVersion(orgId, assetId),
        ]);
        // After the version, which tells where it moves.
        const routed = await counters.readRoutedLeft(orgId, assetId);
        const [together = []] = routed.length > 1 ? [] : routed;
        try {
          await table.transact([
            ...assetRemovalWrites(orgId, asset),
            ...counters.removeAssetWrites(orgId, countedPlace(asset), counts, version, together),
            deletingAssetWrite(orgId, assetId),
            { Delete: { Key: reevaluationKey(orgId, assetId) } },
            {
              Put: {
                Item: {
                  ...deletionKey(orgId, `asset#${assetId}`),
                  kind: 'asset',
                  org_id: orgId,
                  asset_id: assetId,
                },
              },
            },
            auditWrite(orgId, attribution, {
              action: 'asset.delete',
              target: { type: 'asset', id: assetId },
              changes: { name: { before: asset.name }, project_id: { before: asset.project_id } },
            }),
          ]);
          // Too many for the same transaction: nothing adds to them any more.
          if (routed.length > 1) await removeRouted(orgId, assetId);
          return;
        } catch (error) {
          const moved = error instanceof ServiceError && error.code === 'conflict';
          if (!moved || attempt === ATTEMPTS) throw error;
        }
      }
    },

    /** Goes on with the deletion of an asset's findings, manifests and scans. */
    async continueAsset(
      orgId: string,
      assetId: string,
      now: number,
      keepGoing: KeepGoing,
      purgeReports: (scanId: string) => Promise<boolean>,
    ): Promise<DeletionProgress> {
      await removeRouted(orgId, assetId);
      const routes = [...(await counters.readRouted(orgId, assetId)).keys()];
      for (const route of [null, ...routes]) {
        const partition = assetFindingsPartition(orgId, assetId, route);
        const ends = (keys: readonly Key[]) => suppressionEndsOf(table, keys);
        if (!(await purging.eachIndexed('gsi2', partition, keepGoing, ends))) return 'more';
      }
      const own = await listOwnScans(orgId, assetId);
      for (const { id, running } of own) {
        if (running) continue;
        if (!(await purgeReports(id)) || !(await emptyScan(orgId, id, keepGoing))) return 'more';
        await table.deleteAll([scanKey(orgId, id)]);
      }
      for (const pk of await originPartitions(table, orgId, assetId))
        if (!(await purging.empty(pk, keepGoing))) return 'more';
      await table.deleteAll((await listManifests(table, orgId, assetId)).map(({ item }) => keyOf(item)));
      if (own.some(({ running }) => running)) return 'later';
      const confirmed = await confirmEmpty(orgId, `asset#${assetId}`, now);
      if (confirmed !== 'done') return confirmed;
      await table.deleteAll(routes.flatMap((route) => routeKeys(orgId, assetId, route)));
      await forgetDeletingAsset(table, orgId, assetId);
      return 'done';
    },

    /** Takes a scan that has ended away from now on. @throws ServiceError conflict, not_found */
    async beginScan(orgId: string, scan: ScanRecord, attribution: Attribution): Promise<void> {
      const running = () => new ServiceError('conflict', 'The scan has not ended: cancel it first');
      if (scan.status === 'queued' || scan.status === 'running') throw running();
      await table.transact([
        {
          Delete: { Key: scanKey(orgId, scan.id), ConditionExpression: 'attribute_exists(pk)' },
          otherwise: () => notFound('scan'),
        },
        { Put: { Item: deletedRunsKey(orgId, scan.id) } },
        {
          Put: {
            Item: { ...deletionKey(orgId, `scan#${scan.id}`), kind: 'scan', org_id: orgId, scan_id: scan.id },
          },
        },
        auditWrite(orgId, attribution, {
          action: 'scan.delete',
          target: { type: 'scan', id: scan.id },
          changes: { scope: { before: scan.scope }, status: { before: scan.status } },
        }),
      ]);
    },

    /** Goes on with the deletion of what belongs to a scan alone. Its findings are the asset's, and stay. */
    async continueScan(orgId: string, scanId: string, keepGoing: KeepGoing): Promise<DeletionProgress> {
      if (!(await emptyScan(orgId, scanId, keepGoing))) return 'more';
      await table.deleteAll([deletionKey(orgId, `scan#${scanId}`)]);
      return 'done';
    },
  };
}
