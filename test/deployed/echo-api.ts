import {
  CloudFormationClient,
  CreateStackCommand,
  DescribeStacksCommand,
  waitUntilStackCreateComplete,
} from '@aws-sdk/client-cloudformation';
import { ECHO_SOURCE } from '#test/harness/awkward/echo.ts';
import { ECHO_ROUTES } from '#test/harness/awkward/requests.ts';
import { REGION, ROOT } from './emulator/start.ts';

const STACK = 'Echo';
const MOST_SECONDS = 120;

/** Deploys an HTTP API of its own in front of a function that echoes. @returns the name of the API's host */
export async function deployEchoApi(endpoint: string): Promise<string> {
  const client = new CloudFormationClient({ endpoint, region: REGION, credentials: ROOT });
  await client.send(
    new CreateStackCommand({
      StackName: STACK,
      TemplateBody: JSON.stringify(template()),
      Capabilities: ['CAPABILITY_IAM'],
    }),
  );
  await waitUntilStackCreateComplete(
    { client, maxWaitTime: MOST_SECONDS, minDelay: 1 },
    { StackName: STACK },
  );
  const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName: STACK }));
  const url = stack?.Outputs?.find(({ OutputKey }) => OutputKey === 'Url')?.OutputValue;
  if (url === undefined) throw new Error('The stack that echoes has no address');
  return new URL(url).host;
}

/** The same kind of API, integration and stage as the service's own. */
function template() {
  const api = { Ref: 'Api' };
  const routes = ECHO_ROUTES.map((RouteKey, nth) => [
    `Route${nth}`,
    {
      Type: 'AWS::ApiGatewayV2::Route',
      Properties: {
        ApiId: api,
        RouteKey,
        Target: { 'Fn::Join': ['/', ['integrations', { Ref: 'Integration' }]] },
      },
    },
  ]);
  return {
    Resources: {
      Role: {
        Type: 'AWS::IAM::Role',
        Properties: {
          AssumeRolePolicyDocument: {
            Version: '2012-10-17',
            Statement: [
              { Effect: 'Allow', Principal: { Service: 'lambda.amazonaws.com' }, Action: 'sts:AssumeRole' },
            ],
          },
        },
      },
      Function: {
        Type: 'AWS::Lambda::Function',
        Properties: {
          Runtime: 'nodejs24.x',
          Handler: 'index.handler',
          Code: { ZipFile: ECHO_SOURCE },
          MemorySize: 512,
          Role: { 'Fn::GetAtt': ['Role', 'Arn'] },
        },
      },
      Permission: {
        Type: 'AWS::Lambda::Permission',
        Properties: {
          Action: 'lambda:InvokeFunction',
          FunctionName: { 'Fn::GetAtt': ['Function', 'Arn'] },
          Principal: 'apigateway.amazonaws.com',
          SourceArn: {
            'Fn::Sub': `arn:\${AWS::Partition}:execute-api:\${AWS::Region}:\${AWS::AccountId}:\${Api}/*`,
          },
        },
      },
      Api: { Type: 'AWS::ApiGatewayV2::Api', Properties: { Name: 'echo', ProtocolType: 'HTTP' } },
      Integration: {
        Type: 'AWS::ApiGatewayV2::Integration',
        Properties: {
          ApiId: api,
          IntegrationType: 'AWS_PROXY',
          IntegrationUri: { 'Fn::GetAtt': ['Function', 'Arn'] },
          PayloadFormatVersion: '2.0',
        },
      },
      ...Object.fromEntries(routes),
      Stage: {
        Type: 'AWS::ApiGatewayV2::Stage',
        Properties: { ApiId: api, StageName: '$default', AutoDeploy: true },
      },
    },
    Outputs: { Url: { Value: { 'Fn::GetAtt': ['Api', 'ApiEndpoint'] } } },
  };
}
