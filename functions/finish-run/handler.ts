import { systemClock } from '#domain/clock.ts';
import { FinishRunStep } from '#events/pipeline.ts';
import { readConfig } from '#shared/config.ts';
import { createQueue } from '#shared/queue.ts';
import { withRequestId } from '#shared/request-scope.ts';
import { createRunStore } from '#store/runs.ts';
import { createScanStore } from '#store/scans.ts';
import { createTable } from '#store/table.ts';
import { finishRun } from './finish-run.ts';

const config = readConfig(['TABLE_NAME', 'SCAN_QUEUE_URL', 'DISPATCH_QUEUE_URL']);
const table = createTable(config.TABLE_NAME);
const dependencies = {
  scans: createScanStore(table),
  runs: createRunStore(table),
  scanRequests: createQueue<{ org_id: string; scan_id: string }>(config.SCAN_QUEUE_URL),
  dispatchRequests: createQueue<{ org_id: string }>(config.DISPATCH_QUEUE_URL),
  clock: systemClock,
};

export async function handler(event: unknown): Promise<void> {
  const step = FinishRunStep.parse(event);
  await withRequestId(step.request_id, () => finishRun(step, dependencies));
}
