import { assets } from '#contract/operations/assets.ts';
import { systemClock } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import { createHandler } from '#http/chain.ts';
import { readConfig } from '#shared/config.ts';
import { createHostCheck } from '#shared/network/named-hosts.ts';
import { createQueue } from '#shared/queue.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createProjectStore } from '#store/projects.ts';
import { createRecordDeletions } from '#store/record-deletions.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable } from '#store/table.ts';
import { assetOperations } from './operations.ts';

const config = readConfig([
  'TABLE_NAME',
  'COUNTER_LANES',
  'SCAN_QUEUE_URL',
  'DELETION_QUEUE_URL',
  'SCANNERS',
  'ASPM_ALLOW_LOCAL_REPOSITORIES',
  'ASPM_ALLOW_PRIVATE_ADDRESSES',
]);
const table = createTable(config.TABLE_NAME);
const counters = createCounterStore(table, config.COUNTER_LANES);

const store = createAssetStore(table, counters);

export const handler = createHandler(assets, assetOperations, {
  assets: store,
  records: createRecordDeletions(table, store, counters),
  deletions: createQueue(config.DELETION_QUEUE_URL),
  projects: createProjectStore(table, counters),
  organizations: createOrganizationStore(table),
  scans: createScanStore(table),
  scanRequests: createQueue(config.SCAN_QUEUE_URL),
  counters,
  clock: systemClock,
  ids: createIds(systemClock),
  scanners: config.SCANNERS,
  allowLocal: config.ASPM_ALLOW_LOCAL_REPOSITORIES,
  reachable: config.ASPM_ALLOW_PRIVATE_ADDRESSES,
  mayUseHost: createHostCheck(config.ASPM_ALLOW_PRIVATE_ADDRESSES),
});
