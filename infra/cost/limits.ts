import { TIER_LIMITS } from '#contract/limits.ts';
import {
  averageCall,
  dailyScan,
  type Load,
  type Standing,
  secondsOn,
  TRANSITIONS_OF_A_RUN,
} from './month.ts';
import type { Counts, Usage } from './usage.ts';

export interface Limit {
  readonly name: string;
  /** What an account of its own, or our own setting, allows. */
  readonly allowed: number;
  readonly unit: string;
  /** What the load takes of it in its busiest hour. */
  readonly used: number;
  readonly liftedBy: string;
}

const SECONDS_OF_A_MONTH = 30 * 24 * 3600;
/** The busiest minute of a month over its average. */
const PEAK = 10;
/** Daily scans are wanted within one night. */
const NIGHT_SECONDS = 8 * 3600;
/** `COUNTER_LANES` of the deployment. */
const LANES = 8;

/** What a load takes of each limit that it could reach first, all of it in one organization, at its peak. */
export function limitsOf(load: Load, counts: Counts, standing: Standing): Limit[] {
  const callsASecond = (load.calls / SECONDS_OF_A_MONTH) * PEAK;
  const scansASecond = load.repositories / NIGHT_SECONDS;
  const call = averageCall(counts);
  const scan = dailyScan(counts, load);
  const changed = (load.findings * load.churn) / NIGHT_SECONDS;
  const concurrent = (usage: Usage) =>
    Object.values(usage.invocations).reduce(
      (total, { milliseconds, memory }) => total + secondsOn(memory, milliseconds),
      0,
    );
  return [
    {
      name: 'Our own bound of runners',
      allowed: standing.runners,
      unit: 'at once',
      used: scansASecond * load.scanMinutes * 60,
      liftedBy: '`-c maxRunners=…`, as far as the account’s vCPUs go; until then scans wait',
    },
    {
      name: 'Fargate, vCPUs of a new account',
      allowed: 6,
      unit: 'vCPUs',
      used: scansASecond * load.scanMinutes * 60 * standing.task.vcpus,
      liftedBy: 'quota "Fargate On-Demand vCPU resource count"; until then scans wait in their queue',
    },
    {
      name: 'Fargate, tasks started a second',
      allowed: 20,
      unit: 'a second',
      used: scansASecond,
      liftedBy: 'quota of RunTask; the state machine tries again meanwhile',
    },
    {
      name: 'Scanners of an organization at once (tier enterprise)',
      allowed: TIER_LIMITS.enterprise.concurrentScanners,
      unit: 'processes',
      used: scansASecond * load.scanMinutes * 60 * counts.scan.scanners,
      liftedBy: 'TIER_LIMITS in shared/contract/limits.ts; several organizations',
    },
    {
      name: 'Calls of an organization (tier enterprise)',
      allowed: TIER_LIMITS.enterprise.requestsPerMinute,
      unit: 'a minute',
      used: callsASecond * 60,
      liftedBy: 'TIER_LIMITS in shared/contract/limits.ts; several organizations',
    },
    {
      name: 'Lambda, concurrency of an account',
      allowed: 1000,
      unit: 'at once',
      used: callsASecond * concurrent(call) + scansASecond * concurrent(scan),
      liftedBy: 'quota "Concurrent executions" (a new account may have 10: raise it before anything else)',
    },
    {
      name: 'Our own throttle of the API',
      allowed: 2000,
      unit: 'requests a second',
      used: callsASecond,
      liftedBy: 'rateLimit in infra/api/api.ts',
    },
    {
      name: 'API Gateway, requests of an account',
      allowed: 10_000,
      unit: 'requests a second',
      used: callsASecond,
      liftedBy: 'quota "Throttle rate"',
    },
    {
      name: 'Rate counter of one organization, one partition',
      allowed: 1000,
      unit: 'writes a second',
      used: callsASecond,
      liftedBy: 'the tier ends before it: 1,000 calls a minute an organization',
    },
    {
      name: 'Reads of one organization’s counters, one partition',
      allowed: 3000,
      unit: 'units a second',
      // At most: where each call is a list or a summary.
      used: callsASecond * LANES,
      liftedBy:
        'DynamoDB splits by sort key under lasting load; else fewer COUNTER_LANES for who writes little',
    },
    {
      name: 'Findings of one organization, one index partition',
      allowed: 1000,
      unit: 'writes a second',
      // Out of the open cells, into the others: a change is two writes of a place.
      used: 2 * changed * 2,
      liftedBy: 'DynamoDB splits by sort key under lasting load; else scans over more of the day',
    },
    {
      name: 'Writes of one organization’s counters, by lanes',
      allowed: LANES * 500,
      unit: 'transactions a second',
      used: 2 * changed + scansASecond * counts.scan.scanners,
      liftedBy: 'COUNTER_LANES in infra/stack.ts',
    },
    {
      name: 'Table, write units a second',
      allowed: 40_000,
      unit: 'units',
      used: callsASecond * call.writeUnits + scansASecond * scan.writeUnits,
      liftedBy: 'quota "Table-level write throughput"; a new table begins at 4,000: warm throughput',
    },
    {
      name: 'Table, read units a second',
      allowed: 40_000,
      unit: 'units',
      used: callsASecond * call.readUnits + scansASecond * scan.readUnits,
      liftedBy: 'quota "Table-level read throughput"; a new table begins at 12,000: warm throughput',
    },
    {
      name: 'Step Functions, executions started',
      allowed: 300,
      unit: 'a second',
      used: scansASecond,
      liftedBy: 'quota of StartExecution; the dispatcher tries again meanwhile',
    },
    {
      name: 'Step Functions, state transitions',
      allowed: 1500,
      unit: 'a second',
      used: scansASecond * (TRANSITIONS_OF_A_RUN + counts.scan.scanners),
      liftedBy: 'quota of state transitions',
    },
  ];
}

/** How many times the load a limit bears. */
export function factorOf({ allowed, used }: Limit): number {
  return used === 0 ? Number.POSITIVE_INFINITY : allowed / used;
}
