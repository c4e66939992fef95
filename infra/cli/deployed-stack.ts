import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { TABLE_OUTPUT } from '#infra/project.ts';
import { createTable, type Table } from '#store/table.ts';

/** Which deployment: a stack of the account that the AWS credentials at hand open. */
export interface DeployedStack {
  readonly name: string;
  /** Absent: the region of the AWS configuration (`AWS_REGION`, or the profile's). */
  readonly region: string | undefined;
}

/**
 * The table of a deployment, found by the stack's outputs: nobody copies names or ids.
 * @throws Error where there is no such stack, or it has no table
 */
export async function openDeployedTable({ name, region }: DeployedStack): Promise<Table> {
  const cloudFormation = new CloudFormationClient({ ...(region && { region }) });
  const { Stacks: [stack] = [] } = await cloudFormation
    .send(new DescribeStacksCommand({ StackName: name }))
    .catch((error: unknown) => {
      throw new Error(`The stack ${name} can't be read: ${sayWhy(error)}`, { cause: error });
    });
  const table = stack?.Outputs?.find(({ OutputKey }) => OutputKey === TABLE_OUTPUT)?.OutputValue;
  if (!table)
    throw new Error(
      `The stack ${name} has no output ${TABLE_OUTPUT} (status ${stack?.StackStatus ?? 'unknown'})`,
    );
  return createTable(table, new DynamoDBClient({ maxAttempts: 4, ...(region && { region }) }));
}

/** The SDK's own words, and what to do about the two that everybody meets first. */
function sayWhy(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (/region is missing/i.test(text)) return 'no region is chosen: add --region, or set AWS_REGION';
  if (/could not load credentials/i.test(text))
    return 'there are no AWS credentials: sign in (aws sso login), or set AWS_PROFILE';
  return text;
}
