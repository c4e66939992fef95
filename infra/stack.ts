import { CfnOutput, Duration, RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as InvokeFunction } from 'aws-cdk-lib/aws-events-targets';
import { Key } from 'aws-cdk-lib/aws-kms';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import type { Construct } from 'constructs';
import {
  EPSS_URL,
  GRYPE_DATABASE_URL,
  KEV_URL,
  type SettingName,
  TRIVY_DATABASE_URL,
} from '#shared/config.ts';
import { Alarms } from './alarms/alarms.ts';
import { MonthlyBudget } from './alarms/budget.ts';
import { OperatorTopic } from './alarms/topic.ts';
import { Api } from './api/api.ts';
import type { Deployment } from './deployment.ts';
import type { FunctionName } from './functions/catalogue.ts';
import { ServiceFunctions } from './functions/functions.ts';
import { keepLogicalId } from './logical-id.ts';
import { WorkQueue } from './pipeline/queues.ts';
import { ReportBucket } from './pipeline/report-bucket.ts';
import { RunStateMachine } from './pipeline/run-state-machine.ts';
import { RunnerTask } from './pipeline/runner-task.ts';
import { POLICY_FOLDER, REFERENCE_ASSETS, TABLE_OUTPUT } from './project.ts';
import { ServiceSecrets } from './secrets/secrets.ts';
import { AspmTable } from './table/table.ts';

interface AspmStackProps extends StackProps {
  readonly deployment: Deployment;
}

/** The whole service. Read it from top to bottom: what is kept, what runs, how they are connected. */
export class AspmStack extends Stack {
  constructor(scope: Construct, id: string, { deployment, ...props }: AspmStackProps) {
    super(scope, id, props);

    const key = new Key(this, 'Key', {
      description: 'Table, secrets and reports of ASPM',
      enableKeyRotation: true,
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    });
    keepLogicalId(key, 'Key');
    const table = new AspmTable(this, 'Store', {
      key,
      isProtected: deployment.deletionProtection,
      restored: deployment.restoredTable,
    });
    const secrets = new ServiceSecrets(this, 'Secrets', { key });
    const reports = new ReportBucket(this, 'Reports', { key });
    const scanRequests = new WorkQueue(this, 'ScanRequests', { consumer: 'scan-planner' });
    const runDispatch = new WorkQueue(this, 'RunDispatch', { consumer: 'run-dispatcher' });
    const deletions = new WorkQueue(this, 'Deletions', { consumer: 'deleter' });
    const imports = new WorkQueue(this, 'Imports', { consumer: 'ingest-import' });
    const uploads = new WorkQueue(this, 'Uploads', { consumer: 'take-upload' });
    reports.notifyOfUploads(uploads.queue);
    const exports = new WorkQueue(this, 'Exports', { consumer: 'export-findings' });
    const reevaluations = new WorkQueue(this, 'Reevaluations', { consumer: 'reevaluate-findings' });

    const api = new Api(this, 'Api', { corsOrigins: deployment.corsOrigins });
    const publicUrl = deployment.publicUrl ?? api.url;
    const functions = new ServiceFunctions(this, 'Functions', deployment);
    const runs = new RunStateMachine(this, 'Runs', {
      runner: new RunnerTask(this, 'Runner', {
        buildImage: deployment.bundle,
        ports: deployment.runnerPorts,
      }),
      ingestReport: functions.get('ingest-report'),
      finishRun: functions.get('finish-run'),
      publicUrl,
      tracing: deployment.tracing,
    });

    const settings: Record<SettingName, string> = {
      TABLE_NAME: table.name,
      COUNTER_LANES: '8',
      TOKEN_SECRET_ARN: secrets.token.secretArn,
      FINGERPRINT_SECRET_ARN: secrets.fingerprint.secretArn,
      INTEGRATION_SECRET_ARN: secrets.integration.secretArn,
      CURSOR_SECRET_ARN: secrets.cursor.secretArn,
      PUBLIC_URL: publicUrl,
      SCAN_QUEUE_URL: scanRequests.queue.queueUrl,
      DISPATCH_QUEUE_URL: runDispatch.queue.queueUrl,
      DELETION_QUEUE_URL: deletions.queue.queueUrl,
      IMPORT_QUEUE_URL: imports.queue.queueUrl,
      EXPORT_QUEUE_URL: exports.queue.queueUrl,
      REEVALUATION_QUEUE_URL: reevaluations.queue.queueUrl,
      RUN_STATE_MACHINE_ARN: runs.stateMachine.stateMachineArn,
      REPORT_BUCKET_URL: `https://${reports.bucket.bucketRegionalDomainName}`,
      ASPM_DEFAULT_TIER: deployment.defaultTier,
      ASPM_ORG_CREATION: deployment.orgCreation,
      ASPM_ORG_CREATION_CAP: String(deployment.orgCreationCap),
      ASPM_RATE_LIMIT_FACTOR: String(deployment.rateLimitFactor),
      ASPM_OIDC_ISSUERS: JSON.stringify(deployment.oidcIssuers),
      ASPM_MAX_RUNNERS: String(deployment.maxRunners),
      ASPM_ALLOW_LOCAL_REPOSITORIES: '0',
      ASPM_ALLOW_PRIVATE_ADDRESSES: deployment.allowPrivateAddresses,
      ASPM_EPSS_URL: EPSS_URL,
      ASPM_KEV_URL: KEV_URL,
      ASPM_GRYPE_DATABASE_URL: GRYPE_DATABASE_URL,
      ASPM_TRIVY_DATABASE_URL: TRIVY_DATABASE_URL,
      ASSETS_DIR: REFERENCE_ASSETS,
      POLICY_ASSETS_DIR: POLICY_FOLDER,
      SCANNERS: 'semgrep,grype,trivy,gitleaks',
    };
    functions.connect(
      settings,
      {
        key,
        tableArns: table.arns,
        queues: {
          'scan-requests': scanRequests.queue,
          'run-dispatch': runDispatch.queue,
          deletions: deletions.queue,
          imports: imports.queue,
          exports: exports.queue,
          reevaluations: reevaluations.queue,
        },
        secrets,
        reports: reports.bucket,
        runs: runs.stateMachine,
      },
      deployment.secretsRead,
    );
    api.addRoutes(functions);

    // Consumers leave the rest of the account's concurrency to the API: a new account has 10 in all.
    const consume = (name: FunctionName, { queue }: WorkQueue, batchSize: number) =>
      functions.get(name).addEventSource(
        new SqsEventSource(queue, {
          batchSize,
          reportBatchItemFailures: true,
          maxConcurrency: deployment.queueConcurrency,
        }),
      );
    consume('scan-planner', scanRequests, 10);
    consume('run-dispatcher', runDispatch, 10);
    consume('deleter', deletions, 10);
    consume('take-upload', uploads, 1);
    consume('export-findings', exports, 1);
    consume('reevaluate-findings', reevaluations, 1);
    // An import of 25,000 findings takes its time: one a batch, so that none waits behind another's.
    consume('ingest-import', imports, 1);
    const schedules = [
      new Rule(this, 'EveryMinute', {
        description: 'Finds what something forgot, and goes on with it',
        schedule: Schedule.rate(Duration.minutes(1)),
        targets: [new InvokeFunction(functions.get('sweep'), { retryAttempts: 0 })],
      }),
      new Rule(this, 'VulnerabilityFeeds', {
        description: 'Reads EPSS and KEV',
        schedule: Schedule.rate(Duration.days(1)),
        targets: [new InvokeFunction(functions.get('vulnerability-feeds'), { retryAttempts: 2 })],
      }),
      new Rule(this, 'ScannerDatabases', {
        description: 'Keeps the vulnerability databases of Grype and Trivy for the runners',
        schedule: Schedule.rate(Duration.days(1)),
        targets: [new InvokeFunction(functions.get('scanner-databases'), { retryAttempts: 2 })],
      }),
      new Rule(this, 'SuppressionClock', {
        description: 'Reopens findings whose suppression has ended',
        schedule: Schedule.rate(Duration.minutes(1)),
        targets: [new InvokeFunction(functions.get('suppression-clock'), { retryAttempts: 0 })],
      }),
    ];

    const topic = new OperatorTopic(this, 'Operators', { key, email: deployment.alarmEmail });
    if (deployment.monthlyBudget !== undefined)
      new MonthlyBudget(this, 'Budget', { topic, dollars: deployment.monthlyBudget });
    new Alarms(this, 'Alarms', {
      topic,
      deadLetters: [scanRequests, runDispatch, deletions, imports, uploads, exports, reevaluations].map(
        ({ deadLetters }) => deadLetters,
      ),
      functions,
      tableName: table.name,
      indexes: table.indexes,
      apiId: api.id,
      runs: runs.stateMachine,
      schedules,
    });
    new CfnOutput(this, 'PublicUrl', { value: publicUrl });
    new CfnOutput(this, TABLE_OUTPUT, { value: table.name });
  }
}
