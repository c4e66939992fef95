import { RemovalPolicy } from 'aws-cdk-lib';
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

export class AspmTable extends Construct {
  readonly table: Table;

  constructor(scope: Construct, id: string, props: { readonly key: IKey }) {
    super(scope, id);
    this.table = new Table(this, 'Table', {
      partitionKey: text('pk'),
      sortKey: text('sk'),
      billingMode: BillingMode.PAY_PER_REQUEST,
      timeToLiveAttribute: 'expires_at',
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: true,
      removalPolicy: RemovalPolicy.RETAIN,
      encryptionKey: props.key,
    });
    for (const { indexName, projectionType } of INDEXES) {
      this.table.addGlobalSecondaryIndex({
        indexName,
        partitionKey: text(`${indexName}pk`),
        sortKey: text(`${indexName}sk`),
        projectionType,
      });
    }
    keepLogicalId(this.table, 'Table');
  }

  /** What a policy must name to cover the table with its indexes, without a wildcard. */
  get arns(): string[] {
    return [
      this.table.tableArn,
      ...INDEXES.map(({ indexName }) => `${this.table.tableArn}/index/${indexName}`),
    ];
  }
}
