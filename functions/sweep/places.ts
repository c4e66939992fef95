import type { Clock } from '#domain/clock.ts';
import type { DispatchRequested } from '#events/pipeline.ts';
import { logWarning } from '#shared/log.ts';
import type { Queue } from '#shared/queue.ts';
import type { RunnerPlaceStore } from '#store/runner-places.ts';
import type { RunStore } from '#store/runs.ts';

export interface PlaceDependencies {
  readonly places: RunnerPlaceStore;
  readonly runs: RunStore;
  readonly dispatchRequests: Queue<DispatchRequested>;
  readonly clock: Clock;
}

/** Whoever still waits has asked again long before. */
const FORGOTTEN = 24 * 60 * 60_000;

/**
 * Gives back the places of runs that are gone without an end (their organization or asset was deleted), and has the
 * free ones given out. A run that is lost gives its place back when it is ended.
 */
export async function sweepPlaces({
  places,
  runs,
  dispatchRequests,
  clock,
}: PlaceDependencies): Promise<void> {
  const { held, turns } = await places.read();
  for (const one of held) {
    const run = await runs.get(one.orgId, one.scanId, one.assetId);
    if (run?.id === one.runId && run.status === 'running' && run.place === one.place) continue;
    if (await places.free(one))
      logWarning('a place of a run that is gone was given back', { org_id: one.orgId, run_id: one.runId });
  }
  const [first] = turns.toSorted((a, b) => a.turn - b.turn);
  if (!first) return;
  if (clock.now() - first.turn > FORGOTTEN) await places.withdraw(first.orgId);
  await dispatchRequests.send({ org_id: first.orgId, has_turns: true });
}
