import { ADDRESS_REQUESTS_PER_MINUTE, ENDPOINT_LIMITS, TIER_LIMITS } from '#contract/limits.ts';
import type { RateCounts } from '#store/rate-counters.ts';
import type { RateWindow } from './caller.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;

/** The endpoint's own limit, where the operation has one. */
export function endpointLimit(method: string, path: string) {
  return ENDPOINT_LIMITS.find((limit) => limit.method === method && limit.path === path) ?? null;
}

/** The windows of an organization's request: minute, hour, and the endpoint's. */
export function organizationWindow(
  counts: RateCounts,
  endpoint: ReturnType<typeof endpointLimit>,
  factor: number,
  now: number,
): RateWindow {
  const tier = counts.tier ?? 'free';
  const limits = TIER_LIMITS[tier];
  const windows = [
    windowOf(limits.requestsPerMinute * factor, counts.minute, MINUTE, now),
    windowOf(limits.requestsPerHour * factor, counts.hour, HOUR, now),
  ];
  if (endpoint && counts.endpoint !== null)
    windows.push(
      windowOf(
        endpoint.limit[tier] * factor,
        counts.endpoint,
        endpoint.window === 'minute' ? MINUTE : HOUR,
        now,
      ),
    );
  return tightest(windows);
}

export function addressWindow(counts: RateCounts, factor: number, now: number): RateWindow {
  return windowOf(ADDRESS_REQUESTS_PER_MINUTE * factor, counts.minute, MINUTE, now);
}

/** `count` is this request's own number within the window: the one after the limit is refused. */
export function windowOf(limit: number, count: number, length: number, now: number): RateWindow {
  const whole = Math.max(1, Math.floor(limit));
  const end = (Math.floor(now / length) + 1) * length;
  return {
    limit: whole,
    remaining: Math.max(0, whole - count),
    reset: Math.ceil(end / 1000),
    retryAfter: count > whole ? Math.max(1, Math.ceil((end - now) / 1000)) : null,
  };
}

/** What the headers speak of: a window that is used up (the one that lasts longest), else the one with the least left. */
export function tightest(windows: readonly RateWindow[]): RateWindow {
  const [first, ...rest] = windows;
  if (!first) throw new Error('A request without a window');
  return rest.reduce((tighter, other) => (isTighter(other, tighter) ? other : tighter), first);
}

function isTighter(a: RateWindow, b: RateWindow): boolean {
  if (a.retryAfter !== null || b.retryAfter !== null) return (a.retryAfter ?? 0) > (b.retryAfter ?? 0);
  return a.remaining < b.remaining;
}
