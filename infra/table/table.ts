import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AttributeType, BillingMode, ProjectionType, Table } from 'aws-cdk-lib/aws-dynamodb';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { keepLogicalId } from '#infra/logical-id.ts';

const text = (name: string) => ({ name, type: AttributeType.STRING });

/**
 * The one table; docs/data-model.md says what its keys hold. Indexes hold keys alone: they are counted and
 * skipped through, and a copy of every finding would double what a write costs.
 */
const INDEXES = [
  { indexName: 'gsi1', projectionType: ProjectionType.KEYS_ONLY },
  { indexName: 'gsi2', projectionType: ProjectionType.KEYS_ONLY },
  { indexName: 'gsi3', projectionType: ProjectionType.KEYS_ONLY },
] as const;

export interface AspmTableProps {
  readonly key: IKey;
  /** Another table to work on, restored from a backup; the stack's own is kept as it is. */
  readonly restored: string | undefined;
  /** Nobody may delete it, CloudFormation included. */
  readonly isProtected: boolean;
}

export class AspmTable extends Construct {
  /** Name of the table that the service works on. */
  readonly name: string;
  readonly #arn: string;

  constructor(scope: Construct, id: string, { key, restored, isProtected }: AspmTableProps) {
    super(scope, id);
    const own = new Table(this, 'Table', {
      partitionKey: text('pk'),
      sortKey: text('sk'),
      billingMode: BillingMode.PAY_PER_REQUEST,
      timeToLiveAttribute: 'expires_at',
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: isProtected,
      // Where a first deployment fails, CloudFormation takes back what it made: a table that is protected refuses,
      // and the stack could neither be repaired nor removed.
      removalPolicy: isProtected ? RemovalPolicy.RETAIN : RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      encryptionKey: key,
    });
    for (const { indexName, projectionType } of INDEXES) {
      own.addGlobalSecondaryIndex({
        indexName,
        partitionKey: text(`${indexName}pk`),
        sortKey: text(`${indexName}sk`),
        projectionType,
      });
    }
    keepLogicalId(own, 'Table');
    this.name = restored ?? own.tableName;
    this.#arn =
      restored === undefined
        ? own.tableArn
        : Stack.of(this).formatArn({ service: 'dynamodb', resource: 'table', resourceName: restored });
  }

  /** Names of its indexes. */
  get indexes(): string[] {
    return INDEXES.map(({ indexName }) => indexName);
  }

  /** What a policy must name to cover the table with its indexes, without a wildcard. */
  get arns(): string[] {
    return [this.#arn, ...INDEXES.map(({ indexName }) => `${this.#arn}/index/${indexName}`)];
  }
}
