import { systemClock } from '#domain/clock.ts';
import type { Config } from '#shared/config.ts';
import { createReportBucket } from '#shared/report-bucket.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createFindingWriteStore } from '#store/finding-writes.ts';
import { createManifestStore } from '#store/manifests.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createRunStore } from '#store/runs.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable } from '#store/table.ts';

/** What ingest works with: the same for a run's report and for an import. */
export function ingestDependencies(config: Config<'TABLE_NAME' | 'COUNTER_LANES' | 'REPORT_BUCKET_URL'>) {
  const table = createTable(config.TABLE_NAME);
  const counters = createCounterStore(table, config.COUNTER_LANES);
  return {
    scans: createScanStore(table),
    runs: createRunStore(table),
    assets: createAssetStore(table, counters),
    manifests: createManifestStore(table),
    writes: createFindingWriteStore(table, counters),
    bucket: createReportBucket(config.REPORT_BUCKET_URL),
    clock: systemClock,
    readAutoResolve: createOrganizationStore(table).readAutoResolve,
  };
}
