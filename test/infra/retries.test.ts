import { describe, expect, it } from 'vitest';
import { ReadableTemplate, synthesize } from '#test/harness/template.ts';

/** What is tried again, how often, and where it goes then: written down once more by hand, and compared in full. */
const template = new ReadableTemplate(synthesize().template);

/** A message is given up after five deliveries, and kept for a fortnight; a queue keeps it for four days. */
const QUEUES = {
  // name: who works on it, messages a batch, seconds for which a message is kept from others
  ScanRequests: ['scan-planner', 10, 720],
  RunDispatch: ['run-dispatcher', 10, 360],
  Deletions: ['deleter', 10, 360],
  Imports: ['ingest-import', 1, 5400],
  Uploads: ['take-upload', 1, 1800],
  Exports: ['export-findings', 1, 5400],
  Reevaluations: ['reevaluate-findings', 1, 720],
} as const;
const DAY = 86_400;

describe('queues', () => {
  it('give a message up to their dead letters after five deliveries', () => {
    const found = template
      .all('AWS::SQS::Queue')
      .map(([id, { Properties }]) => [template.nameOf(id), template.plain(Properties)]);
    const expected = Object.entries(QUEUES).flatMap(([name, [, , visibility]]) => [
      [
        `${name}Queue`,
        {
          MessageRetentionPeriod: 4 * DAY,
          RedrivePolicy: { deadLetterTargetArn: `<${name}DeadLetters.Arn>`, maxReceiveCount: 5 },
          SqsManagedSseEnabled: true,
          VisibilityTimeout: visibility,
        },
      ],
      [`${name}DeadLetters`, { MessageRetentionPeriod: 14 * DAY, SqsManagedSseEnabled: true }],
    ]);
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
  });

  it('are each worked on by one function, which tells what of a batch failed', () => {
    const found = template.all('AWS::Lambda::EventSourceMapping').map(([, { Properties }]) => {
      // How many run at once is a question of shares, not of retries.
      const { ScalingConfig: _, ...rest } = Properties;
      return template.plain(rest) as { EventSourceArn: string };
    });
    const expected = Object.entries(QUEUES).map(([name, [consumer, batch]]) => ({
      BatchSize: batch,
      EventSourceArn: `<${name}Queue.Arn>`,
      FunctionName: `<${consumer}>`,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    }));
    const inOrder = (sources: readonly { EventSourceArn: string }[]) =>
      [...sources].sort((a, b) => a.EventSourceArn.localeCompare(b.EventSourceArn));
    expect(inOrder(found)).toEqual(inOrder(expected));
  });
});

describe('schedules', () => {
  it('try again only what does not come again within a minute', () => {
    const found = template.all('AWS::Events::Rule').map(([id, { Properties }]) => {
      const { Description: _, ...rest } = Properties;
      return [template.nameOf(id), template.plain(rest)];
    });
    const rule = (rate: string, target: string, attempts: number) => ({
      ScheduleExpression: rate,
      State: 'ENABLED',
      Targets: [{ Arn: `<${target}.Arn>`, Id: 'Target0', RetryPolicy: { MaximumRetryAttempts: attempts } }],
    });
    expect(Object.fromEntries(found)).toEqual({
      EveryMinute: rule('rate(1 minute)', 'sweep', 0),
      SuppressionClock: rule('rate(1 minute)', 'suppression-clock', 0),
      ScannerDatabases: rule('rate(1 day)', 'scanner-databases', 2),
      VulnerabilityFeeds: rule('rate(1 day)', 'vulnerability-feeds', 2),
    });
  });
});

describe('the run state machine', () => {
  const [[, machine] = []] = template.all('AWS::StepFunctions::StateMachine');
  const definition = JSON.parse(String(template.plain(machine?.Properties.DefinitionString)));
  /** Every state, those within a map included, with what it does about time and errors. */
  const outcomes = (states: Record<string, Record<string, never>>): [string, unknown][] =>
    Object.entries(states).flatMap(([name, state]) => {
      const { Type, TimeoutSeconds, Retry, Catch, Next, End, ItemProcessor, MaxConcurrency } = state;
      const inner = (ItemProcessor as { States?: typeof states } | undefined)?.States;
      return [
        [name, { Type, TimeoutSeconds, Retry, Catch, Next, End, MaxConcurrency }],
        ...(inner ? outcomes(inner) : []),
      ];
    });

  const finish = [{ ErrorEquals: ['States.ALL'], ResultPath: '$.failure', Next: 'FinishRun' }];

  it('tries again, catches and ends as is written here', () => {
    expect([definition.StartAt, definition.TimeoutSeconds]).toEqual(['RunScanners', DAY]);
    expect(Object.fromEntries(outcomes(definition.States))).toEqual({
      RunScanners: {
        Type: 'Task',
        // Ten hours, the longest scan of any tier, and a quarter of one for the task to start and to end.
        TimeoutSeconds: 36_900,
        Retry: [
          {
            ErrorEquals: [
              'ECS.AmazonECSException',
              'ECS.ServerException',
              'ECS.ThrottlingException',
              'AmazonECS.Unknown',
            ],
            IntervalSeconds: 15,
            MaxAttempts: 6,
            BackoffRate: 2,
            MaxDelaySeconds: 120,
            JitterStrategy: 'FULL',
          },
        ],
        Catch: finish,
        Next: 'IngestReports',
      },
      IngestReports: { Type: 'Map', MaxConcurrency: 4, Catch: finish, Next: 'FinishRun' },
      IngestReport: {
        Type: 'Task',
        TimeoutSeconds: 900,
        Retry: [
          {
            ErrorEquals: ['ManifestBusy', 'LeaseLost'],
            IntervalSeconds: 1,
            MaxAttempts: 19,
            BackoffRate: 2,
            MaxDelaySeconds: 15,
          },
          {
            ErrorEquals: [
              'Lambda.ServiceException',
              'Lambda.AWSLambdaException',
              'Lambda.SdkClientException',
              'Lambda.ClientExecutionTimeoutException',
              'Lambda.TooManyRequestsException',
              'Lambda.Unknown',
              'ServiceError',
            ],
            IntervalSeconds: 2,
            MaxAttempts: 5,
            BackoffRate: 2,
            JitterStrategy: 'FULL',
          },
        ],
        Catch: [{ ErrorEquals: ['States.ALL'], ResultPath: null, Next: 'ReportLost' }],
        End: true,
      },
      ReportLost: { Type: 'Pass', End: true },
      FinishRun: {
        Type: 'Task',
        TimeoutSeconds: 120,
        Retry: [
          {
            ErrorEquals: ['States.ALL'],
            IntervalSeconds: 2,
            MaxAttempts: 8,
            BackoffRate: 2,
            MaxDelaySeconds: 60,
            JitterStrategy: 'FULL',
          },
        ],
        End: true,
      },
    });
  });

  it('logs every step without its data: the input holds a claim', () => {
    expect(template.plain(machine?.Properties.LoggingConfiguration)).toEqual({
      Destinations: [{ CloudWatchLogsLogGroup: { LogGroupArn: '<RunsLogs.Arn>' } }],
      IncludeExecutionData: false,
      Level: 'ALL',
    });
  });
});
