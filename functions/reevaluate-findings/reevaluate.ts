import { randomUUID } from 'node:crypto';
import type { ReevaluationRequested } from '#events/reevaluations.ts';
import { logInfo } from '#shared/log.ts';
import type { DelayedQueue } from '#shared/queue.ts';
import type { ReevaluationRef, ReevaluationStore } from '#store/reevaluations.ts';
import { goOn, type Stretch, type StretchDependencies } from './stretch.ts';

export interface ReevaluationDependencies extends StretchDependencies {
  readonly reevaluations: Pick<ReevaluationStore, 'take' | 'save' | 'finish'>;
  readonly requests: DelayedQueue<ReevaluationRequested>;
}

/** One message's share: well within the function's time-out. */
const SHARE = 30_000;
/** A scanner's findings are being ingested: they are looked at after so many seconds. */
const BUSY_SECONDS = 2;

/**
 * Lets the policies judge open findings anew, for a while, and asks for another turn where some are left.
 * Safe to repeat: what is judged already is not written again. One at a time works on an organization; a
 * policy that is changed meanwhile makes it begin once more.
 */
export async function reevaluate(
  message: ReevaluationRequested,
  dependencies: ReevaluationDependencies,
): Promise<void> {
  const { reevaluations, requests, clock } = dependencies;
  const ref: ReevaluationRef = { orgId: message.org_id, assetId: message.asset_id };
  const holder = randomUUID();
  const work = await reevaluations.take(ref, holder, clock.now());
  if (!work) return;
  const until = clock.now() + SHARE;
  let reached = work.cursor;
  const stretch: Stretch = {
    ref,
    cursor: work.cursor,
    keepGoing: () => clock.now() < until,
    save: async (cursor) => {
      if (!(await reevaluations.save(ref, holder, cursor, clock.now()))) throw new TakenOver();
      reached = cursor;
    },
  };
  try {
    const outcome = await goOn(stretch, dependencies);
    if (outcome.kind === 'done' && (await reevaluations.finish(ref, holder, work.generation))) {
      logInfo('findings re-evaluated', { org_id: ref.orgId, asset_id: ref.assetId });
      return;
    }
    if (outcome.kind !== 'done') await reevaluations.save(ref, holder, outcome.cursor, clock.now(), true);
    await requests.send(message, outcome.kind === 'busy' ? BUSY_SECONDS : 0);
  } catch (error) {
    if (error instanceof TakenOver) return;
    // What failed may be tried again at once; after a crash the lease has to run out.
    await reevaluations.save(ref, holder, reached, clock.now(), true).catch(() => undefined);
    throw error;
  }
}

/** The lease ran out, and another one goes on. */
class TakenOver extends Error {
  override readonly name = 'TakenOver';
}
