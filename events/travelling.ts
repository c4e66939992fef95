import * as z from 'zod';

/**
 * What every message of our own queues carries beside its own fields, where a request set it off: the id that its
 * answer showed. Messages of older versions, and of schedules, have none.
 */
export const Travelling = z.object({ request_id: z.string().optional() });
