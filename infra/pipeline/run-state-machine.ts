import { RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { Effect, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { DefinitionBody, LogLevel, StateMachine, StateMachineType } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { TIER_LIMITS } from '#contract/limits.ts';
import { keepLogicalId } from '#infra/logical-id.ts';
import { MANIFEST_BUSY, MUST_SUCCEED, NO_CAPACITY, TRANSIENT } from './retries.ts';
import { RUNNER_CONTAINER, type RunnerTask } from './runner-task.ts';

interface RunStateMachineProps {
  readonly runner: RunnerTask;
  readonly ingestReport: IFunction;
  readonly finishRun: IFunction;
  readonly publicUrl: string;
  readonly tracing: boolean;
}

/** The longest scan of any tier, and a quarter of an hour for the task to start and to end. */
const RUNNER_SECONDS =
  60 * (Math.max(...Object.values(TIER_LIMITS).map(({ maxScanMinutes }) => maxScanMinutes)) + 15);
const DAY_SECONDS = 24 * 60 * 60;

/**
 * One execution for each (scan, asset), named by the run's id; its input is `RunExecution` of
 * events/pipeline.ts. Outputs are discarded: reports go to the bucket, and state to the table.
 * JSONPath alone, without task tokens, so that the embedded cloud runs the same definition.
 */
function defineRun({ runner, ingestReport, finishRun, publicUrl }: RunStateMachineProps) {
  const recordFailure = { ErrorEquals: ['States.ALL'], ResultPath: '$.failure', Next: 'FinishRun' };
  return {
    TimeoutSeconds: DAY_SECONDS,
    StartAt: 'RunScanners',
    States: {
      // Clones the repository and runs its scanners side by side; the reports are in the bucket then.
      RunScanners: {
        Type: 'Task',
        Resource: `arn:${runner.partition}:states:::ecs:runTask.sync`,
        Parameters: {
          LaunchType: 'FARGATE',
          PlatformVersion: 'LATEST',
          Cluster: runner.clusterArn,
          TaskDefinition: runner.taskDefinitionArn,
          NetworkConfiguration: {
            AwsvpcConfiguration: {
              Subnets: runner.subnetIds,
              SecurityGroups: [runner.securityGroupId],
              AssignPublicIp: 'ENABLED',
            },
          },
          Overrides: {
            ContainerOverrides: [
              {
                Name: RUNNER_CONTAINER,
                Environment: [
                  { Name: 'ORG_ID', 'Value.$': '$.org_id' },
                  { Name: 'RUN_ID', 'Value.$': '$.run_id' },
                  // Used up by the runner's first call, so that it may stay in the history.
                  { Name: 'RUN_CLAIM', 'Value.$': '$.claim' },
                  { Name: 'RUNNER_API_URL', Value: publicUrl },
                ],
              },
            ],
          },
        },
        TimeoutSeconds: RUNNER_SECONDS,
        ResultPath: null,
        Retry: [NO_CAPACITY],
        Catch: [recordFailure],
        Next: 'IngestReports',
      },

      // A report that can't be ingested fails its own scanner and lets the others go on: FinishRun
      // counts as failed what has not completed.
      IngestReports: {
        Type: 'Map',
        ItemsPath: '$.scanners',
        ItemSelector: {
          'org_id.$': '$.org_id',
          'scan_id.$': '$.scan_id',
          'asset_id.$': '$.asset_id',
          'run_id.$': '$.run_id',
          'scanner.$': '$$.Map.Item.Value',
        },
        MaxConcurrency: 4,
        ItemProcessor: {
          ProcessorConfig: { Mode: 'INLINE' },
          StartAt: 'IngestReport',
          States: {
            IngestReport: {
              Type: 'Task',
              Resource: ingestReport.functionArn,
              TimeoutSeconds: 900,
              ResultPath: null,
              Retry: [MANIFEST_BUSY, TRANSIENT],
              Catch: [{ ErrorEquals: ['States.ALL'], ResultPath: null, Next: 'ReportLost' }],
              End: true,
            },
            ReportLost: { Type: 'Pass', End: true },
          },
        },
        ResultPath: null,
        Catch: [recordFailure],
        Next: 'FinishRun',
      },

      // However the run went: counts it on its scan and gives back what it held.
      FinishRun: {
        Type: 'Task',
        Resource: finishRun.functionArn,
        TimeoutSeconds: 120,
        ResultPath: null,
        Retry: [MUST_SUCCEED],
        End: true,
      },
    },
  };
}

export class RunStateMachine extends Construct {
  readonly stateMachine: StateMachine;

  constructor(scope: Construct, id: string, props: RunStateMachineProps) {
    super(scope, id);
    const stack = Stack.of(this);
    const role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('states.amazonaws.com') });
    for (const statement of permissions(stack, props)) role.addToPrincipalPolicy(statement);
    this.stateMachine = new StateMachine(this, 'StateMachine', {
      definitionBody: DefinitionBody.fromString(stack.toJsonString(defineRun(props))),
      stateMachineType: StateMachineType.STANDARD,
      role,
      tracingEnabled: props.tracing,
      logs: {
        destination: new LogGroup(this, 'Logs', {
          retention: RetentionDays.THREE_MONTHS,
          removalPolicy: RemovalPolicy.DESTROY,
        }),
        // The input holds a claim: it stays out of the logs.
        level: LogLevel.ALL,
        includeExecutionData: false,
      },
    });
    keepLogicalId(this.stateMachine, 'RunStateMachine');
    acknowledge(this.stateMachine, role);
  }
}

function permissions(
  stack: Stack,
  { runner, ingestReport, finishRun }: RunStateMachineProps,
): PolicyStatement[] {
  const inCluster = { ArnEquals: { 'ecs:cluster': runner.clusterArn } };
  return [
    new PolicyStatement({
      actions: ['ecs:RunTask'],
      resources: [runner.taskDefinitionArn],
      conditions: inCluster,
    }),
    new PolicyStatement({
      actions: ['ecs:StopTask', 'ecs:DescribeTasks'],
      resources: [runner.taskArns],
      conditions: inCluster,
    }),
    new PolicyStatement({
      actions: ['iam:PassRole'],
      resources: [...runner.roleArns],
      conditions: { StringEquals: { 'iam:PassedToService': 'ecs-tasks.amazonaws.com' } },
    }),
    // How `.sync` learns that the task has ended.
    new PolicyStatement({
      effect: Effect.ALLOW,
      actions: ['events:PutTargets', 'events:PutRule', 'events:DescribeRule'],
      resources: [
        stack.formatArn({
          service: 'events',
          resource: 'rule',
          resourceName: 'StepFunctionsGetEventsForECSTaskRule',
        }),
      ],
    }),
    new PolicyStatement({
      actions: ['lambda:InvokeFunction'],
      resources: [ingestReport.functionArn, finishRun.functionArn],
    }),
  ];
}

/** The wildcards that remain have no narrower form. */
function acknowledge(stateMachine: StateMachine, role: Role): void {
  Validations.of(role).acknowledge(
    {
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: 'Delivery of logs and X-Ray know no resources (Step Functions documentation).',
    },
    {
      id: 'AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:ecs:<AWS::Region>:<AWS::AccountId>:task/<RunnerCluster>/*]',
      reason: 'Tasks of this one cluster: their ids are only known once they run.',
    },
  );
  Validations.of(stateMachine).acknowledge({
    id: 'AwsSolutions-SF2',
    reason: 'Traces are a choice of the deployment (context tracing=true).',
  });
}
