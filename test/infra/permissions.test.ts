import { describe, expect, it } from 'vitest';
import { FUNCTION_NAMES, type FunctionName } from '#infra/functions/catalogue.ts';
import { ReadableTemplate, synthesize } from '#test/harness/template.ts';

/**
 * Who may do what, written down once more by hand and in full: the template is compared with these tables both
 * ways. A grant that is added, taken away or widened anywhere shows here, whoever made it.
 */
const template = new ReadableTemplate(synthesize({ tracing: false }).template);

type Line = string;

/** One line for each action on each resource, with its condition. */
function allow(actions: readonly string[], resources: readonly string[], condition = ''): Line[] {
  return actions.flatMap((action) =>
    resources.map((resource) => `Allow ${action} on ${resource}${condition && ` if ${condition}`}`),
  );
}

const key = (service: string, ...actions: string[]) =>
  allow(
    actions.map((action) => `kms:${action}`),
    ['<Key.Arn>'],
    JSON.stringify({
      StringEquals: { 'kms:ViaService': `${service}.<AWS::Region>.<AWS::URLSuffix>` },
    }),
  );

/** The table and its three indexes, and the key through DynamoDB alone: every one of these functions writes. */
const table = (...actions: string[]) => [
  ...allow(
    actions.map((action) => `dynamodb:${action}`),
    ['<Table.Arn>', '<Table.Arn>/index/gsi1', '<Table.Arn>/index/gsi2', '<Table.Arn>/index/gsi3'],
  ),
  ...key(
    'dynamodb',
    'Decrypt',
    'DescribeKey',
    'Encrypt',
    'GenerateDataKey',
    'GenerateDataKeyWithoutPlaintext',
    'ReEncryptFrom',
    'ReEncryptTo',
  ),
];
const everything = () =>
  table('GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem');

const send = (...queues: string[]) =>
  allow(
    ['sqs:SendMessage'],
    queues.map((queue) => `<${queue}Queue.Arn>`),
  );
const take = (queue: string) =>
  allow(
    [
      'sqs:ReceiveMessage',
      'sqs:ChangeMessageVisibility',
      'sqs:GetQueueUrl',
      'sqs:DeleteMessage',
      'sqs:GetQueueAttributes',
    ],
    [`<${queue}Queue.Arn>`],
  );
const secrets = (...names: string[]) => [
  ...allow(
    ['secretsmanager:GetSecretValue'],
    names.map((name) => `<${name}Secret>`),
  ),
  ...key('secretsmanager', 'Decrypt'),
];
const reports = (...actions: string[]) =>
  allow(
    actions.map((action) => `s3:${action}`),
    ['<ReportBucket.Arn>/raw/*'],
  );
const databases = (action: string) =>
  allow([`s3:${action}`], ['<ReportBucket.Arn>/databases/grype', '<ReportBucket.Arn>/databases/trivy']);
const listReports = allow(
  ['s3:ListBucket'],
  ['<ReportBucket.Arn>'],
  JSON.stringify({ StringLike: { 's3:prefix': 'raw/*' } }),
);
const writeLog = (group: string) =>
  allow(['logs:CreateLogStream', 'logs:PutLogEvents'], [`<${group}Logs.Arn>`]);

/** Besides writing its own log, which each of them may. */
const FUNCTIONS_MAY: Readonly<Record<FunctionName, readonly Line[]>> = {
  authorizer: [...table('GetItem', 'BatchGetItem', 'Query', 'UpdateItem', 'PutItem'), ...secrets('Token')],
  auth: [...everything(), ...secrets('Token')],
  organizations: [
    ...everything(),
    ...allow(
      ['dynamodb:BatchWriteItem'],
      ['<Table.Arn>', '<Table.Arn>/index/gsi1', '<Table.Arn>/index/gsi2', '<Table.Arn>/index/gsi3'],
    ),
    ...send('Deletions'),
  ],
  'api-keys': table('GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'ConditionCheckItem'),
  projects: everything(),
  assets: [...everything(), ...send('ScanRequests', 'Deletions')],
  integrations: [...table('GetItem', 'Query', 'PutItem', 'DeleteItem'), ...secrets('Integration')],
  scans: [...everything(), ...send('ScanRequests', 'Deletions')],
  findings: [...everything(), ...send('Reevaluations'), ...secrets('Cursor')],
  imports: [
    ...table('GetItem', 'Query', 'PutItem', 'UpdateItem'),
    ...send('Imports'),
    ...secrets('Fingerprint'),
    ...reports('PutObject'),
    ...key('s3', 'GenerateDataKey', 'Decrypt'),
  ],
  exports: [
    ...table('GetItem', 'PutItem'),
    ...send('Exports'),
    ...reports('GetObject'),
    ...key('s3', 'Decrypt'),
  ],
  policies: [...everything(), ...send('Reevaluations')],
  reference: [],
  'runner-gate': [
    ...table('GetItem', 'UpdateItem'),
    ...secrets('Token', 'Fingerprint'),
    ...reports('PutObject'),
    ...databases('GetObject'),
    ...key('s3', 'GenerateDataKey', 'Decrypt'),
  ],
  'scanner-databases': [...databases('PutObject'), ...key('s3', 'GenerateDataKey')],
  'scan-planner': [
    ...table('GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'),
    ...take('ScanRequests'),
    ...send('ScanRequests', 'RunDispatch'),
  ],
  'run-dispatcher': [
    ...table('GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem'),
    ...take('RunDispatch'),
    ...allow(['states:StartExecution'], ['<RunStateMachine>']),
  ],
  'ingest-report': [...everything(), ...reports('GetObject'), ...key('s3', 'Decrypt'), ...listReports],
  'take-upload': [
    ...table('GetItem', 'PutItem', 'UpdateItem', 'DeleteItem'),
    ...take('Uploads'),
    ...send('Imports'),
    ...secrets('Fingerprint'),
    ...reports('GetObject', 'PutObject', 'DeleteObject'),
    ...key('s3', 'GenerateDataKey', 'Decrypt'),
    ...listReports,
  ],
  'ingest-import': [
    ...everything(),
    ...take('Imports'),
    ...send('Imports', 'ScanRequests', 'RunDispatch'),
    ...reports('GetObject'),
    ...key('s3', 'Decrypt'),
    ...listReports,
  ],
  'export-findings': [
    ...table('GetItem', 'BatchGetItem', 'Query', 'UpdateItem', 'DeleteItem'),
    ...take('Exports'),
    ...reports('PutObject'),
    ...key('s3', 'GenerateDataKey', 'Decrypt'),
  ],
  'reevaluate-findings': [...everything(), ...take('Reevaluations'), ...send('Reevaluations')],
  'finish-run': [
    ...table('GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'),
    ...send('ScanRequests', 'RunDispatch'),
  ],
  deleter: [
    ...table('GetItem', 'BatchGetItem', 'Query', 'BatchWriteItem', 'DeleteItem', 'UpdateItem'),
    ...take('Deletions'),
    ...send('Deletions'),
    ...reports('DeleteObject'),
    ...listReports,
  ],
  'suppression-clock': everything(),
  'vulnerability-feeds': [
    ...table('GetItem', 'BatchGetItem', 'Query', 'BatchWriteItem', 'UpdateItem', 'DeleteItem'),
    ...send('Reevaluations'),
  ],
  sweep: [
    ...everything(),
    ...send('ScanRequests', 'RunDispatch', 'Deletions', 'Imports', 'Exports', 'Reevaluations'),
    ...allow(
      ['states:StopExecution', 'states:DescribeExecution'],
      ['arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:<RunStateMachine.Name>:*'],
    ),
  ],
};

const inCluster = JSON.stringify({ ArnEquals: { 'ecs:cluster': '<RunnerCluster.Arn>' } });

/** Every other role, with who takes it on. */
const ROLES_MAY: Readonly<Record<string, { readonly by: string; readonly may: readonly Line[] }>> = {
  RunsRole: {
    by: 'states.amazonaws.com',
    may: [
      ...allow(['ecs:RunTask'], ['<RunnerTask>'], inCluster),
      ...allow(
        ['ecs:StopTask', 'ecs:DescribeTasks'],
        ['arn:<AWS::Partition>:ecs:<AWS::Region>:<AWS::AccountId>:task/<RunnerCluster>/*'],
        inCluster,
      ),
      ...allow(
        ['iam:PassRole'],
        ['<RunnerTaskRole.Arn>', '<RunnerTaskExecutionRole.Arn>'],
        JSON.stringify({ StringEquals: { 'iam:PassedToService': 'ecs-tasks.amazonaws.com' } }),
      ),
      ...allow(
        ['events:PutTargets', 'events:PutRule', 'events:DescribeRule'],
        [
          'arn:<AWS::Partition>:events:<AWS::Region>:<AWS::AccountId>:rule/StepFunctionsGetEventsForECSTaskRule',
        ],
      ),
      ...allow(['lambda:InvokeFunction'], ['<ingest-report.Arn>', '<finish-run.Arn>']),
      // Delivery of logs knows no resources.
      ...allow(
        [
          'logs:CreateLogDelivery',
          'logs:GetLogDelivery',
          'logs:UpdateLogDelivery',
          'logs:DeleteLogDelivery',
          'logs:ListLogDeliveries',
          'logs:PutResourcePolicy',
          'logs:DescribeResourcePolicies',
          'logs:DescribeLogGroups',
        ],
        ['*'],
      ),
    ],
  },
  // What strangers' repositories are cloned and read with may do nothing in the account.
  RunnerTaskRole: { by: 'ecs-tasks.amazonaws.com', may: [] },
  RunnerTaskExecutionRole: { by: 'ecs-tasks.amazonaws.com', may: writeLog('Runner') },
  RunnerVpcRejectedIAMRole: {
    by: 'vpc-flow-logs.amazonaws.com',
    may: [...writeLog('RunnerFlow'), ...allow(['logs:DescribeLogStreams'], ['<RunnerFlowLogs.Arn>'])],
  },
};

/** The statements of all policies of a role, each action on each resource in a line of its own. */
function granted(of: ReadableTemplate, roleId: string): Line[] {
  return of
    .all('AWS::IAM::Policy')
    .filter(([, { Properties }]) => Properties.Roles.some(({ Ref }: { Ref: string }) => Ref === roleId))
    .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement)
    .flatMap(({ Effect, Action, Resource, Condition, ...rest }) => {
      expect(rest).toEqual({});
      const condition = Condition ? ` if ${JSON.stringify(of.plain(Condition))}` : '';
      return [Action]
        .flat()
        .flatMap((action) =>
          [Resource].flat().map((on) => `${Effect} ${action} on ${of.plain(on)}${condition}`),
        );
    })
    .sort();
}

const sorted = (lines: readonly Line[]) => [...lines].sort();
const logsOf = (name: string) => writeLog(`Functions${name.replaceAll('-', '')}`);

function roleOf(of: ReadableTemplate, name: FunctionName): string {
  const [, resource] = of.all('AWS::Lambda::Function').find(([id]) => of.nameOf(id) === name) ?? [];
  return resource?.Properties.Role['Fn::GetAtt'][0];
}

describe('roles', () => {
  it.each(FUNCTION_NAMES)('%s may do exactly what is written here', (name) => {
    expect(granted(template, roleOf(template, name))).toEqual(
      sorted([...FUNCTIONS_MAY[name], ...logsOf(name)]),
    );
  });

  it.each(Object.keys(ROLES_MAY))('%s may do exactly what is written here', (name) => {
    const [id = ''] = template.all('AWS::IAM::Role').find(([role]) => template.nameOf(role) === name) ?? [];
    expect(granted(template, id)).toEqual(sorted(ROLES_MAY[name]?.may ?? []));
  });

  it('are these and no others, each taken on by one service, with nothing but these policies', () => {
    const functions = FUNCTION_NAMES.map((name) => [roleOf(template, name), 'lambda.amazonaws.com'] as const);
    const expected = new Map<string, string>([
      ...functions.map(([id, by]) => [template.nameOf(id), by] as const),
      ...Object.entries(ROLES_MAY).map(([name, { by }]) => [name, by] as const),
    ]);
    expect(new Set(functions.map(([id]) => id)).size).toBe(FUNCTION_NAMES.length);
    const found = template.all('AWS::IAM::Role').map(([id, { Properties }]) => {
      const { AssumeRolePolicyDocument, Tags: _, ...rest } = Properties;
      expect([id, rest]).toEqual([id, {}]);
      return [template.nameOf(id), AssumeRolePolicyDocument.Statement] as const;
    });
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(
        [...expected].map(([name, Service]) => [
          name,
          [{ Action: 'sts:AssumeRole', Effect: 'Allow', Principal: { Service } }],
        ]),
      ),
    );
    // No policy is attached to anything else than these roles, one at a time.
    for (const [, { Properties }] of template.all('AWS::IAM::Policy')) {
      expect(Object.keys(Properties).sort()).toEqual(['PolicyDocument', 'PolicyName', 'Roles']);
      expect(Properties.Roles).toHaveLength(1);
    }
  });

  it('may write traces where the deployment wants them, and nothing more', () => {
    const traced = new ReadableTemplate(synthesize({ tracing: true }).template);
    const traces = allow(['xray:PutTraceSegments', 'xray:PutTelemetryRecords'], ['*']);
    for (const name of FUNCTION_NAMES)
      expect(granted(traced, roleOf(traced, name))).toEqual(
        sorted([...FUNCTIONS_MAY[name], ...logsOf(name), ...traces]),
      );
    const [[machine] = []] = traced.all('AWS::IAM::Role').filter(([id]) => traced.nameOf(id) === 'RunsRole');
    const sampling = allow(['xray:GetSamplingRules', 'xray:GetSamplingTargets'], ['*']);
    expect(granted(traced, machine ?? '')).toEqual(
      sorted([...(ROLES_MAY.RunsRole?.may ?? []), ...traces, ...sampling]),
    );
  });
});

describe('policies of resources', () => {
  it('are of these kinds and no others', () => {
    const kinds = /IAM|Polic|Permission|Grant|AccessPoint|AccessKey|::Url$|Share/;
    expect(template.types.filter((type) => kinds.test(type))).toEqual([
      'AWS::IAM::Policy',
      'AWS::IAM::Role',
      'AWS::Lambda::Permission',
      'AWS::S3::BucketPolicy',
      'AWS::SNS::TopicPolicy',
      'AWS::SQS::QueuePolicy',
    ]);
    for (const [, { Properties }] of template.all('AWS::DynamoDB::Table'))
      expect(Properties).not.toHaveProperty('ResourcePolicy');
  });

  const API = 'arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:<ApiHttpApi>';

  it('let these services call these functions, each for this cause alone', () => {
    const wholeApi = [
      ...['auth', 'organizations', 'api-keys', 'projects', 'assets', 'integrations', 'scans', 'findings'],
      ...['imports', 'policies', 'exports', 'runner-gate', 'reference'],
    ];
    const found = template.all('AWS::Lambda::Permission').map(([, { Properties }]) => {
      const { Action, FunctionName, Principal, SourceArn, ...rest } = Properties;
      expect(rest).toEqual({});
      return `${Principal} ${Action} ${template.plain(FunctionName)} from ${template.plain(SourceArn)}`;
    });
    const call = (service: string, name: string, from: string) =>
      `${service}.amazonaws.com lambda:InvokeFunction <${name}.Arn> from ${from}`;
    expect(sorted(found)).toEqual(
      sorted([
        ...wholeApi.map((name) => call('apigateway', name, `${API}/*/*/*`)),
        call('apigateway', 'organizations', `${API}/$default/$default`),
        call('apigateway', 'authorizer', `${API}/authorizers/<ApiHttpApiAuthorizer>`),
        call('events', 'sweep', '<EveryMinute.Arn>'),
        call('events', 'suppression-clock', '<SuppressionClock.Arn>'),
        call('events', 'scanner-databases', '<ScannerDatabases.Arn>'),
        call('events', 'vulnerability-feeds', '<VulnerabilityFeeds.Arn>'),
      ]),
    );
  });

  it.each([
    ['as it is', template],
    ['with CORS', new ReadableTemplate(synthesize({ corsOrigins: 'https://app.example.com' }).template)],
  ])('let the gateway call the function of every route: the source of a call is matched, %s', (_, of) => {
    const permissions = of.all('AWS::Lambda::Permission').map(([, { Properties }]) => ({
      callee: of.plain(Properties.FunctionName),
      source: String(of.plain(Properties.SourceArn)),
    }));
    const integrations = new Map(
      of
        .all('AWS::ApiGatewayV2::Integration')
        .map(([id, { Properties }]) => [
          `integrations/<${of.nameOf(id)}>`,
          of.plain(Properties.IntegrationUri),
        ]),
    );
    const [[, stage] = []] = of.all('AWS::ApiGatewayV2::Stage');
    const routes = of.all('AWS::ApiGatewayV2::Route').map(([, { Properties }]) => Properties);
    expect(routes.length).toBeGreaterThan(100);
    for (const { RouteKey, Target } of routes) {
      const callee = integrations.get(String(of.plain(Target)));
      expect(callee).toBeDefined();
      // `GET /api/x` calls from `…/GET/api/x`, the route without a path from `…/$default`.
      const source = `${API}/${stage?.Properties.StageName}/${RouteKey.replace(' /', '/')}`;
      const matching = permissions.filter(
        (permission) => permission.callee === callee && matchesArn(permission.source, source),
      );
      expect([RouteKey, matching.length > 0]).toEqual([RouteKey, true]);
    }
  });

  const overTlsAlone = (on: unknown, service: string, condition: object) => ({
    Action: `${service}:*`,
    Condition: condition,
    Effect: 'Deny',
    Principal: { AWS: '*' },
    Resource: on,
  });
  const plainHttp = { Bool: { 'aws:SecureTransport': 'false' } };

  it('let nobody use a queue without TLS, and S3 of this account tell of uploads', () => {
    const found = template.all('AWS::SQS::QueuePolicy').map(([, { Properties }]) => {
      const [queue] = template.plain(Properties.Queues) as string[];
      return [queue, template.plain(Properties.PolicyDocument.Statement)];
    });
    const names = [
      'ScanRequests',
      'RunDispatch',
      'Deletions',
      'Imports',
      'Uploads',
      'Exports',
      'Reevaluations',
    ];
    const arn = (name: string) => `<${name}.Arn>`;
    const expected = names
      .flatMap((name) => [`${name}Queue`, `${name}DeadLetters`])
      .map((name) => {
        const notifications = {
          Action: 'sqs:SendMessage',
          Condition: { StringEquals: { 'aws:SourceAccount': '<AWS::AccountId>' } },
          Effect: 'Allow',
          Principal: { Service: 's3.amazonaws.com' },
          Resource: arn(name),
        };
        const refusal = overTlsAlone(arn(name), 'sqs', plainHttp);
        return [`<${name}>`, name === 'UploadsQueue' ? [refusal, notifications] : [refusal]];
      });
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
    expect(found).toHaveLength(template.all('AWS::SQS::Queue').length);
  });

  it('let nobody use the bucket without TLS 1.2, and allow nothing by themselves', () => {
    const both = ['<ReportBucket.Arn>', '<ReportBucket.Arn>/*'];
    expect(
      template
        .all('AWS::S3::BucketPolicy')
        .map(([, { Properties }]) => [
          template.plain(Properties.Bucket),
          template.plain(Properties.PolicyDocument.Statement),
        ]),
    ).toEqual([
      [
        '<ReportBucket>',
        [
          overTlsAlone(both, 's3', plainHttp),
          overTlsAlone(both, 's3', { NumericLessThan: { 's3:TlsVersion': 1.2 } }),
        ],
      ],
    ]);
  });

  it('let CloudWatch of this account send alarms, and nobody without TLS', () => {
    const topic = { Resource: '<OperatorsTopic>', Action: 'sns:Publish' };
    const found = template.all('AWS::SNS::TopicPolicy');
    const statements = found.flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement);
    expect(statements.map(({ Sid: _, ...statement }) => template.plain(statement))).toEqual([
      { ...topic, Condition: plainHttp, Effect: 'Deny', Principal: '*' },
      {
        ...topic,
        Condition: { StringEquals: { 'aws:SourceAccount': '<AWS::AccountId>' } },
        Effect: 'Allow',
        Principal: { Service: 'cloudwatch.amazonaws.com' },
      },
    ]);
    expect(found).toHaveLength(template.all('AWS::SNS::Topic').length);
  });

  it('leave the key to the account, to Secrets Manager on its behalf, and to alarms that are sent', () => {
    const account = { AWS: 'arn:<AWS::Partition>:iam::<AWS::AccountId>:root' };
    const viaSecrets = {
      StringEquals: { 'kms:ViaService': 'secretsmanager.<AWS::Region>.amazonaws.com' },
    };
    const statement = (Action: unknown, more: object = {}) => ({
      Action,
      Effect: 'Allow',
      Principal: account,
      Resource: '*',
      ...more,
    });
    expect(
      template
        .all('AWS::KMS::Key')
        .map(([, { Properties }]) => template.plain(Properties.KeyPolicy.Statement)),
    ).toEqual([
      [
        statement('kms:*'),
        statement(
          [
            'kms:CreateGrant',
            'kms:Decrypt',
            'kms:DescribeKey',
            'kms:Encrypt',
            'kms:GenerateDataKey*',
            'kms:ReEncrypt*',
          ],
          { Condition: viaSecrets },
        ),
        {
          Action: ['kms:Decrypt', 'kms:GenerateDataKey'],
          Effect: 'Allow',
          Principal: { Service: 'cloudwatch.amazonaws.com' },
          Resource: '*',
        },
      ],
    ]);
  });
});

/** As `ArnLike` compares: part by part between the colons of an ARN; `*` stands for any characters of a part. */
function matchesArn(pattern: string, arn: string): boolean {
  const split = (text: string) => {
    // References have colons of their own.
    const parts = text.replace(/<AWS::/g, '<AWS--').split(':');
    return [...parts.slice(0, 5), parts.slice(5).join(':')];
  };
  const theirs = split(arn);
  return split(pattern).every((part, at) => {
    const expression = part.split('*').map(RegExp.escape).join('.*');
    return new RegExp(`^${expression}$`).test(theirs[at] ?? '');
  });
}
