import { CfnResource, Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  type CfnBucket,
  ObjectOwnership,
} from 'aws-cdk-lib/aws-s3';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { keepLogicalId } from '#infra/logical-id.ts';

/** Prefix of the scanners' raw reports. */
export const RAW_REPORTS = 'raw/';

/** Raw reports: kept for 90 days, as a scan's own findings are (design 5). */
export class ReportBucket extends Construct {
  readonly bucket: Bucket;

  constructor(scope: Construct, id: string, props: { readonly key: IKey }) {
    super(scope, id);
    this.bucket = new Bucket(this, 'Bucket', {
      encryption: BucketEncryption.KMS,
      encryptionKey: props.key,
      // One data key for the bucket instead of one a report: KMS is asked, and paid, far less.
      bucketKeyEnabled: true,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      lifecycleRules: [
        { expiration: Duration.days(90), abortIncompleteMultipartUploadAfter: Duration.days(1) },
      ],
    });
    keepLogicalId(this.bucket, 'ReportBucket');
    Validations.of(this.bucket).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Reports are written and read by two functions alone, whose calls their logs and CloudTrail show.',
    });
  }

  /**
   * Tells the queue of reports that callers uploaded. Set on the resource itself: CDK's way is a function of
   * its own that changes the bucket after its creation. The queue's policy can't name the bucket, which
   * needs the policy first: it names the account.
   */
  notifyOfUploads(queue: Queue): void {
    queue.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('s3.amazonaws.com')],
        actions: ['sqs:SendMessage'],
        resources: [queue.queueArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
    const own = this.bucket.node.defaultChild as CfnBucket;
    own.notificationConfiguration = {
      queueConfigurations: [
        {
          event: 's3:ObjectCreated:Put',
          queue: queue.queueArn,
          filter: {
            s3Key: {
              rules: [
                { name: 'prefix', value: RAW_REPORTS },
                { name: 'suffix', value: '/upload' },
              ],
            },
          },
        },
      ],
    };
    // S3 asks the queue whether it may when the bucket is made.
    const policy = queue.node.tryFindChild('Policy')?.node.defaultChild;
    if (policy instanceof CfnResource) own.addResourceDependency(policy);
  }
}
