import * as z from 'zod';
import { deletingAssetsKey } from './keys.ts';
import type { Item, Table, Write } from './table.ts';

/**
 * Assets whose findings are still being deleted. Their counts went at once, and their keys stay in the indexes
 * until the last finding has gone: lists have to pass them.
 */
export type DeletingAssets = ReadonlySet<string>;

export function parseDeletingAssets(item: Item | null): DeletingAssets {
  return z.object({ assets: z.set(z.string()).default(new Set()) }).parse(item ?? {}).assets;
}

/** In the transaction that takes the asset away. */
export function deletingAssetWrite(orgId: string, assetId: string): Write {
  return { Update: change(orgId, 'ADD', assetId) };
}

/** Nothing of it is left in the indexes. */
export async function forgetDeletingAsset(table: Table, orgId: string, assetId: string): Promise<void> {
  await table.update(change(orgId, 'DELETE', assetId));
}

function change(orgId: string, action: 'ADD' | 'DELETE', assetId: string) {
  return {
    Key: deletingAssetsKey(orgId),
    UpdateExpression: `${action} assets :assets`,
    ExpressionAttributeValues: { ':assets': new Set([assetId]) },
  };
}
