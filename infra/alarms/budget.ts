import { CfnBudget } from 'aws-cdk-lib/aws-budgets';
import { Construct } from 'constructs';
import type { OperatorTopic } from './topic.ts';

interface MonthlyBudgetProps {
  readonly topic: OperatorTopic;
  readonly dollars: number;
}

/** Tells the operators what the account costs before its bill does. Of the whole account: AWS knows stacks by tags alone. */
export class MonthlyBudget extends Construct {
  constructor(scope: Construct, id: string, { topic, dollars }: MonthlyBudgetProps) {
    super(scope, id);
    topic.admit('budgets.amazonaws.com');
    const tell = (notificationType: 'ACTUAL' | 'FORECASTED', threshold: number) => ({
      notification: {
        notificationType,
        threshold,
        thresholdType: 'PERCENTAGE',
        comparisonOperator: 'GREATER_THAN',
      },
      subscribers: [{ subscriptionType: 'SNS', address: topic.topic.topicArn }],
    });
    const budget = new CfnBudget(this, 'Budget', {
      budget: {
        budgetType: 'COST',
        timeUnit: 'MONTHLY',
        budgetLimit: { amount: dollars, unit: 'USD' },
      },
      notificationsWithSubscribers: [tell('ACTUAL', 80), tell('FORECASTED', 100)],
    });
    // It is refused where it may not send yet.
    budget.node.addDependency(topic);
  }
}
