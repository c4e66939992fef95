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
