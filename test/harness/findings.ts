import { type AssetRecord, countedPlace, createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import type { FindingRecord } from '#store/finding-record.ts';
import { createFindingWriteStore } from '#store/finding-writes.ts';

import { type TestOrganization, testTable } from './organization.ts';
import { sampleAsset, sampleFinding, testAttribution } from './samples.ts';

/** Findings below the API, as an ingest writes them, in an asset of their own. */
export async function seedFindings(
  org: TestOrganization,
  changes: readonly Partial<FindingRecord>[],
  assetChange: Partial<AssetRecord> = {},
): Promise<{ asset: AssetRecord; records: FindingRecord[] }> {
  const table = testTable();
  const counters = createCounterStore(table, 1);
  const asset = sampleAsset(assetChange);
  await createAssetStore(table, counters).create(org.orgId, asset, testAttribution());
  const records = changes.map((change) => sampleFinding(org.orgId, asset.id, change));
  const scope = { orgId: org.orgId, place: countedPlace(asset), guards: [] };
  await createFindingWriteStore(table, counters).createAll(scope, records);
  return { asset, records };
}
