import type { Template } from '#infra/released/upgrade-gate.ts';
import type { PriceName, Prices } from './files.ts';
import { type Counts, sum, times, type Usage } from './usage.ts';

/** What a deployment is used for in a month of 30 days. */
export interface Load {
  /** Each scanned once a day by four scanners. */
  readonly repositories: number;
  readonly findings: number;
  readonly calls: number;
  /** Of a repository's findings, how many a day are new, and how many are gone. */
  readonly churn: number;
  /** From a task's start to its end. */
  readonly scanMinutes: number;
}

export const DEFAULT_LOAD: Load = {
  repositories: 1000,
  findings: 1_000_000,
  calls: 1_000_000,
  churn: 0.01,
  scanMinutes: 3,
};

export interface Line {
  readonly price: PriceName;
  readonly part: 'idle' | 'calls' | 'scans' | 'findings';
  readonly quantity: number;
  readonly usd: number;
}

const DAYS = 30;
const HOURS = 24 * DAYS;
const GB = 1_000_000_000;

/** Of a hundred calls, this many change something. */
const WRITES_OF_CALLS = 0.1;
/** A whole core of Lambda's; a function with less memory has so much less of it. */
const MEMORY_OF_A_CORE = 1769;
/** Lambda keeps as many long polls open at each queue, of 20 seconds. */
const POLLERS = 5;
/** The way of a run that succeeds: RunScanners, IngestReports, FinishRun; and one for each report. */
export const TRANSITIONS_OF_A_RUN = 3;
/** An access log line, and the line of each function that was called. */
const LOG_BYTES_OF_A_CALL = 1500;
/** A runner's lines, the execution's history, and flow logs. */
const LOG_BYTES_OF_A_SCAN = 40_000;
const REPORT_BYTES = 200_000;
/** Reports are kept so long on average. */
const REPORT_DAYS = 30;

/** What is there before anybody comes, as the template says. */
export interface Standing {
  readonly alarms: number;
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
  return {
    alarms: all('AWS::CloudWatch::Alarm').length,
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

function runnersOf(functions: readonly { Properties: Record<string, unknown> }[]): number {
  const settings = functions.map(
    ({ Properties }) =>
      (Properties.Environment as { Variables?: Record<string, unknown> } | undefined)?.Variables,
  );
  return Number(settings.find((one) => one?.ASPM_MAX_RUNNERS !== undefined)?.ASPM_MAX_RUNNERS ?? 0);
}

/** What a call is on average: a read of the measured ones, or a change. */
export function averageCall({ reads, triage }: Counts): Usage {
  return sum(times((1 - WRITES_OF_CALLS) / reads.operations, reads.usage), times(WRITES_OF_CALLS, triage));
}

/** A day's scan of one repository: the scan as measured, and what of its findings is new or gone. */
export function dailyScan({ scan, importNew, importFewer }: Counts, load: Load): Usage {
  const changed = (load.findings / Math.max(1, load.repositories)) * load.churn;
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

  addUsage('idle', times(HOURS * 60, counts.idleMinute));
  add('idle', 'queues', standing.polledQueues * POLLERS * 3 * HOURS * 60);
  add('idle', 'alarms', standing.alarms);
  add('idle', 'keys', standing.keys);
  add('idle', 'secrets', standing.secrets);
  add('idle', 'keyRequests', (HOURS * 60) / 5);

  addUsage('calls', times(load.calls, averageCall(counts)));
  add('calls', 'gateway', load.calls);
  add('calls', 'logIngestion', (load.calls * LOG_BYTES_OF_A_CALL) / GB);
  add('calls', 'transferOut', (load.calls * (counts.reads.responseBytes / counts.reads.operations)) / GB);

  const scans = load.repositories * DAYS;
  const daily = dailyScan(counts, load);
  const hours = (scans * load.scanMinutes) / 60;
  addUsage('scans', times(scans, daily));
  add('scans', 'gateway', scans * (daily.invocations.authorizer?.count ?? 0));
  add('scans', 'transitions', scans * daily.executions * (TRANSITIONS_OF_A_RUN + counts.scan.scanners));
  add('scans', 'fargateCpu', hours * standing.task.vcpus);
  add('scans', 'fargateMemory', hours * standing.task.gigabytes);
  add('scans', 'fargateDisk', hours * standing.task.disk);
  add('scans', 'publicAddress', hours);
  add('scans', 'bucketWrites', scans * counts.scan.scanners);
  add('scans', 'bucketReads', scans * counts.scan.scanners);
  add('scans', 'bucketStorage', (scans / DAYS) * REPORT_DAYS * counts.scan.scanners * (REPORT_BYTES / GB));
  add('scans', 'logIngestion', (scans * LOG_BYTES_OF_A_SCAN) / GB);

  add('findings', 'tableStorage', (load.findings * counts.findingBytes) / GB);
  add('findings', 'tableBackup', (load.findings * counts.findingBytes) / GB);
  return lines;
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
