import type { Functions } from './functions.ts';
import type { CloudModel } from './model.ts';

const UNITS: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/** Milliseconds of `rate(5 minutes)`, the one kind of expression that the service uses. */
export function rateOf(expression: string): number {
  const [, count = '', unit = ''] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? [];
  const length = UNITS[unit];
  if (length === undefined) throw new Error(`The embedded cloud can't keep the schedule ${expression}`);
  return Number(count) * length;
}

export interface Schedules {
  /** Runs a schedule's function now. */
  tick(functionName: string): Promise<void>;
  stop(): void;
}

/** A timer for each schedule. What fails is in the function's log; the next time is another try. */
export function startSchedules(schedules: CloudModel['schedules'], functions: Functions): Schedules {
  const run = (functionName: string, expression: string) =>
    functions.invoke(functionName, {
      version: '0',
      source: 'aws.events',
      'detail-type': 'Scheduled Event',
      time: new Date().toISOString(),
      detail: { expression },
    });
  const timers = schedules.map(({ expression, functionName }) => {
    const timer = setInterval(() => void run(functionName, expression).catch(() => {}), rateOf(expression));
    return timer.unref();
  });
  return {
    async tick(functionName) {
      const found = schedules.find((schedule) => schedule.functionName === functionName);
      if (!found) throw new Error(`No schedule runs ${functionName}`);
      await run(functionName, found.expression);
    },
    stop() {
      for (const timer of timers) clearInterval(timer);
    },
  };
}
