import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { systemClock } from '#domain/clock.ts';
import { DispatchRequested } from '#events/pipeline.ts';
import { readConfig } from '#shared/config.ts';
import { createExecutions } from '#shared/executions.ts';
import { handleBatch } from '#shared/sqs-batch.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createRunnerPlaceStore } from '#store/runner-places.ts';
import { createRunStore } from '#store/runs.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable } from '#store/table.ts';
import { dispatchRuns } from './dispatch.ts';

const config = readConfig(['TABLE_NAME', 'RUN_STATE_MACHINE_ARN', 'ASPM_MAX_RUNNERS']);
const table = createTable(config.TABLE_NAME);
const dependencies = {
  scans: createScanStore(table),
  runs: createRunStore(table),
  organizations: createOrganizationStore(table),
  executions: createExecutions(config.RUN_STATE_MACHINE_ARN),
  places: createRunnerPlaceStore(table),
  maxRunners: config.ASPM_MAX_RUNNERS,
  clock: systemClock,
};

export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  return handleBatch(event, DispatchRequested, (message) => dispatchRuns(message, dependencies));
}
