import { TIER_LIMITS } from '#contract/limits.ts';
import type { Load } from './assumptions.ts';
import { averageCall, averageScan, type Standing, secondsOn, TRANSITIONS_OF_A_RUN } from './month.ts';
import type { Source } from './source.ts';
import type { Counts, Usage } from './usage.ts';

export interface Limit {
  readonly name: string;
  /** What an account of its own, or our own setting, allows. */
  readonly allowed: number;
  readonly unit: string;
  /** What the load takes of it in its busiest hour. */
  readonly used: number;
  readonly liftedBy: string;
  /** Where a quota of AWS was read; `ours` where the project sets it. */
  readonly source: Source | 'ours';
}

const SECONDS_OF_A_MONTH = 30 * 24 * 3600;
/** `COUNTER_LANES` of the deployment. */
const LANES = 8;

const PARTITION: Source = {
  page: 'AWS, "Understanding DynamoDB warm throughput in different scenarios", https://docs.amazonaws.cn/en_us/amazondynamodb/latest/developerguide/warm-throughput-scenarios.html',
  date: 'undated',
};
const TABLE: Source = {
  page: 'AWS, "Quotas in Amazon DynamoDB", https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html',
  date: 'undated',
};
const STATES: Source = {
  page: 'GitHub awsdocs/aws-step-functions-developer-guide, doc_source/limits-overview.md at 28a1c169',
  date: 'undated',
};

/** What a load takes of each limit that it could reach first, all of it in one organization, at its peak. */
export function limitsOf(load: Load, counts: Counts, standing: Standing): Limit[] {
  const night = load.nightHours * 3600;
  const callsASecond = (load.calls / SECONDS_OF_A_MONTH) * load.peak;
  const scansASecond = (load.repositories * load.scansADay) / night;
  const call = averageCall(counts, load);
  const scan = averageScan(counts, load);
  const changed = (load.findings * load.churn) / night;
  const concurrent = (usage: Usage) =>
    Object.values(usage.invocations).reduce(
      (total, { milliseconds, memory }) => total + secondsOn(memory, milliseconds),
      0,
    );
  return [
    {
      name: 'Our own bound of runners',
      source: 'ours',
      allowed: standing.runners,
      unit: 'at once',
      used: scansASecond * load.scanMinutes * 60,
      liftedBy: '`-c maxRunners=…`, as far as the account’s vCPUs go; until then scans wait',
    },
    {
      name: 'Fargate, vCPUs of a new account',
      source: {
        page: 'AWS Batch API reference, ResourceRequirement: "The default for the Fargate On-Demand vCPU resource count quota is 6 vCPUs"',
        date: 'undated',
      },
      allowed: 6,
      unit: 'vCPUs',
      used: scansASecond * load.scanMinutes * 60 * standing.task.vcpus,
      liftedBy: 'quota "Fargate On-Demand vCPU resource count"; until then scans wait in their queue',
    },
    {
      name: 'Fargate, tasks started a second',
      source: {
        page: 'AWS, "AWS Fargate throttling quotas", https://docs.aws.amazon.com/AmazonECS/latest/userguide/throttling.html',
        date: 'undated',
      },
      allowed: 20,
      unit: 'a second',
      used: scansASecond,
      liftedBy: 'quota of RunTask; the state machine tries again meanwhile',
    },
    {
      name: 'Scanners of an organization at once (tier enterprise)',
      source: 'ours',
      allowed: TIER_LIMITS.enterprise.concurrentScanners,
      unit: 'processes',
      used: scansASecond * load.scanMinutes * 60 * counts.scan.scanners,
      liftedBy: 'TIER_LIMITS in shared/contract/limits.ts; several organizations',
    },
    {
      name: 'Calls of an organization (tier enterprise)',
      source: 'ours',
      allowed: TIER_LIMITS.enterprise.requestsPerMinute,
      unit: 'a minute',
      used: callsASecond * 60,
      liftedBy: 'TIER_LIMITS in shared/contract/limits.ts; several organizations',
    },
    {
      name: 'Lambda, concurrency of an account',
      source: {
        page: 'AWS, "Lambda quotas", https://docs.aws.amazon.com/lambda/latest/dg/limits.html; the 10 of a new account: GitHub awslabs/fhir-works-on-aws-deployment, issue 691 of 2022',
        date: 'undated',
      },
      allowed: 1000,
      unit: 'at once',
      used: callsASecond * concurrent(call) + scansASecond * concurrent(scan),
      liftedBy: 'quota "Concurrent executions" (a new account may have 10: raise it before anything else)',
    },
    {
      name: 'Our own throttle of the API',
      source: 'ours',
      allowed: 2000,
      unit: 'requests a second',
      used: callsASecond,
      liftedBy: 'rateLimit in infra/api/api.ts',
    },
    {
      name: 'API Gateway, requests of an account',
      source: {
        page: 'AWS, "Amazon API Gateway quotas", https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html',
        date: 'undated',
      },
      allowed: 10_000,
      unit: 'requests a second',
      used: callsASecond,
      liftedBy: 'quota "Throttle rate"',
    },
    {
      name: 'Rate counter of one organization, one partition',
      source: PARTITION,
      allowed: 1000,
      unit: 'writes a second',
      used: callsASecond,
      liftedBy: 'the tier ends before it: 1,000 calls a minute an organization',
    },
    {
      name: 'Reads of one organization’s counters, one partition',
      source: PARTITION,
      allowed: 3000,
      unit: 'units a second',
      // At most: where each call is a list or a summary.
      used: callsASecond * LANES,
      liftedBy:
        'DynamoDB splits by sort key under lasting load; else fewer COUNTER_LANES for who writes little',
    },
    {
      name: 'Findings of one organization, one index partition',
      source: PARTITION,
      allowed: 1000,
      unit: 'writes a second',
      // Out of the open cells, into the others: a change is two writes of a place.
      used: 2 * changed * 2,
      liftedBy: 'DynamoDB splits by sort key under lasting load; else scans over more of the day',
    },
    {
      name: 'Writes of one organization’s counters, by lanes',
      source: PARTITION,
      allowed: LANES * 500,
      unit: 'transactions a second',
      used: 2 * changed + scansASecond * counts.scan.scanners,
      liftedBy: 'COUNTER_LANES in infra/stack.ts',
    },
    {
      name: 'Table, write units a second',
      source: TABLE,
      allowed: 40_000,
      unit: 'units',
      used: callsASecond * call.writeUnits + scansASecond * scan.writeUnits,
      liftedBy: 'quota "Table-level write throughput"; a new table begins at 4,000: warm throughput',
    },
    {
      name: 'Table, read units a second',
      source: TABLE,
      allowed: 40_000,
      unit: 'units',
      used: callsASecond * call.readUnits + scansASecond * scan.readUnits,
      liftedBy: 'quota "Table-level read throughput"; a new table begins at 12,000: warm throughput',
    },
    {
      name: 'Step Functions, executions started',
      source: STATES,
      allowed: 300,
      unit: 'a second',
      used: scansASecond,
      liftedBy: 'quota of StartExecution; the dispatcher tries again meanwhile',
    },
    {
      name: 'Step Functions, state transitions',
      source: STATES,
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
