import { Duration, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Metric,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { Rule } from 'aws-cdk-lib/aws-events';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { FunctionName } from '#infra/functions/catalogue.ts';
import type { ServiceFunctions } from '#infra/functions/functions.ts';
import { METRIC_DIMENSION, METRIC_NAMESPACE, type MetricName } from '#shared/metrics.ts';
import type { OperatorTopic } from './topic.ts';

interface AlarmsProps {
  readonly topic: OperatorTopic;
  readonly deadLetters: readonly IQueue[];
  readonly functions: ServiceFunctions;
  readonly tableName: string;
  readonly indexes: readonly string[];
  readonly apiId: string;
  readonly runs: StateMachine;
  readonly schedules: readonly Rule[];
}

/** Articles of docs/runbook.md. */
type Article =
  | 'api-errors'
  | 'authorizer'
  | 'scan-failures'
  | 'scans-wait'
  | 'imports-and-exports-wait'
  | 'work-failed'
  | 'dead-letters'
  | 'feeds'
  | 'databases'
  | 'throttled'
  | 'failed-runs'
  | 'schedules';

interface Watch {
  readonly article: Article;
  readonly what: string;
  readonly metric: IMetric;
  readonly threshold: number;
  readonly periods?: number;
  /** What it means that nothing was measured; nothing bad by default. */
  readonly silence?: TreatMissingData;
  readonly below?: true;
}

/**
 * Nobody waits for an answer of these. Where they crash or take too long, Lambda counts it; what they caught
 * is in `WorkFailed`. `ingest-report` fails on purpose where it has to wait for its turn, and the sweep, the feeds
 * and the databases are missed when they say nothing.
 */
const BACKGROUND: readonly FunctionName[] = [
  'scan-planner',
  'run-dispatcher',
  'finish-run',
  'ingest-import',
  'take-upload',
  'export-findings',
  'reevaluate-findings',
  'deleter',
  'suppression-clock',
];

/**
 * What wakes somebody up: what users feel, and what they will. Few alarms, each over everything of its kind;
 * each names the article of the runbook that says where to look. An alarm can name ten metrics at most.
 */
export class Alarms extends Construct {
  readonly #topic: OperatorTopic;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.#topic = props.topic;
    const { functions } = props;
    const minutes = Duration.minutes;

    this.#add('ApiErrors', {
      article: 'api-errors',
      what: 'The API answers with 5xx',
      metric: aws('ApiGateway', '5xx', { ApiId: props.apiId }, minutes(5)),
      threshold: 5,
    });
    this.#add('AuthorizerFailed', {
      article: 'authorizer',
      what: 'Callers are not identified, or not counted',
      metric: total(minutes(5), {
        failed: this.#own('AuthorizerFailed', minutes(5)),
        crashed: functions.get('authorizer').metricErrors({ period: minutes(5) }),
      }),
      threshold: 5,
    });
    this.#add('ScanFailures', {
      article: 'scan-failures',
      what: 'A quarter or more of the runs fail through the service',
      metric: new MathExpression({
        // Always measured together: a quarter of an hour without runs has neither.
        expression: '100 * failed / ended',
        usingMetrics: {
          failed: this.#own('RunsFailed', minutes(15)),
          ended: this.#own('RunsEnded', minutes(15)),
        },
        period: minutes(15),
      }),
      threshold: 25,
    });
    this.#add('ScansWait', {
      article: 'scans-wait',
      what: 'Scans have waited for ten minutes though their organization has room, or the sweep says nothing',
      metric: this.#own('OldestScan', minutes(1), Stats.MAXIMUM),
      threshold: 600,
      periods: 10,
      silence: TreatMissingData.BREACHING,
    });
    this.#add('ImportsWait', {
      article: 'imports-and-exports-wait',
      what: 'An import or an export has not ended after twenty minutes',
      metric: new MathExpression({
        expression: 'MAX([imported, exported])',
        usingMetrics: {
          imported: this.#own('OldestImport', minutes(1), Stats.MAXIMUM),
          exported: this.#own('OldestExport', minutes(1), Stats.MAXIMUM),
        },
        period: minutes(1),
      }),
      threshold: 1200,
      periods: 3,
    });
    this.#add('WorkFailed', {
      article: 'work-failed',
      what: 'Work in the background fails',
      metric: total(minutes(5), {
        caught: this.#own('WorkFailed', minutes(5)),
        ...numbered(BACKGROUND.map((name) => functions.get(name).metricErrors({ period: minutes(5) }))),
      }),
      threshold: 1,
    });
    this.#add('DeadLetters', {
      article: 'dead-letters',
      what: 'Messages were given up',
      metric: total(
        minutes(1),
        numbered(
          props.deadLetters.map((queue) =>
            queue.metricApproximateNumberOfMessagesVisible({
              period: minutes(1),
              statistic: Stats.MAXIMUM,
            }),
          ),
        ),
      ),
      threshold: 1,
    });
    this.#add('FeedsOld', {
      article: 'feeds',
      what: 'EPSS and KEV were not read for more than a day',
      metric: this.#own('FeedsRead', Duration.hours(1)),
      threshold: 1,
      below: true,
      periods: 26,
      silence: TreatMissingData.BREACHING,
    });
    this.#add('DatabasesOld', {
      article: 'databases',
      what: 'The databases of Grype and Trivy were not renewed for more than two days',
      metric: this.#own('DatabasesKept', Duration.hours(1)),
      threshold: 1,
      below: true,
      periods: 50,
      silence: TreatMissingData.BREACHING,
    });
    this.#add('FunctionsThrottled', {
      article: 'throttled',
      what: 'Functions find no room in the concurrency of the account',
      // Of the account as a whole: whoever uses it up, it is everybody's.
      metric: aws('Lambda', 'Throttles', {}, minutes(5)),
      threshold: 5,
    });
    this.#add('TableThrottled', {
      article: 'throttled',
      what: 'The table refuses requests because there are too many',
      metric: this.#tableThrottles(props.tableName, props.indexes),
      threshold: 1,
    });
    this.#add('FailedRuns', {
      article: 'failed-runs',
      what: 'Executions of the run state machine fail or exceed their time',
      metric: total(minutes(5), {
        failed: props.runs.metricFailed({ period: minutes(5) }),
        late: props.runs.metricTimedOut({ period: minutes(5) }),
      }),
      threshold: 1,
    });
    this.#add('SchedulesFail', {
      article: 'schedules',
      what: 'A schedule can not start its function',
      metric: total(
        minutes(5),
        numbered(
          props.schedules.map(({ ruleName }) =>
            aws('Events', 'FailedInvocations', { RuleName: ruleName }, minutes(5)),
          ),
        ),
      ),
      threshold: 1,
    });
  }

  /**
   * CloudWatch ignores silence of DynamoDB's metrics whatever an alarm says, and would stay in ALARM: the sweep's
   * own metric, taken times nothing, makes a value of each period.
   */
  #tableThrottles(tableName: string, indexes: readonly string[]): IMetric {
    const period = Duration.minutes(5);
    const places = [{}, ...indexes.map((name) => ({ GlobalSecondaryIndexName: name }))];
    const throttled = places.flatMap((place) =>
      ['ReadThrottleEvents', 'WriteThrottleEvents'].map((name) =>
        aws('DynamoDB', name, { TableName: tableName, ...place }, period),
      ),
    );
    const calm = new MathExpression({
      expression: '0 * pulse',
      usingMetrics: { pulse: this.#own('OldestScan', period, Stats.MAXIMUM) },
      period,
    });
    return total(period, { ...numbered(throttled), calm });
  }

  /** One of the service's own metrics (`shared/metrics.ts`). */
  #own(metricName: MetricName, period: Duration, statistic: string = Stats.SUM): Metric {
    return new Metric({
      namespace: METRIC_NAMESPACE,
      metricName,
      dimensionsMap: { [METRIC_DIMENSION]: Stack.of(this).stackName },
      statistic,
      period,
    });
  }

  #add(id: string, { article, what, metric, threshold, periods = 1, silence, below }: Watch): void {
    const alarm = new Alarm(this, id, {
      alarmDescription: `${what}. What to do: docs/runbook.md#${article}`,
      metric,
      threshold,
      evaluationPeriods: periods,
      comparisonOperator: below
        ? ComparisonOperator.LESS_THAN_THRESHOLD
        : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: silence ?? TreatMissingData.NOT_BREACHING,
    });
    alarm.addAlarmAction(new SnsAction(this.#topic.topic));
  }
}

function aws(
  service: string,
  metricName: string,
  dimensionsMap: Record<string, string>,
  period: Duration,
): Metric {
  return new Metric({
    namespace: `AWS/${service}`,
    metricName,
    dimensionsMap,
    statistic: Stats.SUM,
    period,
  });
}

/** The sum of what there is: `a + b` would have no value where only one of them has. */
function total(period: Duration, metrics: Record<string, IMetric>): MathExpression {
  return new MathExpression({
    expression: `SUM([${Object.keys(metrics).join(', ')}])`,
    usingMetrics: metrics,
    period,
  });
}

function numbered(metrics: readonly IMetric[]): Record<string, IMetric> {
  return Object.fromEntries(metrics.map((metric, index) => [`m${index + 1}`, metric]));
}
