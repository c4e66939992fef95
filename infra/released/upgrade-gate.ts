import { isDeepStrictEqual } from 'node:util';
import { loadAwsServiceSpecSync } from '@aws-cdk/aws-service-spec';
import * as z from 'zod';

const Resource = z.object({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  DeletionPolicy: z.string().optional(),
  UpdateReplacePolicy: z.string().optional(),
});
type Resource = z.output<typeof Resource>;

/** As much of a CloudFormation template as an update could lose data by. */
export const Template = z.object({ Resources: z.record(z.string(), Resource) });
export type Template = z.output<typeof Template>;

/** Keep no data by the service's own description, and yet are not to be made anew: callers know them. */
const KNOWN_TO_OTHERS: Readonly<Record<string, string>> = {
  'AWS::ApiGatewayV2::Api': 'its address changes for every caller',
  'AWS::EC2::VPC': 'its addresses are in other networks’ rules',
  'AWS::ECS::Cluster': 'scans that run in it are cut off',
  'AWS::StepFunctions::StateMachine': 'runs that are under way are cut off',
};

/** Changes that CloudFormation carries out in place, or refuses half-way, with the same loss. */
const NEVER_CHANGED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'AWS::KMS::Key': {
    KeySpec: 'a key keeps its kind: the update would fail half-way',
    KeyUsage: 'a key keeps its use: the update would fail half-way',
  },
  'AWS::SecretsManager::Secret': {
    GenerateSecretString:
      'a new value would be generated: what was sealed or signed with the old one is lost',
    SecretString: 'the value would be overwritten: what was sealed or signed with the old one is lost',
  },
  'AWS::DynamoDB::Table': {
    TimeToLiveSpecification: 'DynamoDB changes it in two updates alone: off first, then anew',
  },
};

/**
 * Resources of releases that a later one gives up on purpose, with the reason. What they held has been moved, or
 * nobody needs it.
 */
const GIVEN_UP: Readonly<Record<string, string>> = {};

const database = loadAwsServiceSpecSync();

function specOf(type: string) {
  return database.lookup('resource', 'cloudFormationType', 'equals', type)[0];
}

/** Whether an update must not lose it. Logs that go with the stack may go with their function, too. */
function isKept({ Type, DeletionPolicy }: Resource): boolean {
  if (Type === 'AWS::Logs::LogGroup') return isRetained(DeletionPolicy);
  return specOf(Type)?.isStateful === true || Type in KNOWN_TO_OTHERS || isRetained(DeletionPolicy);
}

/** The properties of a resource that an update could lose something by. */
function matters(type: string, property: string): boolean {
  return (
    replaces(type, property) ||
    property in (NEVER_CHANGED[type] ?? {}) ||
    (type === 'AWS::DynamoDB::Table' && TABLE_PROPERTIES.includes(property))
  );
}

const TABLE_PROPERTIES = [
  'AttributeDefinitions',
  'GlobalSecondaryIndexes',
  'DeletionProtectionEnabled',
  'PointInTimeRecoverySpecification',
];

/** By what the CDK knows of each property; `maybe` is a yes to who has data there. */
function replaces(type: string, property: string): boolean {
  return (specOf(type)?.properties[property]?.causesReplacement ?? 'no') !== 'no';
}

/** What of a template is kept with the project when a version is released: the parts that later ones are held to. */
export function compact(template: Template): Template {
  const kept = Object.entries(template.Resources).filter(([, resource]) => isKept(resource));
  return {
    Resources: Object.fromEntries(
      kept
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([id, { Properties, ...resource }]) => [
          id,
          {
            ...resource,
            Properties: Object.fromEntries(
              Object.entries(Properties).filter(([name]) => matters(resource.Type, name)),
            ),
          },
        ]),
    ),
  };
}

/** What an update of a deployment from the released template to this one would lose, in words that say what to do. */
export function findLosses(released: Template, template: Template): string[] {
  return Object.entries(released.Resources)
    .filter(([id]) => !(id in GIVEN_UP))
    .flatMap(([id, before]) => {
      const now = template.Resources[id];
      if (!now || now.Type !== before.Type) return [gone(id, before)];
      return [
        ...propertyLosses(id, before, now),
        ...policyLosses(id, before, now),
        ...(before.Type === 'AWS::DynamoDB::Table' ? tableLosses(id, before, now) : []),
      ];
    });
}

function gone(id: string, { Type }: Resource): string {
  const why = KNOWN_TO_OTHERS[Type] ?? 'an update would delete it, or leave it behind with its data';
  return `${id} (${Type}) is gone: ${why}. Keep its logical id (keepLogicalId); where it is given up on purpose, write it into GIVEN_UP with the reason`;
}

function propertyLosses(id: string, before: Resource, now: Resource): string[] {
  const names = new Set([...Object.keys(before.Properties), ...Object.keys(now.Properties)]);
  return [...names]
    .filter((name) => !isDeepStrictEqual(before.Properties[name], now.Properties[name]))
    .flatMap((name) => {
      const never = NEVER_CHANGED[before.Type]?.[name];
      if (never) return [`${id}.${name} changed: ${never}. Put it back, or make another resource beside it`];
      if (!replaces(before.Type, name)) return [];
      const why = KNOWN_TO_OTHERS[before.Type] ?? 'what is in it stays behind';
      return [
        `${id}.${name} changed: CloudFormation would replace the resource, and ${why}. Put it back, or make another resource beside it and move the data in a release of their own`,
      ];
    });
}

const isRetained = (policy: string | undefined) => policy === 'Retain' || policy === 'RetainExceptOnCreate';

function policyLosses(id: string, before: Resource, now: Resource): string[] {
  return (['DeletionPolicy', 'UpdateReplacePolicy'] as const)
    .filter((name) => isRetained(before[name]) && !isRetained(now[name]))
    .map((name) => `${id} lost its ${name}: it would go with the stack. Put RemovalPolicy.RETAIN back`);
}

const Index = z.object({ IndexName: z.string(), KeySchema: z.unknown(), Projection: z.unknown() });
const Indexes = z.array(Index).default([]);
const Definitions = z.array(z.object({ AttributeName: z.string(), AttributeType: z.string() })).default([]);
const Recovery = z.object({ PointInTimeRecoveryEnabled: z.boolean().default(false) }).optional();

function tableLosses(id: string, before: Resource, now: Resource): string[] {
  const old = tableFacts(before);
  const current = tableFacts(now);
  const removed = [...old.indexes.keys()].filter((name) => !current.indexes.has(name));
  const added = [...current.indexes.keys()].filter((name) => !old.indexes.has(name));
  const changed = [...old.indexes].filter(
    ([name, index]) => current.indexes.has(name) && !isDeepStrictEqual(index, current.indexes.get(name)),
  );
  const retyped = [...old.types].filter(([name, type]) => (current.types.get(name) ?? type) !== type);
  return [
    ...changed.map(
      ([name]) =>
        `${id}: the index ${name} changed in place, which CloudFormation refuses. Add another beside it, move the readers, and remove this one in a later release`,
    ),
    ...(added.length + removed.length > 1
      ? [
          `${id}: ${[...added, ...removed].join(', ')} are ${added.length + removed.length} indexes added or removed, and an update carries out one. Release them one after the other`,
        ]
      : []),
    ...retyped.map(([name]) => `${id}: the key attribute ${name} has another type. Use another attribute`),
    ...(old.isProtected && !current.isProtected
      ? [`${id} lost its protection from deletion. Put deletionProtection back`]
      : []),
    ...(old.isRecoverable && !current.isRecoverable
      ? [`${id} lost its point-in-time recovery: all earlier times are lost. Put it back`]
      : []),
  ];
}

function tableFacts({ Properties }: Resource) {
  const indexes = Indexes.parse(Properties.GlobalSecondaryIndexes);
  const attributes = Definitions.parse(Properties.AttributeDefinitions);
  const recovery = Recovery.parse(Properties.PointInTimeRecoverySpecification);
  return {
    indexes: new Map(indexes.map((index) => [index.IndexName, index])),
    types: new Map(attributes.map(({ AttributeName, AttributeType }) => [AttributeName, AttributeType])),
    isProtected: Properties.DeletionProtectionEnabled === true,
    isRecoverable: recovery?.PointInTimeRecoveryEnabled === true,
  };
}
