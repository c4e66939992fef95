import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';

/** Where the service's own metrics are kept in CloudWatch. */
export const METRIC_NAMESPACE = 'Aspm';
/** The one dimension of each: the name of the stack, so that two in one account are told apart. */
export const METRIC_DIMENSION = 'service';

/** Everything that the service measures of itself, and what one counts. Alarms look at them (`infra/alarms`). */
const UNITS = {
  /** A piece of background work that failed where nobody waits for it: a message, a step of the sweep. */
  WorkFailed: MetricUnit.Count,
  /** A run ended, and was not cancelled. */
  RunsEnded: MetricUnit.Count,
  /** Of those: through a fault of the service, not of what was scanned (`isServiceFault`). */
  RunsFailed: MetricUnit.Count,
  /** A caller could not be identified, or a request not be counted, through a fault of the service. */
  AuthorizerFailed: MetricUnit.Count,
  /** Both feeds of scores were taken. */
  FeedsRead: MetricUnit.Count,
  /** The databases of the scanners were taken into the bucket, each of them. */
  DatabasesKept: MetricUnit.Count,
  /** How long the scan that waits longest has waited for the service, not for its own organization's turn. */
  OldestScan: MetricUnit.Seconds,
  /** How long ago the report came in that is not yet taken. */
  OldestImport: MetricUnit.Seconds,
  /** How long ago the file was asked for that is not yet written. */
  OldestExport: MetricUnit.Seconds,
} as const;
export type MetricName = keyof typeof UNITS;

let metrics: Metrics | null = null;

/**
 * Writes measured values as one line of the log, from which CloudWatch takes them (embedded metric format):
 * no request, no waiting. Names and numbers alone.
 */
export function measure(values: Readonly<Partial<Record<MetricName, number>>>): void {
  // Powertools reads its settings (`POWERTOOLS_…`) when it is made: they are there once something is measured.
  metrics ??= new Metrics({ namespace: METRIC_NAMESPACE });
  // Nothing awaits in between: what other requests measure at the same time is not mixed in.
  for (const name of Object.keys(UNITS) as MetricName[]) {
    const value = values[name];
    if (value !== undefined) metrics.addMetric(name, UNITS[name], value);
  }
  metrics.publishStoredMetrics();
}
