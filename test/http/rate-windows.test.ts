import { describe, expect, it } from 'vitest';
import { organizationWindow, tightest, windowOf } from '#http/rate-windows.ts';

const NOON = Date.UTC(2026, 0, 1, 12, 0, 30);

describe('rate windows', () => {
  it('are aligned to the clock, and refuse from the one after the limit on', () => {
    expect(windowOf(60, 60, 60_000, NOON)).toEqual({
      limit: 60,
      remaining: 0,
      reset: NOON / 1000 + 30,
      retryAfter: null,
    });
    expect(windowOf(60, 61, 60_000, NOON)).toEqual({
      limit: 60,
      remaining: 0,
      reset: NOON / 1000 + 30,
      retryAfter: 30,
    });
  });

  it('show the one with the least left', () => {
    const counts = { minute: 10, hour: 995, endpoint: null, tier: 'free' as const };
    expect(organizationWindow(counts, null, 1, NOON)).toMatchObject({ limit: 1000, remaining: 5 });
    expect(organizationWindow({ ...counts, hour: 10 }, null, 1, NOON)).toMatchObject({
      limit: 60,
      remaining: 50,
    });
  });

  it('show the one that lasts longest where several are used up', () => {
    const used = [
      windowOf(10, 11, 60_000, NOON),
      windowOf(10, 11, 3_600_000, NOON),
      windowOf(10, 1, 60_000, NOON),
    ];
    expect(tightest(used).retryAfter).toBe(3570);
  });
});
