import { FUNCTIONS } from '#infra/functions/catalogue.ts';
import type { Template } from '#infra/released/upgrade-gate.ts';
import { METRIC_NAMESPACE } from '#shared/metrics.ts';
import type { Load } from './assumptions.ts';
import type { PriceName, Prices } from './files.ts';
import { type Counts, sum, times, type Usage } from './usage.ts';

export interface Line {
  readonly price: PriceName;
  readonly part: 'idle' | 'calls' | 'scans' | 'findings';
  readonly quantity: number;
  readonly usd: number;
}

const DAYS = 30;
const HOURS = 24 * DAYS;
const GB = 1_000_000_000;

/** A whole core of Lambda's; a function with less memory has so much less of it. */
const MEMORY_OF_A_CORE = 1769;
/** The way of a run that succeeds: RunScanners, IngestReports, FinishRun; and one for each report. */
export const TRANSITIONS_OF_A_RUN = 3;

/** What is there before anybody comes, as the template says. */
export interface Standing {
  /** Alarms are billed by the metrics that they look at: an expression of ten is ten. */
  readonly alarmMetrics: number;
  /** Metrics of our own. */
  readonly metrics: number;
  readonly containerInsights: boolean;
  /** How long reports and logs are kept. */
  readonly reportDays: number;
  readonly logDays: number;
  readonly keys: number;
  readonly secrets: number;
  /** Queues that a function is called by. */
  readonly polledQueues: number;
  /** Our own setting of how many tasks run at once; none where there is no bound. */
  readonly runners: number;
  readonly task: { readonly vcpus: number; readonly gigabytes: number; readonly disk: number };
}

export function standingOf({ Resources }: Template): Standing {
  const all = (type: string) => Object.values(Resources).filter(({ Type }) => Type === type);
  const task = all('AWS::ECS::TaskDefinition')[0]?.Properties ?? {};
  const disk = task.EphemeralStorage as { SizeInGiB?: number } | undefined;
  const watched = all('AWS::CloudWatch::Alarm').flatMap(({ Properties }) => metricsOf(Properties));
  return {
    alarmMetrics: watched.length,
    metrics: new Set(
      watched.filter(({ Namespace }) => Namespace === METRIC_NAMESPACE).map(({ MetricName }) => MetricName),
    ).size,
    containerInsights: JSON.stringify(all('AWS::ECS::Cluster')).includes(
      '"containerInsights","Value":"enabled"',
    ),
    reportDays: expirationOf(all('AWS::S3::Bucket')[0]?.Properties),
    logDays: Math.max(
      ...all('AWS::Logs::LogGroup').map(({ Properties }) => Number(Properties.RetentionInDays)),
    ),
    keys: all('AWS::KMS::Key').length,
    secrets: all('AWS::SecretsManager::Secret').length,
    polledQueues: all('AWS::Lambda::EventSourceMapping').length,
    runners: runnersOf(all('AWS::Lambda::Function')) || Number.POSITIVE_INFINITY,
    task: {
      vcpus: Number(task.Cpu) / 1024,
      gigabytes: Number(task.Memory) / 1024,
      disk: Math.max(0, (disk?.SizeInGiB ?? 20) - 20),
    },
  };
}

interface Metric {
  readonly Namespace?: string;
  readonly MetricName?: string;
}

/** The one metric of a plain alarm, or those of its expression. */
function metricsOf(alarm: Record<string, unknown>): Metric[] {
  const parts = alarm.Metrics as { MetricStat?: { Metric: Metric } }[] | undefined;
  return parts === undefined
    ? [alarm as Metric]
    : parts.flatMap(({ MetricStat }) => (MetricStat === undefined ? [] : [MetricStat.Metric]));
}

function expirationOf(bucket: Record<string, unknown> | undefined): number {
  const { Rules = [] } = (bucket?.LifecycleConfiguration ?? {}) as {
    Rules?: { ExpirationInDays?: number }[];
  };
  return Number(Rules[0]?.ExpirationInDays);
}

function runnersOf(functions: readonly { Properties: Record<string, unknown> }[]): number {
  const settings = functions.map(
    ({ Properties }) =>
      (Properties.Environment as { Variables?: Record<string, unknown> } | undefined)?.Variables,
  );
  return Number(settings.find((one) => one?.ASPM_MAX_RUNNERS !== undefined)?.ASPM_MAX_RUNNERS ?? 0);
}

/** What a call is on average: a read of the measured ones, or a change. */
export function averageCall({ reads, triage }: Counts, { writesOfCalls }: Load): Usage {
  return sum(times((1 - writesOfCalls) / reads.operations, reads.usage), times(writesOfCalls, triage));
}

/** One scan of one repository: the scan as measured, and what of its findings is new or gone since the last. */
export function averageScan({ scan, importNew, importFewer }: Counts, load: Load): Usage {
  const scans = load.repositories * load.scansADay;
  const changed = scans === 0 ? 0 : (load.findings * load.churn) / scans;
  return sum(
    scan.usage,
    onlyStore(times(changed / importNew.findings, importNew.usage)),
    onlyStore(times(changed / importFewer.gone, importFewer.usage)),
  );
}

/** Of an import, what findings cost beside its own calls and messages. */
function onlyStore({ storeRequests, readUnits, writeUnits }: Usage): Usage {
  return { storeRequests, readUnits, writeUnits, messages: 0, executions: 0, invocations: {} };
}

/** The bill of a month, line by line. */
export function monthOf(load: Load, counts: Counts, standing: Standing, { prices }: Prices): Line[] {
  const lines: Line[] = [];
  const add = (part: Line['part'], price: PriceName, quantity: number) => {
    const { usd, per } = prices[price];
    if (quantity > 0) lines.push({ part, price, quantity, usd: (quantity / per) * usd });
  };
  const addUsage = (part: Line['part'], usage: Usage) => {
    add(part, 'tableReads', usage.readUnits);
    add(part, 'tableWrites', usage.writeUnits);
    add(part, 'lambdaRequests', invocationsOf(usage));
    add(part, 'lambdaTime', gigabyteSecondsOf(usage));
    // Sent, received, deleted.
    add(part, 'queues', 3 * usage.messages);
  };

  const addLogs = (part: Line['part'], bytes: number) => {
    add(part, 'logIngestion', bytes / GB);
    add(part, 'logStorage', (bytes / GB) * (standing.logDays / DAYS));
  };
  /** A cold start reads a secret, which asks KMS for its key. */
  const addStarts = (part: Line['part'], usage: Usage) => {
    add(part, 'secretRequests', invocationsOf(usage) * load.coldStarts);
    add(part, 'keyRequests', invocationsOf(usage) * load.coldStarts);
  };
  const addObjects = (part: Line['part'], writes: number, reads: number) => {
    add(part, 'bucketWrites', writes);
    add(part, 'bucketReads', reads);
    add(part, 'keyRequests', (writes + reads) * load.keyRequestsOfObjects);
  };

  const idle = times(HOURS * 60, counts.idleMinute);
  addUsage('idle', idle);
  addStarts('idle', idle);
  addLogs('idle', HOURS * 60 * load.logBytesOfAMinute);
  // A long poll takes 20 seconds: three a minute.
  add('idle', 'queues', standing.polledQueues * load.pollers * 3 * HOURS * 60);
  add('idle', 'alarms', standing.alarmMetrics);
  add('idle', 'metrics', standing.metrics);
  add('idle', 'keys', standing.keys * load.keyVersions);
  add('idle', 'secrets', standing.secrets);
  if (load.keyMinutes > 0) add('idle', 'keyRequests', (HOURS * 60) / load.keyMinutes);
  add('idle', 'notifications', load.notifications);
  add('idle', 'imageStorage', load.images * load.imageGigabytes);
  add('idle', 'bucketStorage', load.databaseGigabytes);
  addObjects('idle', 2 * DAYS, 0);
  add('idle', 'lambdaRequests', 2 * DAYS);
  // What these two do depends on what others publish: they are not counted by a run of the code.
  for (const [name, seconds] of [
    ['scanner-databases', load.databaseSeconds],
    ['vulnerability-feeds', load.feedSeconds],
  ] as const)
    add('idle', 'lambdaTime', DAYS * seconds * (FUNCTIONS[name].memory / 1024));

  const calls = times(load.calls, averageCall(counts, load));
  addUsage('calls', calls);
  addStarts('calls', calls);
  add('calls', 'gateway', load.calls);
  addLogs('calls', load.calls * load.logBytesOfACall);
  add('calls', 'transferOut', (load.calls * (counts.reads.responseBytes / counts.reads.operations)) / GB);

  const scans = load.repositories * load.scansADay * DAYS;
  const scan = averageScan(counts, load);
  const hours = (scans * load.scanMinutes) / 60;
  const reports = scans * counts.scan.scanners;
  addUsage('scans', times(scans, scan));
  addStarts('scans', times(scans, scan));
  add('scans', 'gateway', scans * (scan.invocations.authorizer?.count ?? 0));
  add('scans', 'transitions', scans * scan.executions * (TRANSITIONS_OF_A_RUN + counts.scan.scanners));
  add('scans', 'fargateCpu', hours * standing.task.vcpus);
  add('scans', 'fargateMemory', hours * standing.task.gigabytes);
  add('scans', 'fargateDisk', hours * standing.task.disk);
  add('scans', 'publicAddress', hours);
  addObjects('scans', reports * load.objectWrites, reports * load.objectReads + scans * load.databaseReads);
  add('scans', 'bucketStorage', (reports / DAYS) * standing.reportDays * (load.reportBytes / GB));
  addLogs('scans', scans * load.logBytesOfAScan + hours * load.flowLogBytes);
  if (standing.containerInsights) {
    addLogs('scans', hours * 60 * load.insightsLogBytes);
    // A metric is paid for by the hours in which it has values.
    if (scans > 0) add('scans', 'metrics', load.insightsMetrics * Math.min(1, load.nightHours / 24));
  }

  add('findings', 'tableStorage', (load.findings * counts.findingBytes) / GB);
  add('findings', 'tableBackup', (load.findings * counts.findingBytes) / GB);
  return lines;
}

/** All lines together, in dollars. */
export function totalOf(lines: readonly Line[]): number {
  return lines.reduce((usd, line) => usd + line.usd, 0);
}

function invocationsOf({ invocations }: Usage): number {
  return Object.values(invocations).reduce((total, { count }) => total + count, 0);
}

/** Stretched where a function has less than the whole core that it was measured on. */
function gigabyteSecondsOf({ invocations }: Usage): number {
  return Object.values(invocations).reduce(
    (total, { milliseconds, memory }) => total + secondsOn(memory, milliseconds) * (memory / 1024),
    0,
  );
}

export function secondsOn(memory: number, milliseconds: number): number {
  return (milliseconds / 1000) * Math.max(1, MEMORY_OF_A_CORE / memory);
}
