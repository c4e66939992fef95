import * as z from 'zod';
import { FUNCTION_METADATA } from '#infra/project.ts';
import { ACCOUNT, createResolver, type PhysicalResource, REGION } from './resolver.ts';
import type { Template } from './template.ts';

const KeySchema = z.array(z.object({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) }));
const Table = z.object({
  AttributeDefinitions: z.array(
    z.object({ AttributeName: z.string(), AttributeType: z.enum(['S', 'N', 'B']) }),
  ),
  KeySchema,
  GlobalSecondaryIndexes: z
    .array(
      z.object({
        IndexName: z.string(),
        KeySchema,
        Projection: z.object({ ProjectionType: z.enum(['ALL', 'KEYS_ONLY', 'INCLUDE']) }),
      }),
    )
    .optional(),
  TimeToLiveSpecification: z.object({ AttributeName: z.string(), Enabled: z.boolean() }).optional(),
});
const Queue = z.object({
  VisibilityTimeout: z.number().optional(),
  RedrivePolicy: z.object({ deadLetterTargetArn: z.string(), maxReceiveCount: z.number() }).optional(),
});
const Bucket = z.object({
  NotificationConfiguration: z
    .object({
      QueueConfigurations: z.array(
        z.object({
          Event: z.literal('s3:ObjectCreated:Put'),
          Queue: z.string(),
          Filter: z.object({
            S3Key: z.object({
              Rules: z.array(z.object({ Name: z.enum(['prefix', 'suffix']), Value: z.string() })),
            }),
          }),
        }),
      ),
    })
    .optional(),
});
const LambdaFunction = z.object({
  Timeout: z.number().default(3),
  MemorySize: z.number().default(128),
  Environment: z.object({ Variables: z.record(z.string(), z.coerce.string()) }).optional(),
});
const Stage = z.object({ AccessLogSettings: z.object({ Format: z.string() }).optional() });
const Route = z.object({ RouteKey: z.string(), Target: z.string(), AuthorizerId: z.string().optional() });
const Integration = z.object({ IntegrationUri: z.string(), PayloadFormatVersion: z.literal('2.0') });
const Authorizer = z.object({
  AuthorizerUri: z.string(),
  AuthorizerPayloadFormatVersion: z.literal('2.0'),
  EnableSimpleResponses: z.literal(true),
});
const EventSourceMapping = z.object({
  EventSourceArn: z.string(),
  FunctionName: z.string(),
  BatchSize: z.number().default(10),
  FunctionResponseTypes: z.array(z.string()).default([]),
});
const Rule = z.object({
  ScheduleExpression: z.string(),
  State: z.string().default('ENABLED'),
  Targets: z.array(z.object({ Arn: z.string() })),
});
const StateMachine = z.object({ DefinitionString: z.string() });
const Secret = z.object({ GenerateSecretString: z.object({ PasswordLength: z.number().default(32) }) });
const TaskDefinition = z.object({ ContainerDefinitions: z.array(z.object({ Name: z.string() })) });

/** What the template asks for, by the names under which the parts know each other here. */
export interface CloudModel {
  readonly tables: readonly (z.output<typeof Table> & { readonly name: string })[];
  readonly queues: readonly (z.output<typeof Queue> & { readonly name: string; readonly url: string })[];
  readonly buckets: readonly LocalBucket[];
  readonly secrets: readonly { readonly arn: string; readonly name: string; readonly length: number }[];
  readonly functions: readonly LocalFunction[];
  readonly routes: readonly LocalRoute[];
  /** Format of the gateway's access log; null: it has none. */
  readonly accessLogFormat: string | null;
  readonly mappings: readonly LocalMapping[];
  readonly schedules: readonly { readonly expression: string; readonly functionName: string }[];
  readonly stateMachines: readonly { readonly arn: string; readonly definition: unknown }[];
  /** Every function's settings together: names mean the same everywhere (shared/config.ts). */
  readonly environment: Readonly<Record<string, string>>;
}
export interface LocalBucket {
  readonly name: string;
  /** Who is told of new objects whose keys begin and end like this. */
  readonly notifications: readonly {
    readonly queueUrl: string;
    readonly prefix: string;
    readonly suffix: string;
  }[];
}
export interface LocalFunction {
  readonly name: string;
  readonly timeoutSeconds: number;
  readonly memory: number;
}
export interface LocalRoute {
  readonly key: string;
  readonly functionName: string;
  readonly authorizer: string | null;
}
export interface LocalMapping {
  readonly queueUrl: string;
  readonly queueArn: string;
  readonly functionName: string;
  readonly batchSize: number;
  readonly partialFailures: boolean;
}

/** Addresses of the parts, which the template's settings will hold. */
export interface Addresses {
  readonly gateway: string;
  readonly sqs: string;
}

export function readModel(template: Template, addresses: Addresses): CloudModel {
  const physical = physicalResources(template, addresses);
  const resolve = createResolver(template, physical);
  const all = <Schema extends z.ZodType>(type: string, schema: Schema) =>
    Object.entries(template.Resources)
      .filter(([, resource]) => resource.Type === type)
      .map(([id, resource]) => ({
        id,
        at: physicalOf(physical, id),
        is: schema.parse(resolve(resource.Properties)),
      }));

  const functions = all('AWS::Lambda::Function', LambdaFunction);
  const functionOf = (arn: string) => {
    const found = functions.find(({ at }) => arn.includes(at.attributes.Arn ?? '\0'));
    if (!found) throw new Error(`The template has no function ${arn}`);
    return found.at.ref;
  };
  const authorizers = new Map(
    all('AWS::ApiGatewayV2::Authorizer', Authorizer).map(({ at, is }) => [
      at.ref,
      functionOf(`${is.AuthorizerUri}`),
    ]),
  );
  const integrations = new Map(
    all('AWS::ApiGatewayV2::Integration', Integration).map(({ at, is }) => [
      `integrations/${at.ref}`,
      functionOf(is.IntegrationUri),
    ]),
  );
  const queues = all('AWS::SQS::Queue', Queue);
  const containers = all('AWS::ECS::TaskDefinition', TaskDefinition);
  if (containers.length > 1) throw new Error('The embedded cloud knows one task: the scanner runner');

  return {
    tables: all('AWS::DynamoDB::Table', Table).map(({ at, is }) => ({ ...is, name: at.ref })),
    queues: queues.map(({ id, at, is }) => ({ ...is, name: id, url: at.ref })),
    buckets: all('AWS::S3::Bucket', Bucket).map(({ at, is }) => ({
      name: at.ref,
      notifications: (is.NotificationConfiguration?.QueueConfigurations ?? []).map(
        ({ Queue: arn, Filter }) => {
          const rule = (name: string) => Filter.S3Key.Rules.find(({ Name }) => Name === name)?.Value ?? '';
          const queueUrl = queues.find((queue) => queue.at.attributes.Arn === arn)?.at.ref ?? '';
          return { queueUrl, prefix: rule('prefix'), suffix: rule('suffix') };
        },
      ),
    })),
    secrets: all('AWS::SecretsManager::Secret', Secret).map(({ id, at, is }) => ({
      arn: at.ref,
      name: id,
      length: is.GenerateSecretString.PasswordLength,
    })),
    functions: functions.map(({ at, is }) => ({
      name: at.ref,
      timeoutSeconds: is.Timeout,
      memory: is.MemorySize,
    })),
    routes: all('AWS::ApiGatewayV2::Route', Route).map(({ is }) => ({
      key: is.RouteKey,
      functionName: known(integrations, is.Target),
      authorizer: is.AuthorizerId === undefined ? null : known(authorizers, is.AuthorizerId),
    })),
    accessLogFormat: all('AWS::ApiGatewayV2::Stage', Stage)[0]?.is.AccessLogSettings?.Format ?? null,
    mappings: all('AWS::Lambda::EventSourceMapping', EventSourceMapping).map(({ is }) => ({
      queueArn: is.EventSourceArn,
      queueUrl: queues.find(({ at }) => at.attributes.Arn === is.EventSourceArn)?.at.ref ?? '',
      functionName: is.FunctionName,
      batchSize: is.BatchSize,
      partialFailures: is.FunctionResponseTypes.includes('ReportBatchItemFailures'),
    })),
    schedules: all('AWS::Events::Rule', Rule)
      .filter(({ is }) => is.State === 'ENABLED')
      .flatMap(({ is }) =>
        is.Targets.map(({ Arn }) => ({ expression: is.ScheduleExpression, functionName: functionOf(Arn) })),
      ),
    stateMachines: all('AWS::StepFunctions::StateMachine', StateMachine).map(({ at, is }) => ({
      arn: at.ref,
      definition: JSON.parse(is.DefinitionString) as unknown,
    })),
    environment: Object.assign({}, ...functions.map(({ is }) => is.Environment?.Variables ?? {})),
  };
}

/** Names and addresses of the resources that exist here. Functions are known by their folder. */
function physicalResources(template: Template, { gateway, sqs }: Addresses): Map<string, PhysicalResource> {
  const physical = new Map<string, PhysicalResource>();
  for (const [id, resource] of Object.entries(template.Resources)) {
    const name = resource.Metadata[FUNCTION_METADATA];
    physical.set(id, physicalResource(id, resource.Type, typeof name === 'string' ? name : id, gateway, sqs));
  }
  return physical;
}

function physicalResource(
  id: string,
  type: string,
  functionName: string,
  gateway: string,
  sqs: string,
): PhysicalResource {
  const arn = (service: string, resource: string) => `arn:aws:${service}:${REGION}:${ACCOUNT}:${resource}`;
  switch (type) {
    case 'AWS::Lambda::Function':
      // A colon on both sides of a name: no function's ARN is the beginning of another's.
      return { ref: functionName, attributes: { Arn: arn('lambda', `function:${functionName}:`) } };
    case 'AWS::DynamoDB::Table':
      return { ref: id, attributes: { Arn: arn('dynamodb', `table/${id}`) } };
    case 'AWS::SQS::Queue':
      return { ref: `${sqs}/${ACCOUNT}/${id}`, attributes: { Arn: arn('sqs', id), QueueName: id } };
    case 'AWS::S3::Bucket': {
      const bucket = id.replace(/([a-z\d])([A-Z])/g, '$1-$2').toLowerCase();
      return { ref: bucket, attributes: { Arn: `arn:aws:s3:::${bucket}` } };
    }
    case 'AWS::SecretsManager::Secret':
      return { ref: arn('secretsmanager', `secret:${id}`), attributes: {} };
    case 'AWS::StepFunctions::StateMachine': {
      const own = arn('states', `stateMachine:${id}`);
      return { ref: own, attributes: { Arn: own, Name: id } };
    }
    case 'AWS::ApiGatewayV2::Api':
      return { ref: 'local', attributes: { ApiEndpoint: gateway } };
    default:
      return { ref: id, attributes: {} };
  }
}

function physicalOf(physical: ReadonlyMap<string, PhysicalResource>, id: string): PhysicalResource {
  return physical.get(id) ?? { ref: id, attributes: {} };
}

function known(map: ReadonlyMap<string, string>, id: string): string {
  const found = map.get(id);
  if (found === undefined) throw new Error(`The template has no ${id}`);
  return found;
}
