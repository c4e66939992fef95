import type { AssetRecord, AssetStore } from '#store/assets.ts';
import { DefaultBranchTaken } from '#store/imports.ts';
import type { ManifestStore } from '#store/manifests.ts';

/** What the branch of an import is to its asset. */
export interface BranchRole {
  /** Whether the import moves what the organization sees (design 5). */
  readonly isDefault: boolean;
  /** Whether the asset takes it for its default branch from now on. */
  readonly becomesDefault: boolean;
}

interface Dependencies {
  readonly assets: Pick<AssetStore, 'require'>;
  readonly manifests: Pick<ManifestStore, 'isKnown'>;
}

/**
 * Accepts an import by what its branch is to the asset; of several that want to name the default branch at
 * once one is the first, and the others are decided about anew.
 */
export async function inBranch<T>(
  orgId: string,
  asset: AssetRecord,
  branch: string | null,
  { assets, manifests }: Dependencies,
  accept: (role: BranchRole) => Promise<T>,
): Promise<T> {
  try {
    return await accept(await roleOf(orgId, asset, branch, manifests));
  } catch (error) {
    if (!(error instanceof DefaultBranchTaken)) throw error;
    const now = await assets.require(orgId, asset.id);
    return accept(await roleOf(orgId, now, branch, manifests));
  }
}

/**
 * An import without a branch is of the default one. One that names a branch where the asset knows none makes
 * it the default one as long as nothing is known of the asset: what has no repository to ask has no other way
 * to tell. Later it would resolve what imports without a branch have brought, and who knows better can say so.
 */
async function roleOf(
  orgId: string,
  { id, default_branch, last_scan_at }: AssetRecord,
  branch: string | null,
  manifests: Dependencies['manifests'],
): Promise<BranchRole> {
  if (branch === null || branch === default_branch) return { isDefault: true, becomesDefault: false };
  // What was accepted and is not taken in yet is no less there.
  const fresh = default_branch === null && last_scan_at === null;
  const first = fresh && !(await manifests.isKnown(orgId, id));
  return { isDefault: first, becomesDefault: first };
}
