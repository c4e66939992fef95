import type { Config } from '#shared/config.ts';
import { judgeDependencies } from '#shared/judging/dependencies.ts';
import { createReportBucket } from '#shared/report-bucket.ts';
import { createAssetStore } from '#store/assets.ts';
import { type CounterStore, createCounterStore } from '#store/counters.ts';
import { createFindingWriteStore } from '#store/finding-writes.ts';
import { createManifestStore } from '#store/manifests.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createRunStore } from '#store/runs.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable, type Table } from '#store/table.ts';
import { reportReader } from './reader/report-reader.ts';

/** What ingest works with: the same for a run's report and for an import. */
export function ingestDependencies(
  config: Config<'TABLE_NAME' | 'COUNTER_LANES' | 'REPORT_BUCKET_URL' | 'POLICY_ASSETS_DIR'>,
) {
  const table = createTable(config.TABLE_NAME);
  const counters = createCounterStore(table, config.COUNTER_LANES);
  return ingestDependenciesOf(table, counters, config);
}

/** The same over a table of the caller's. */
export function ingestDependenciesOf(
  table: Table,
  counters: CounterStore,
  config: Config<'REPORT_BUCKET_URL' | 'POLICY_ASSETS_DIR'>,
) {
  return {
    scans: createScanStore(table),
    runs: createRunStore(table),
    assets: createAssetStore(table, counters),
    manifests: createManifestStore(table),
    writes: createFindingWriteStore(table, counters),
    bucket: createReportBucket(config.REPORT_BUCKET_URL),
    reader: reportReader(),
    readAutoResolve: createOrganizationStore(table).readAutoResolve,
    ...judgeDependencies(table, counters, config.POLICY_ASSETS_DIR),
  };
}
