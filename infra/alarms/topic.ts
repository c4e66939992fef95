import { CfnOutput, Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';

interface OperatorTopicProps {
  readonly key: Key;
  readonly email: string | undefined;
}

/** Where alarms are sent, always: an address can subscribe to it with the deployment, or anything else later. */
export class OperatorTopic extends Construct {
  readonly topic: Topic;
  readonly #key: Key;

  constructor(scope: Construct, id: string, { key, email }: OperatorTopicProps) {
    super(scope, id);
    this.#key = key;
    this.topic = new Topic(this, 'Topic', { masterKey: key, enforceSSL: true });
    if (email !== undefined) this.topic.addSubscription(new EmailSubscription(email));
    this.admit('cloudwatch.amazonaws.com');
    new CfnOutput(this, 'Arn', { value: this.topic.topicArn });
  }

  /** Said out loud: with a policy of its own (TLS alone) a topic loses the one that lets its account's services in. */
  admit(service: string): void {
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal(service)],
        actions: ['sns:Publish'],
        resources: [this.topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
    this.#key.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal(service)],
        actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
        resources: ['*'],
      }),
    );
  }
}
