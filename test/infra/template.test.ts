import { readFileSync } from 'node:fs';
import { StateMachine } from 'aws-local-stepfunctions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { operations } from '#contract/index.ts';
import { openApiDocument } from '#contract/openapi.ts';
import { Deployment } from '#infra/deployment.ts';
import { FUNCTION_NAMES, FUNCTIONS, type FunctionDeclaration } from '#infra/functions/catalogue.ts';
import { PROJECT_ROOT } from '#infra/project.ts';
import { type Resource, synthesize } from '#test/harness/template.ts';

const { app, stack, template } = synthesize();
const resources = template.toJSON().Resources as Record<string, Resource>;
const all = (type: string) => Object.entries(resources).filter(([, resource]) => resource.Type === type);
const functionName = (id: string) => resources[id]?.Metadata?.['aspm:function'];

/** Ids of the functions that a value of the template refers to. */
function functionsIn(value: unknown): unknown[] {
  const text = JSON.stringify(value);
  return all('AWS::Lambda::Function')
    .map(([id]) => id)
    .filter((id) => text.includes(`"${id}"`))
    .map(functionName);
}

describe('the API', () => {
  const routes = new Map(
    all('AWS::ApiGatewayV2::Route').map(([, { Properties }]) => [Properties.RouteKey, Properties]),
  );
  const targetOf = (key: string) => {
    const integration = routes.get(key).Target['Fn::Join'][1][1].Ref;
    return functionsIn(resources[integration]?.Properties.IntegrationUri)[0];
  };

  it('has one route for each operation, to the function of its group', () => {
    const expected = operations
      .filter(({ path }) => !path.endsWith('/'))
      .map(({ method, path, group }) => [`${method} ${path}`, group]);
    for (const [key = '', group] of expected) expect([key, targetOf(key)]).toEqual([key, group]);
    expect([...routes.keys()].sort()).toEqual(
      [...expected.map(([key]) => key), 'GET /docs', 'GET /docs/{file}', '$default'].sort(),
    );
    expect(targetOf('$default')).toBe('organizations');
  });

  it('asks the authorizer on each of them, the default one included', () => {
    const [[authorizer] = []] = all('AWS::ApiGatewayV2::Authorizer');
    for (const [key, route] of routes)
      expect([key, route.AuthorizationType, route.AuthorizerId]).toEqual([
        key,
        'CUSTOM',
        { Ref: authorizer },
      ]);
  });

  it('remembers no answer of the authorizer, and needs no header to ask it', () => {
    const [[, authorizer] = []] = all('AWS::ApiGatewayV2::Authorizer');
    expect(authorizer?.Properties).toMatchObject({
      AuthorizerPayloadFormatVersion: '2.0',
      AuthorizerResultTtlInSeconds: 0,
      EnableSimpleResponses: true,
      IdentitySource: [],
    });
  });

  it('has one integration a function, so that 115 operations fit into one stack', () => {
    const served = new Set(operations.map(({ group }) => group));
    expect(all('AWS::ApiGatewayV2::Integration')).toHaveLength(served.size);
    expect(Object.keys(resources).length).toBeLessThan(500 - 115);
  });
});

describe('functions', () => {
  it('are declared where there is a handler, and there is one for each group of operations', () => {
    for (const name of FUNCTION_NAMES)
      expect(readFileSync(`${PROJECT_ROOT}/functions/${name}/handler.ts`, 'utf8')).toContain('handler');
    for (const { group } of operations) expect(FUNCTION_NAMES).toContain(group);
    expect(
      all('AWS::Lambda::Function')
        .map(([id]) => functionName(id))
        .sort(),
    ).toEqual([...FUNCTION_NAMES].sort());
  });

  it.each(FUNCTION_NAMES)('%s has exactly the settings that its handler reads', (name) => {
    const source = readFileSync(`${PROJECT_ROOT}/functions/${name}/handler.ts`, 'utf8');
    const [, list = ''] = /readConfig\(\[([^\]]*)\]/.exec(source) ?? [];
    const read = [...list.matchAll(/'(\w+)'/g)].map(([, setting]) => setting);
    expect([...FUNCTIONS[name].settings].sort()).toEqual(read.sort());
    const [, deployed] = all('AWS::Lambda::Function').find(([id]) => functionName(id) === name) ?? [];
    const { measures }: FunctionDeclaration = FUNCTIONS[name];
    expect(Object.keys(deployed?.Properties.Environment?.Variables ?? {}).sort()).toEqual(
      [...read, ...(measures ? ['POWERTOOLS_SERVICE_NAME'] : [])].sort(),
    );
  });

  it('run on the declared runtime, and answer before the gateway gives up', () => {
    const served = new Set<string>(['authorizer', ...operations.map(({ group }) => group)]);
    for (const [id, { Properties }] of all('AWS::Lambda::Function')) {
      expect(Properties).toMatchObject({ Runtime: 'nodejs24.x', Architectures: ['arm64'] });
      if (served.has(String(functionName(id)))) expect(Properties.Timeout).toBeLessThanOrEqual(29);
    }
  });
});

describe('permissions', () => {
  const statements = all('AWS::IAM::Policy').flatMap(([policy, { Properties }]) =>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    Properties.PolicyDocument.Statement.map((statement: any) => ({
      policy,
      actions: [statement.Action].flat() as string[],
      resources: [statement.Resource].flat(),
    })),
  );
  // X-Ray, log delivery and ECR's tokens know no resources.
  const WITHOUT_RESOURCES = /^(?:logs:|xray:|ecr:GetAuthorizationToken$)/;

  it('name actions one by one', () => {
    for (const { actions } of statements) for (const action of actions) expect(action).not.toContain('*');
  });

  it('name resources one by one', () => {
    for (const { policy, actions, resources: on } of statements) {
      if (on.includes('*'))
        expect([policy, actions.filter((action: string) => !WITHOUT_RESOURCES.test(action))]).toEqual([
          policy,
          [],
        ]);
    }
  });

  it('never allow to read the whole table', () => {
    expect(JSON.stringify(statements)).not.toContain('dynamodb:Scan');
  });

  it.each(FUNCTION_NAMES)('%s may do with the table what it declares, and nothing else', (name) => {
    const declared: FunctionDeclaration = FUNCTIONS[name];
    const granted = statements
      .filter(({ policy }) => policy.startsWith(`Functions${name.replaceAll('-', '')}Role`))
      .flatMap(({ actions }) => actions.filter((action: string) => action.startsWith('dynamodb:')));
    expect(granted.sort()).toEqual(declared.may.table.map((action) => `dynamodb:${action}`).sort());
  });

  it('leave the scanner runner without any', () => {
    const [[, task] = []] = all('AWS::ECS::TaskDefinition');
    const role = task?.Properties.TaskRoleArn['Fn::GetAtt'][0];
    expect(resources[role]?.Properties).not.toHaveProperty('Policies');
    expect(resources[role]?.Properties).not.toHaveProperty('ManagedPolicyArns');
    for (const [, { Properties }] of all('AWS::IAM::Policy'))
      expect(Properties.Roles).not.toContainEqual({ Ref: role });
  });

  it('hold against AwsSolutions', () => {
    const { success, violations } = new AwsSolutionsChecks(app).validateScope(stack);
    expect(violations.map(({ ruleName, violatingResources }) => [ruleName, violatingResources])).toEqual([]);
    expect(success).toBe(true);
  });
});

describe('the pipeline', () => {
  it('has a dead-letter queue with an alarm behind every queue that is worked on', () => {
    const queues = all('AWS::SQS::Queue');
    const worked = queues.filter(([, { Properties }]) => Properties.RedrivePolicy);
    const dead = worked.map(
      ([, { Properties }]) => Properties.RedrivePolicy.deadLetterTargetArn['Fn::GetAtt'][0],
    );
    expect(queues.map(([id]) => id).sort()).toEqual([...worked.map(([id]) => id), ...dead].sort());
    const watched = JSON.stringify(
      all('AWS::CloudWatch::Alarm').map(([, { Properties }]) => Properties.Metrics),
    );
    for (const id of dead) expect(watched).toContain(`"${id}"`);
    for (const [, { Properties }] of worked) expect(Properties.RedrivePolicy.maxReceiveCount).toBe(5);
  });

  it('keeps a message from others for six times as long as its function may take', () => {
    for (const [, { Properties }] of all('AWS::Lambda::EventSourceMapping')) {
      const queue = resources[Properties.EventSourceArn['Fn::GetAtt'][0]];
      const worker = resources[Properties.FunctionName.Ref];
      expect(queue?.Properties.VisibilityTimeout).toBeGreaterThanOrEqual(6 * worker?.Properties.Timeout);
      expect(Properties.FunctionResponseTypes).toEqual(['ReportBatchItemFailures']);
    }
  });

  it('is a state machine that the interpreter of the embedded cloud accepts', () => {
    const [[, machine] = []] = all('AWS::StepFunctions::StateMachine');
    const text = machine?.Properties.DefinitionString['Fn::Join'][1]
      .map((part: unknown) => (typeof part === 'string' ? part : 'arn:aws:x:y:000000000000:z'))
      .join('');
    const definition = JSON.parse(text);
    expect(() => new StateMachine(definition, { validationOptions: { checkArn: false } })).not.toThrow();
    expect(Object.keys(definition.States)).toEqual(['RunScanners', 'IngestReports', 'FinishRun']);
    for (const name of ['RunScanners', 'IngestReports'])
      expect(definition.States[name].Catch).toEqual([
        { ErrorEquals: ['States.ALL'], ResultPath: '$.failure', Next: 'FinishRun' },
      ]);
  });
});

describe('alarms', () => {
  it('name an article of the runbook that exists', () => {
    const runbook = readFileSync(`${PROJECT_ROOT}/docs/runbook.md`, 'utf8');
    const articles = [...runbook.matchAll(/^## (.+)$/gm)].map(([, title = '']) =>
      title.toLowerCase().replaceAll(' ', '-'),
    );
    for (const [, { Properties }] of all('AWS::CloudWatch::Alarm')) {
      const [, article] = /docs\/runbook\.md#([\w-]+)$/.exec(Properties.AlarmDescription) ?? [];
      expect(articles).toContain(article);
    }
  });

  it('are sent to a topic that CloudWatch may send to, whether anybody has subscribed or not', () => {
    const [[topic] = []] = all('AWS::SNS::Topic');
    for (const [, { Properties }] of all('AWS::CloudWatch::Alarm'))
      expect(Properties.AlarmActions).toEqual([{ Ref: topic }]);
    const [[, policy] = []] = all('AWS::SNS::TopicPolicy');
    expect(policy?.Properties.PolicyDocument.Statement).toContainEqual(
      expect.objectContaining({
        Effect: 'Allow',
        Principal: { Service: 'cloudwatch.amazonaws.com' },
        Action: 'sns:Publish',
        Resource: { Ref: topic },
        Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
      }),
    );
    expect(resources.Key?.Properties.KeyPolicy.Statement).toContainEqual({
      Effect: 'Allow',
      Principal: { Service: 'cloudwatch.amazonaws.com' },
      Action: ['kms:Decrypt', 'kms:GenerateDataKey'],
      Resource: '*',
    });
    expect(Object.values(template.toJSON().Outputs)).toContainEqual({ Value: { Ref: topic } });
  });

  it('are mailed where the deployment says', () => {
    expect(all('AWS::SNS::Subscription')).toEqual([]);
    const mailed = synthesize({ alarmEmail: 'ops@example.com' });
    mailed.template.hasResourceProperties('AWS::SNS::Subscription', {
      Protocol: 'email',
      Endpoint: 'ops@example.com',
    });
    const { violations } = new AwsSolutionsChecks(mailed.app).validateScope(mailed.stack);
    expect(violations).toEqual([]);
  });
});

describe('what holds data', () => {
  it('outlives the stack', () => {
    for (const id of [
      'Table',
      'ReportBucket',
      'TokenSecret',
      'FingerprintSecret',
      'IntegrationSecret',
      'CursorSecret',
      'Key',
    ])
      expect([id, resources[id]]).toMatchObject([
        id,
        // A table that is protected can't be taken back where its first deployment fails.
        {
          DeletionPolicy: id === 'Table' ? 'Retain' : 'RetainExceptOnCreate',
          UpdateReplacePolicy: 'Retain',
        },
      ]);
    expect(resources.Table?.Properties).toMatchObject({
      BillingMode: 'PAY_PER_REQUEST',
      DeletionProtectionEnabled: true,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      TimeToLiveSpecification: { AttributeName: 'expires_at', Enabled: true },
      SSESpecification: { SSEEnabled: true, SSEType: 'KMS' },
    });
  });
});

describe('what a new account bounds', () => {
  it('is left to the API: consumers of queues work on a few batches at once', () => {
    for (const [, { Properties }] of all('AWS::Lambda::EventSourceMapping'))
      expect(Properties.ScalingConfig).toEqual({ MaximumConcurrency: 2 });
    const wider = synthesize({ queueConcurrency: '20' }).template.findResources(
      'AWS::Lambda::EventSourceMapping',
    );
    for (const { Properties } of Object.values(wider))
      expect(Properties.ScalingConfig).toEqual({ MaximumConcurrency: 20 });
    expect(() => synthesize({ queueConcurrency: '1' })).toThrow();
  });

  it('is not used up by strangers: what needs no credentials is throttled by itself', () => {
    const [[, stage] = []] = all('AWS::ApiGatewayV2::Stage');
    const writes = { ThrottlingRateLimit: 20, ThrottlingBurstLimit: 40 };
    const reads = { ThrottlingRateLimit: 50, ThrottlingBurstLimit: 100 };
    expect(stage?.Properties.RouteSettings).toEqual({
      'POST /api/auth/login': writes,
      'POST /api/auth/refresh': writes,
      'POST /api/auth/invitations/decline': writes,
      'POST /api/auth/invitations/password': writes,
      'GET /api/health': reads,
      'GET /api/openapi.json': reads,
      'GET /docs': reads,
      'GET /docs/{file}': reads,
    });
    const routes = all('AWS::ApiGatewayV2::Route');
    const { DependsOn = [] } = stage as { DependsOn?: string[] };
    for (const key of Object.keys(stage?.Properties.RouteSettings))
      expect(DependsOn).toContain(routes.find(([, { Properties }]) => Properties.RouteKey === key)?.[0]);
  });
});

describe('the runners', () => {
  it('reach what is served at these ports, and nothing reaches them', () => {
    const [[, group] = []] = all('AWS::EC2::SecurityGroup');
    const egress = (of: Resource | undefined) =>
      of?.Properties.SecurityGroupEgress.map(
        ({ CidrIp, IpProtocol, FromPort, ToPort }: Record<string, unknown>) =>
          `${IpProtocol} ${FromPort}-${ToPort} ${CidrIp}`,
      );
    expect(egress(group)).toEqual(['tcp 443-443 0.0.0.0/0', 'tcp 22-22 0.0.0.0/0']);
    expect(group?.Properties).not.toHaveProperty('SecurityGroupIngress');
    const other = synthesize({ runnerPorts: '443,8443' }).template.findResources('AWS::EC2::SecurityGroup');
    expect(Object.values(other).map((one) => egress(one as Resource))).toEqual([
      ['tcp 443-443 0.0.0.0/0', 'tcp 8443-8443 0.0.0.0/0'],
    ]);
    expect(() => synthesize({ runnerPorts: 'https' })).toThrow();
  });
});

describe('CORS', () => {
  const origins = ['https://app.example.com', 'http://localhost:5173'];
  const { app: whole, stack: made, template: open } = synthesize({ corsOrigins: origins.join(', ') });
  const [[, api] = []] = Object.entries(open.findResources('AWS::ApiGatewayV2::Api'));
  const cors = api?.Properties.CorsConfiguration;
  const routesOf = (of: typeof template) =>
    Object.values(of.findResources('AWS::ApiGatewayV2::Route')).map(({ Properties }) => Properties);
  const isPreflightRoute = ({ RouteKey }: Resource['Properties']) => RouteKey === 'OPTIONS /{proxy+}';

  it('is nothing that the template knows, unless the deployment names origins', () => {
    const [[, plain] = []] = all('AWS::ApiGatewayV2::Api');
    expect(plain?.Properties).not.toHaveProperty('CorsConfiguration');
    expect(routesOf(template).filter(isPreflightRoute)).toEqual([]);
    expect(synthesize({ corsOrigins: '' }).template.toJSON()).toEqual(template.toJSON());
  });

  it('lets pages of these origins do what the contract knows', () => {
    expect(cors).toMatchObject({ AllowOrigins: origins, MaxAge: 7200 });
    expect(cors.AllowMethods).toEqual([...new Set(operations.map(({ method }) => method))].sort());
    // Credentials are headers, which a page has to be given: there are no cookies that go along by themselves.
    expect(cors).not.toHaveProperty('AllowCredentials');
  });

  it('lets them send and read every header that the reference names', () => {
    const document = JSON.stringify(openApiDocument(operations, 'https://api.example.com'));
    const answered = [...document.matchAll(/"((?:X-|Retry-)[\w-]+)":\{"description"/g)].map(
      ([, name = '']) => name,
    );
    expect(new Set(answered).size).toBeGreaterThan(4);
    for (const name of answered) expect(cors.ExposeHeaders).toContain(name.toLowerCase());
    const asked = [
      ...document.matchAll(/"in":"header","name":"([\w-]+)"|"name":"([\w-]+)","in":"header"/g),
    ].map(([, first, second]) => first ?? second ?? '');
    expect(asked).toContain('X-API-Key');
    for (const name of [...asked, 'Authorization', 'Content-Type', 'X-Org-API-Key'])
      expect(cors.AllowHeaders).toContain(name.toLowerCase());
  });

  it('answers preflights without credentials, by the function that needs no table, and not too many', () => {
    const [route, ...others] = routesOf(open).filter(isPreflightRoute);
    expect(others).toEqual([]);
    expect(route.AuthorizationType).toBe('NONE');
    expect(route).not.toHaveProperty('AuthorizerId');
    const [[, stage] = []] = Object.entries(open.findResources('AWS::ApiGatewayV2::Stage'));
    expect(stage?.Properties.RouteSettings['OPTIONS /{proxy+}']).toEqual({
      ThrottlingRateLimit: 200,
      ThrottlingBurstLimit: 400,
    });
    // Every other route still asks the authorizer.
    expect(routesOf(open).filter(({ AuthorizationType }) => AuthorizationType !== 'CUSTOM')).toEqual([route]);
    expect(new AwsSolutionsChecks(whole).validateScope(made).violations).toEqual([]);
  });

  it('may be for everybody, and takes nothing that is no origin', () => {
    const [[, everybody] = []] = Object.entries(
      synthesize({ corsOrigins: '*' }).template.findResources('AWS::ApiGatewayV2::Api'),
    );
    expect(everybody?.Properties.CorsConfiguration.AllowOrigins).toEqual(['*']);
    for (const wrong of [
      'app.example.com',
      'https://app.example.com/',
      'https://app.example.com/page',
      'https://APP.example.com',
      'https://app.example.com:443',
      'https://me@app.example.com',
      'http://app.example.com',
      'https://*',
      'https://*.example.com',
      '*,https://app.example.com',
      'null',
      'file://',
    ])
      expect(() => synthesize({ corsOrigins: wrong }), wrong).toThrow('must be * alone, or origins');
  });
});

describe('what a deployment can choose', () => {
  it('is told in the guide, each option in a row of its own, and no other', () => {
    const guide = readFileSync(`${PROJECT_ROOT}/docs/deploying.md`, 'utf8');
    const [, section = ''] = guide.split('\n## Options\n');
    const [table = ''] = section.split('\n## ');
    const told = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name = '']) => name);
    expect(told.sort()).toEqual(Object.keys(Deployment.shape).sort());
  });

  it('has its identity providers reach the authorizer, from text or from cdk.json', () => {
    const issuers = [{ issuer: 'https://id.example.com/tenant', audience: 'aspm' }];
    const settingOf = (context: Record<string, unknown>) =>
      Object.values(synthesize(context).template.findResources('AWS::Lambda::Function'))
        .map(({ Properties }) => Properties.Environment?.Variables?.ASPM_OIDC_ISSUERS)
        .filter((value) => value !== undefined);
    expect(settingOf({})).toEqual(['[]']);
    expect(settingOf({ oidcIssuers: issuers })).toEqual([JSON.stringify(issuers)]);
    expect(settingOf({ oidcIssuers: JSON.stringify(issuers) })).toEqual([JSON.stringify(issuers)]);
    expect(() =>
      synthesize({ oidcIssuers: '[{"issuer":"http://id.example.com","audience":"a"}]' }),
    ).toThrow();
  });

  it('leaves the making of organizations to the operator, unless it says otherwise', () => {
    const settingsOf = (context: Record<string, unknown>) =>
      Object.values(synthesize(context).template.findResources('AWS::Lambda::Function'))
        .map(({ Properties }) => Properties.Environment?.Variables ?? {})
        .filter((variables) => 'ASPM_ORG_CREATION' in variables)
        .map((variables) => [variables.ASPM_ORG_CREATION, variables.ASPM_ORG_CREATION_CAP]);
    expect(settingsOf({})).toEqual([['operator', '10']]);
    expect(settingsOf({ orgCreation: 'admins', orgCreationCap: '3' })).toEqual([['admins', '3']]);
  });

  it('takes its first table back where it fails, if it is told to', () => {
    const first = synthesize({ deletionProtection: 'false' }).template.toJSON().Resources.Table;
    expect(first).toMatchObject({
      DeletionPolicy: 'RetainExceptOnCreate',
      UpdateReplacePolicy: 'Retain',
      Properties: { DeletionProtectionEnabled: false },
    });
  });

  it('is told of what it costs, where it says how much it may', () => {
    expect(all('AWS::Budgets::Budget')).toEqual([]);
    const { template: bounded, app: whole, stack: made } = synthesize({ monthlyBudget: '250' });
    const [topic] = Object.keys(bounded.findResources('AWS::SNS::Topic'));
    const [budget] = Object.values(bounded.findResources('AWS::Budgets::Budget'));
    expect(budget?.Properties.Budget).toMatchObject({
      BudgetLimit: { Amount: 250, Unit: 'USD' },
      TimeUnit: 'MONTHLY',
    });
    const subscribers = [{ SubscriptionType: 'SNS', Address: { Ref: topic } }];
    expect(budget?.Properties.NotificationsWithSubscribers).toMatchObject([
      { Notification: { NotificationType: 'ACTUAL', Threshold: 80 }, Subscribers: subscribers },
      { Notification: { NotificationType: 'FORECASTED', Threshold: 100 }, Subscribers: subscribers },
    ]);
    for (const kind of ['AWS::SNS::TopicPolicy', 'AWS::KMS::Key'])
      expect(JSON.stringify(bounded.findResources(kind))).toContain('budgets.amazonaws.com');
    expect(new AwsSolutionsChecks(whole).validateScope(made).violations).toEqual([]);
  });

  it('is checked before anything is made', () => {
    expect(() => synthesize({ defaultTier: 'gold' })).toThrow();
    expect(() => synthesize({ alarmEmail: 'nobody' })).toThrow();
  });
});
