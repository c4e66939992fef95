import type { DeletionRequested } from '#events/deletions.ts';
import { logError } from './log.ts';
import type { Queue } from './queue.ts';

/** Asks for the work of a deletion that was recorded: where the message is lost, the sweep sends it again. */
export async function requestDeletion(
  deletions: Queue<DeletionRequested>,
  message: DeletionRequested,
): Promise<void> {
  try {
    await deletions.send(message);
  } catch (error) {
    logError('deletion not sent; the sweep will', error, { ...message });
  }
}
