import { scans } from '#contract/operations/scans.ts';
import { systemClock } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import { createHandler } from '#http/chain.ts';
import { readConfig } from '#shared/config.ts';
import { createQueue } from '#shared/queue.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createFindingStore } from '#store/findings.ts';
import { createManifestStore } from '#store/manifests.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createProjectStore } from '#store/projects.ts';
import { createRecordDeletions } from '#store/record-deletions.ts';
import { createRunStore } from '#store/runs.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable } from '#store/table.ts';
import { scanOperations } from './operations.ts';

const config = readConfig(['TABLE_NAME', 'COUNTER_LANES', 'SCAN_QUEUE_URL', 'DELETION_QUEUE_URL']);
const table = createTable(config.TABLE_NAME);
const counters = createCounterStore(table, config.COUNTER_LANES);

const assets = createAssetStore(table, counters);

export const handler = createHandler(scans, scanOperations, {
  assets,
  records: createRecordDeletions(table, assets, counters),
  deletions: createQueue(config.DELETION_QUEUE_URL),
  projects: createProjectStore(table, counters),
  organizations: createOrganizationStore(table),
  scans: createScanStore(table),
  runs: createRunStore(table),
  manifests: createManifestStore(table),
  findings: createFindingStore(table, counters),
  scanRequests: createQueue(config.SCAN_QUEUE_URL),
  clock: systemClock,
  ids: createIds(systemClock),
});
