import { describe, expect, it } from 'vitest';
import { readReleasedTemplate, synthesizeTemplate } from '#infra/released/template-file.ts';
import { compact, findLosses, type Template } from '#infra/released/upgrade-gate.ts';

const released = readReleasedTemplate();
const current = synthesizeTemplate();

// biome-ignore lint/suspicious/noExplicitAny: CloudFormation's properties, changed at many depths
type Resources = Record<string, { Type: string; Properties: any; [name: string]: any }>;

/** Losses of an update to what the released template would be with this change. */
function lossesAfter(change: (resources: Resources) => void): string[] {
  const changed = structuredClone(released) as { Resources: Resources };
  change(changed.Resources);
  return findLosses(released, changed as Template);
}

function some(resources: Resources, type: string) {
  const found = Object.entries(resources).find(([, resource]) => resource.Type === type);
  if (!found) throw new Error(`no ${type}`);
  return { id: found[0], resource: found[1], properties: found[1].Properties };
}

describe('an update from the released version to this one', () => {
  it('loses nothing', () => {
    expect(findLosses(released, current)).toEqual([]);
  });

  it('is looked at whole: every resource that holds data is in what was kept of the release', () => {
    const types = new Set(Object.values(released.Resources).map(({ Type }) => Type));
    expect([...types].sort()).toEqual([
      'AWS::ApiGatewayV2::Api',
      'AWS::DynamoDB::Table',
      'AWS::EC2::VPC',
      'AWS::ECS::Cluster',
      'AWS::KMS::Key',
      'AWS::S3::Bucket',
      'AWS::SQS::Queue',
      'AWS::SecretsManager::Secret',
      'AWS::StepFunctions::StateMachine',
    ]);
    expect(released.Resources).toMatchObject({
      Table: {
        DeletionPolicy: 'Retain',
        Properties: {
          DeletionProtectionEnabled: true,
          KeySchema: [
            { AttributeName: 'pk', KeyType: 'HASH' },
            { AttributeName: 'sk', KeyType: 'RANGE' },
          ],
        },
      },
    });
    expect(released.Resources.Table?.Properties.GlobalSecondaryIndexes).toHaveLength(3);
  });

  it('is held to what is kept, which is the same when it is kept again', () => {
    expect(compact(released)).toEqual(released);
  });
});

const table = (resources: Resources) => some(resources, 'AWS::DynamoDB::Table').properties;
const anotherIndex = (name: string) => ({
  IndexName: name,
  KeySchema: [{ AttributeName: `${name}pk`, KeyType: 'HASH' }],
  Projection: { ProjectionType: 'KEYS_ONLY' },
});

/** Each is refused, with words that name what and why. */
const REFUSED: Record<string, [change: (resources: Resources) => void, said: RegExp]> = {
  'a table under another logical id': [
    (all) => {
      all.OtherTable = structuredClone(all.Table) as Resources[string];
      delete all.Table;
    },
    /Table .* is gone: .*keepLogicalId/,
  ],
  'a table of another key': [
    (all) => {
      table(all).KeySchema[1].AttributeName = 'other';
    },
    /Table\.KeySchema changed: CloudFormation would replace/,
  ],
  'a table of a name of its own': [
    (all) => {
      table(all).TableName = 'findings';
    },
    /Table\.TableName changed: CloudFormation would replace/,
  ],
  'a key attribute of another type': [
    (all) => {
      table(all).AttributeDefinitions[0].AttributeType = 'N';
    },
    /the key attribute \w+ has another type/,
  ],
  'an index of another key': [
    (all) => {
      table(all).GlobalSecondaryIndexes[0].KeySchema[1].AttributeName = 'other';
    },
    /the index gsi1 changed in place/,
  ],
  'an index of another projection': [
    (all) => {
      table(all).GlobalSecondaryIndexes[1].Projection = { ProjectionType: 'ALL' };
    },
    /the index gsi2 changed in place/,
  ],
  'two indexes more': [
    (all) => {
      table(all).GlobalSecondaryIndexes.push(anotherIndex('gsi4'), anotherIndex('gsi5'));
    },
    /gsi4, gsi5 are 2 indexes added or removed/,
  ],
  'an index in place of another': [
    (all) => {
      table(all).GlobalSecondaryIndexes.splice(2, 1, anotherIndex('gsi4'));
    },
    /gsi4, gsi3 are 2 indexes added or removed/,
  ],
  'a table that goes with the stack': [
    (all) => {
      some(all, 'AWS::DynamoDB::Table').resource.DeletionPolicy = 'Delete';
    },
    /Table lost its DeletionPolicy/,
  ],
  'a table that goes when it is replaced': [
    (all) => {
      delete some(all, 'AWS::DynamoDB::Table').resource.UpdateReplacePolicy;
    },
    /Table lost its UpdateReplacePolicy/,
  ],
  'a table that anybody may delete': [
    (all) => {
      table(all).DeletionProtectionEnabled = false;
    },
    /Table lost its protection from deletion/,
  ],
  'a table without its past': [
    (all) => {
      delete table(all).PointInTimeRecoverySpecification;
    },
    /Table lost its point-in-time recovery/,
  ],
  'another attribute of expiry': [
    (all) => {
      table(all).TimeToLiveSpecification.AttributeName = 'ttl';
    },
    /Table\.TimeToLiveSpecification changed/,
  ],
  'a bucket of a name of its own': [
    (all) => {
      some(all, 'AWS::S3::Bucket').properties.BucketName = 'reports';
    },
    /\.BucketName changed: CloudFormation would replace/,
  ],
  'a bucket that is gone': [
    (all) => {
      delete all[some(all, 'AWS::S3::Bucket').id];
    },
    /\(AWS::S3::Bucket\) is gone/,
  ],
  'a secret of another name': [
    (all) => {
      some(all, 'AWS::SecretsManager::Secret').properties.Name = 'vault';
    },
    /\.Name changed: CloudFormation would replace/,
  ],
  'a secret that is generated anew': [
    (all) => {
      some(all, 'AWS::SecretsManager::Secret').properties.GenerateSecretString.PasswordLength = 32;
    },
    /GenerateSecretString changed: a new value would be generated/,
  ],
  'a secret that is gone': [
    (all) => {
      delete all[some(all, 'AWS::SecretsManager::Secret').id];
    },
    /\(AWS::SecretsManager::Secret\) is gone/,
  ],
  'a key of another kind': [
    (all) => {
      some(all, 'AWS::KMS::Key').properties.KeySpec = 'RSA_2048';
    },
    /\.KeySpec changed/,
  ],
  'a key that goes with the stack': [
    (all) => {
      some(all, 'AWS::KMS::Key').resource.DeletionPolicy = 'Delete';
    },
    /lost its DeletionPolicy/,
  ],
  'a queue that turns first-in first-out': [
    (all) => {
      some(all, 'AWS::SQS::Queue').properties.FifoQueue = true;
    },
    /\.FifoQueue changed: CloudFormation would replace/,
  ],
  'a state machine of another name': [
    (all) => {
      some(all, 'AWS::StepFunctions::StateMachine').properties.StateMachineName = 'runs';
    },
    /StateMachineName changed: .*runs that are under way are cut off/,
  ],
  'a network of other addresses': [
    (all) => {
      some(all, 'AWS::EC2::VPC').properties.CidrBlock = '10.9.0.0/16';
    },
    /\.CidrBlock changed/,
  ],
  'another API': [
    (all) => {
      const { id, resource } = some(all, 'AWS::ApiGatewayV2::Api');
      all.Api2 = resource;
      delete all[id];
    },
    /its address changes for every caller/,
  ],
};

describe('an update is refused with', () => {
  it.each(Object.entries(REFUSED))('%s', (_, [change, said]) => {
    expect(lossesAfter(change)).toEqual([expect.stringMatching(said)]);
  });
});

describe('an update may', () => {
  it.each<[string, (resources: Resources) => void]>([
    ['add an index', (all) => table(all).GlobalSecondaryIndexes.push(anotherIndex('gsi4'))],
    ['remove an index', (all) => table(all).GlobalSecondaryIndexes.pop()],
    [
      'add resources',
      (all) => {
        all.Another = { Type: 'AWS::S3::Bucket', Properties: {} };
      },
    ],
    [
      'keep resources only from the second deployment on',
      (all) => {
        some(all, 'AWS::DynamoDB::Table').resource.DeletionPolicy = 'RetainExceptOnCreate';
      },
    ],
    [
      'change what is changed in place',
      (all) => {
        some(all, 'AWS::SQS::Queue').properties.VisibilityTimeout = 1;
        some(all, 'AWS::S3::Bucket').properties.LifecycleConfiguration = { Rules: [] };
      },
    ],
  ])('%s', (_, change) => {
    expect(lossesAfter(change)).toEqual([]);
  });
});
