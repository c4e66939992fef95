import { systemClock } from '#domain/clock.ts';
import type { DeletionRequested } from '#events/deletions.ts';
import type { ExportRequested } from '#events/exports.ts';
import type { ImportRequested } from '#events/pipeline.ts';
import type { ReevaluationRequested } from '#events/reevaluations.ts';
import { readConfig } from '#shared/config.ts';
import { createExecutions } from '#shared/executions.ts';
import { createQueue } from '#shared/queue.ts';
import { createExportStore } from '#store/exports.ts';
import { createManifestStore } from '#store/manifests.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { listPendingDeletions } from '#store/pending-deletions.ts';
import { createReevaluationStore } from '#store/reevaluations.ts';
import { createRunnerPlaceStore } from '#store/runner-places.ts';
import { createRunStore } from '#store/runs.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable } from '#store/table.ts';
import { sweep } from './sweep.ts';

const config = readConfig([
  'TABLE_NAME',
  'SCAN_QUEUE_URL',
  'DISPATCH_QUEUE_URL',
  'RUN_STATE_MACHINE_ARN',
  'DELETION_QUEUE_URL',
  'IMPORT_QUEUE_URL',
  'EXPORT_QUEUE_URL',
  'REEVALUATION_QUEUE_URL',
]);
const table = createTable(config.TABLE_NAME);
const dependencies = {
  scans: createScanStore(table),
  runs: createRunStore(table),
  places: createRunnerPlaceStore(table),
  organizations: createOrganizationStore(table),
  executions: createExecutions(config.RUN_STATE_MACHINE_ARN),
  scanRequests: createQueue<{ org_id: string; scan_id: string }>(config.SCAN_QUEUE_URL),
  dispatchRequests: createQueue<{ org_id: string }>(config.DISPATCH_QUEUE_URL),
  clock: systemClock,
  listPendingDeletions: () => listPendingDeletions(table),
  manifests: createManifestStore(table),
  importRequests: createQueue<ImportRequested>(config.IMPORT_QUEUE_URL),
  exports: createExportStore(table),
  exportRequests: createQueue<ExportRequested>(config.EXPORT_QUEUE_URL),
  reevaluations: createReevaluationStore(table),
  reevaluationRequests: createQueue<ReevaluationRequested>(config.REEVALUATION_QUEUE_URL),
  deletions: createQueue<DeletionRequested>(config.DELETION_QUEUE_URL),
};

export async function handler(): Promise<void> {
  await sweep(dependencies);
}
