import { CfnResource } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/**
 * Fixes the logical id of what holds data: moving its construct to another place of the tree must
 * never make CloudFormation replace it, nor the embedded cloud look for another name.
 */
export function keepLogicalId(construct: Construct, logicalId: string): void {
  const resource = construct.node.defaultChild;
  if (!(resource instanceof CfnResource))
    throw new Error(`${construct.node.path} has no resource of its own`);
  resource.overrideLogicalId(logicalId);
}
