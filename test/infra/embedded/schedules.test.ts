import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { rateOf, startSchedules } from '#infra/local/schedules.ts';

describe('schedules', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it.each([
    ['rate(1 minute)', 60_000],
    ['rate(5 minutes)', 300_000],
    ['rate(2 hours)', 7_200_000],
    ['rate(1 day)', 86_400_000],
  ])('%s', (expression, milliseconds) => {
    expect(rateOf(expression)).toBe(milliseconds);
  });

  it('refuse an expression that would never come true here', () => {
    expect(() => rateOf('cron(0 12 * * ? *)')).toThrow('cron(0 12 * * ? *)');
  });

  it('run their function again and again, also after it failed, until they are stopped', async () => {
    const invoke = vi.fn().mockRejectedValueOnce(new Error('once')).mockResolvedValue(null);
    const schedules = startSchedules([{ expression: 'rate(1 minute)', functionName: 'sweep' }], { invoke });
    await vi.advanceTimersByTimeAsync(180_000);
    expect(invoke).toHaveBeenCalledTimes(3);
    await schedules.tick('sweep');
    expect(invoke).toHaveBeenCalledTimes(4);
    await expect(schedules.tick('other')).rejects.toThrow('other');
    schedules.stop();
    await vi.advanceTimersByTimeAsync(180_000);
    expect(invoke).toHaveBeenCalledTimes(4);
  });
});
