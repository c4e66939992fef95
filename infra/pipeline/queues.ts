import { Duration } from 'aws-cdk-lib';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { FUNCTIONS, type FunctionName } from '#infra/functions/catalogue.ts';

/** What is tried this often in vain goes to the dead-letter queue, where an alarm waits for it. */
const MAX_RECEIVES = 5;

interface WorkQueueProps {
  readonly consumer: FunctionName;
}

/** A queue with its dead-letter queue: nothing that was accepted is ever dropped silently. */
export class WorkQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string, { consumer }: WorkQueueProps) {
    super(scope, id);
    const common = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true };
    this.deadLetters = new Queue(this, 'DeadLetters', { ...common, retentionPeriod: Duration.days(14) });
    this.queue = new Queue(this, 'Queue', {
      ...common,
      retentionPeriod: Duration.days(4),
      // AWS's advice: six times the function's timeout, so that a throttled batch isn't handed out twice.
      visibilityTimeout: Duration.seconds(6 * FUNCTIONS[consumer].timeoutSeconds),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: MAX_RECEIVES },
    });
  }
}
