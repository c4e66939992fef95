/** Where time comes from; tests inject their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** ISO 8601 UTC with milliseconds: how every time is stored and shown. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/**
 * A time of change that is later than the one before, also where the clock has not moved on or another one is
 * ahead: conditions on the time of the last change then tell every change from every other.
 */
export function timestampAfter(earlier: string, milliseconds: number): string {
  return timestamp(Math.max(milliseconds, Date.parse(earlier) + 1));
}
