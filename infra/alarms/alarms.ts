import { Duration } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { FunctionName } from '#infra/functions/catalogue.ts';
import type { ServiceFunctions } from '#infra/functions/functions.ts';

interface AlarmsProps {
  readonly key: Key;
  readonly email: string | undefined;
  readonly deadLetters: Readonly<Record<string, IQueue>>;
  readonly functions: ServiceFunctions;
  readonly apiId: string;
  readonly runs: StateMachine;
}

/** Articles of docs/runbook.md. */
type Article = 'dead-letters' | 'pipeline-errors' | 'api-errors' | 'failed-runs';

/** Nobody waits for an answer of these: their errors show nowhere else. */
const WATCHED: readonly FunctionName[] = [
  'authorizer',
  'scan-planner',
  'run-dispatcher',
  'ingest-report',
  'ingest-import',
  'take-upload',
  'export-findings',
  'reevaluate-findings',
  'finish-run',
  'sweep',
  'suppression-clock',
  'vulnerability-feeds',
];

/** What wakes somebody up; each alarm names the article of the runbook that says what to do. */
export class Alarms extends Construct {
  readonly #action: SnsAction | null;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.#action = props.email === undefined ? null : this.#mailTo(props.email, props.key);
    for (const [name, queue] of Object.entries(props.deadLetters)) {
      this.#add(`DeadLetters-${name}`, 'dead-letters', `Messages of ${name} were given up`, {
        metric: queue.metricApproximateNumberOfMessagesVisible({
          period: Duration.minutes(1),
          statistic: 'Maximum',
        }),
      });
    }
    for (const name of WATCHED) {
      this.#add(`Errors-${name}`, 'pipeline-errors', `The function ${name} fails`, {
        metric: props.functions.get(name).metricErrors({ period: Duration.minutes(5) }),
        // One error may be a hiccup that was retried; two periods of them are not.
        periods: 2,
      });
    }
    this.#add('ApiErrors', 'api-errors', 'The API answers with 5xx', {
      metric: new Metric({
        namespace: 'AWS/ApiGateway',
        metricName: '5xx',
        dimensionsMap: { ApiId: props.apiId },
        statistic: 'Sum',
        period: Duration.minutes(5),
      }),
      threshold: 5,
    });
    this.#add('FailedRuns', 'failed-runs', 'Executions of the run state machine fail', {
      metric: props.runs.metricFailed({ period: Duration.minutes(5) }),
    });
    this.#add('TimedOutRuns', 'failed-runs', 'Executions of the run state machine exceed their time', {
      metric: props.runs.metricTimedOut({ period: Duration.minutes(5) }),
    });
  }

  #add(
    id: string,
    article: Article,
    what: string,
    { metric, threshold = 1, periods = 1 }: { metric: IMetric; threshold?: number; periods?: number },
  ): void {
    const alarm = new Alarm(this, id, {
      alarmDescription: `${what}. What to do: docs/runbook.md#${article}`,
      metric,
      threshold,
      evaluationPeriods: periods,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    if (this.#action) alarm.addAlarmAction(this.#action);
  }

  #mailTo(email: string, key: Key): SnsAction {
    const topic = new Topic(this, 'Topic', { masterKey: key, enforceSSL: true });
    topic.addSubscription(new EmailSubscription(email));
    key.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
        resources: ['*'],
      }),
    );
    return new SnsAction(topic);
  }
}
