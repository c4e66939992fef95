import { parseArgs } from 'node:util';

interface Assumption {
  readonly value: number;
  readonly unit: string;
  /** Why this number, or what it depends on. */
  readonly reason: string;
}

/**
 * Everything that a month's cost is computed from and that neither the template, nor a count of the code, nor a
 * price list tells. None of them is measured on a deployment; each is an option of `npm run cost`.
 */
export const ASSUMPTIONS = {
  repositories: of(1000, 'repositories', 'the load'),
  findings: of(1_000_000, 'findings', 'the load'),
  calls: of(1_000_000, 'calls a month', 'the load'),
  scansADay: of(1, 'scans a repository a day', 'a nightly scan of each'),
  scanMinutes: of(
    3,
    'minutes',
    'from the pull of the image to the end of the task; depends on the repository',
  ),
  churn: of(0.01, 'of the findings a day', 'so many are new, and as many gone'),
  writesOfCalls: of(0.1, 'of the calls', 'change a finding; the others read'),
  peak: of(10, 'times the average', 'the busiest minute of calls; matters for limits alone'),
  nightHours: of(8, 'hours', 'in which a day’s scans shall end; limits and Container Insights'),
  pollers: of(5, 'long polls a queue', 'that Lambda keeps open, of 20 seconds each'),
  coldStarts: of(0.01, 'of the invocations', 'start anew and read a secret, which asks KMS'),
  keyMinutes: of(5, 'minutes', 'that DynamoDB keeps the table’s key before it asks KMS again'),
  keyRequestsOfObjects: of(
    0.01,
    'of the object requests',
    'ask KMS, because the bucket has a key of its own for a time',
  ),
  keyVersions: of(1, 'versions of the key', 'each yearly rotation adds one that is paid for'),
  reportBytes: of(200_000, 'bytes', 'of a scanner’s gzipped report'),
  objectWrites: of(1, 'writes a report', 'the runner’s upload'),
  objectReads: of(1, 'reads a report', 'the ingest’s'),
  databaseGigabytes: of(0.2, 'GB', 'the databases of Grype and Trivy, packed: about 100 MB each'),
  databaseSeconds: of(60, 'seconds a day', 'of the function that takes the databases'),
  databaseReads: of(2, 'reads a scan', 'a runner takes both databases; within the region the bytes are free'),
  feedSeconds: of(60, 'seconds a day', 'of the function that reads EPSS and KEV'),
  logBytesOfACall: of(1500, 'bytes a call', 'an access log line, and the line of each function'),
  logBytesOfAScan: of(40_000, 'bytes a scan', 'lines of runner and functions, and the execution’s history'),
  logBytesOfAMinute: of(2000, 'bytes a minute', 'of the two functions that run each minute'),
  flowLogBytes: of(50_000, 'bytes a task hour', 'some 400 refused connections from the internet'),
  insightsMetrics: of(
    24,
    'metrics',
    'of Container Insights: those of the cluster and of its one task family',
  ),
  insightsLogBytes: of(3000, 'bytes a task minute', 'performance records of a task and its container'),
  imageGigabytes: of(1.12, 'GB', 'the scanner image; ECR counts it packed, so that it is at most this'),
  images: of(3, 'images', 'kept in ECR: the one in use, and older ones until `cdk gc`'),
  notifications: of(100, 'mails a month', 'alarms and their ends'),
} as const satisfies Record<string, Assumption>;

export type AssumptionName = keyof typeof ASSUMPTIONS;
/** What a deployment is used for in a month of 30 days, and how. */
export type Load = Readonly<Record<AssumptionName, number>>;

export const ASSUMPTION_NAMES = Object.keys(ASSUMPTIONS) as AssumptionName[];
export const DEFAULT_LOAD = loadOf((name) => ASSUMPTIONS[name].value);

/** The option of the command line: `scanMinutes` is `--scan-minutes`. */
export function optionOf(name: AssumptionName): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * The assumptions with those changed that the command line names.
 * @throws Error where one is no number, or an option is not known
 */
export function readCommand(args: readonly string[]): { load: Load; write: boolean; help: boolean } {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(ASSUMPTION_NAMES.map((name) => [optionOf(name), { type: 'string' as const }])),
      write: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  const given: Readonly<Record<string, string | boolean | undefined>> = values;
  const load = loadOf((name) => {
    const text = given[optionOf(name)];
    const value = text === undefined ? ASSUMPTIONS[name].value : text === '' ? Number.NaN : Number(text);
    if (!Number.isFinite(value) || value < 0) throw new Error(`--${optionOf(name)} must be a number`);
    return value;
  });
  return { load, write: given.write === true, help: given.help === true };
}

function of(value: number, unit: string, reason: string): Assumption {
  return { value, unit, reason };
}

function loadOf(read: (name: AssumptionName) => number): Load {
  return Object.fromEntries(ASSUMPTION_NAMES.map((name) => [name, read(name)])) as Load;
}
