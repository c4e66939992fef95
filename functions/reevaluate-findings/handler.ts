import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { ReevaluationRequested } from '#events/reevaluations.ts';
import { readConfig } from '#shared/config.ts';
import { judgeDependencies } from '#shared/judging/dependencies.ts';
import { createQueue } from '#shared/queue.ts';
import { handleBatch } from '#shared/sqs-batch.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { createFindingWriteStore } from '#store/finding-writes.ts';
import { createJudgedOrganizationStore } from '#store/judged-organizations.ts';
import { createManifestStore } from '#store/manifests.ts';
import { createReevaluationStore } from '#store/reevaluations.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable } from '#store/table.ts';
import { reevaluate } from './reevaluate.ts';

const config = readConfig(['TABLE_NAME', 'COUNTER_LANES', 'POLICY_ASSETS_DIR', 'REEVALUATION_QUEUE_URL']);
const table = createTable(config.TABLE_NAME);
const counters = createCounterStore(table, config.COUNTER_LANES);
const dependencies = {
  reevaluations: createReevaluationStore(table),
  assets: createAssetStore(table, counters),
  manifests: createManifestStore(table),
  scans: createScanStore(table),
  judged: createJudgedOrganizationStore(table),
  writes: createFindingWriteStore(table, counters),
  requests: createQueue<ReevaluationRequested>(config.REEVALUATION_QUEUE_URL),
  ...judgeDependencies(table, counters, config.POLICY_ASSETS_DIR),
};

export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  return handleBatch(event, ReevaluationRequested, (message) => reevaluate(message, dependencies));
}
