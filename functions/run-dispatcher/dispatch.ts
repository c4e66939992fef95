import type { DispatchRequested } from '#events/pipeline.ts';
import type { DispatcherDependencies } from './dependencies.ts';
import { takeTurns } from './turns.ts';
import { openWaitingRuns } from './waiting-runs.ts';

/**
 * Starts as many of an organization's waiting runs as its tier has scanner processes for, the oldest scan's first.
 * Where the deployment bounds its runners, organizations take turns at their places.
 */
export async function dispatchRuns(
  { org_id: orgId, has_turns: hasTurns }: DispatchRequested,
  dependencies: DispatcherDependencies,
): Promise<void> {
  if (dependencies.maxRunners > 0) {
    await takeTurns(orgId, dependencies);
    return;
  }
  await startAll(orgId, dependencies);
  if (hasTurns) await endTurns(dependencies);
}

async function startAll(orgId: string, dependencies: DispatcherDependencies): Promise<void> {
  const waiting = openWaitingRuns(orgId, dependencies);
  while ((await waiting.startNext(null)) === 'started');
}

/** There was a bound once: nobody waits for a place any more. Read only where the sweep has seen some. */
async function endTurns(dependencies: DispatcherDependencies): Promise<void> {
  const failed: unknown[] = [];
  for (const { orgId } of (await dependencies.places.read()).turns) {
    try {
      await startAll(orgId, dependencies);
      await dependencies.places.withdraw(orgId);
    } catch (error) {
      // What is wrong with one organization holds up no other.
      failed.push(error);
    }
  }
  if (failed.length > 0) throw failed[0];
}
