import type { ReevaluationRequested } from '#events/reevaluations.ts';
import { logError } from './log.ts';
import type { Queue } from './queue.ts';

/** Asks for the work of a re-evaluation that was recorded: where the message is lost, the sweep sends it again. */
export async function requestReevaluation(
  reevaluations: Queue<ReevaluationRequested>,
  message: ReevaluationRequested,
): Promise<void> {
  try {
    await reevaluations.send(message);
  } catch (error) {
    logError('re-evaluation not sent; the sweep will', error, { ...message });
  }
}
