import type { PriceName } from './files.ts';

/** What AWS bills for each kind of resource of the template; nothing for those that are free by themselves. */
export const BILLED: Readonly<Record<string, readonly PriceName[] | 'free'>> = {
  'AWS::KMS::Key': ['keys', 'keyRequests'],
  'AWS::DynamoDB::Table': ['tableReads', 'tableWrites', 'tableStorage', 'tableBackup'],
  'AWS::SecretsManager::Secret': ['secrets', 'secretRequests'],
  'AWS::S3::Bucket': ['bucketWrites', 'bucketReads', 'bucketStorage'],
  'AWS::SQS::Queue': ['queues'],
  'AWS::ApiGatewayV2::Api': ['gateway', 'transferOut'],
  'AWS::Logs::LogGroup': ['logIngestion', 'logStorage'],
  'AWS::Lambda::Function': ['lambdaRequests', 'lambdaTime', 'metrics'],
  'AWS::Lambda::EventSourceMapping': ['queues'],
  'AWS::EC2::Subnet': ['publicAddress'],
  'AWS::EC2::FlowLog': ['logIngestion'],
  'AWS::ECS::Cluster': ['metrics', 'logIngestion'],
  'AWS::ECS::TaskDefinition': ['fargateCpu', 'fargateMemory', 'fargateDisk', 'imageStorage'],
  'AWS::StepFunctions::StateMachine': ['transitions'],
  'AWS::SNS::Topic': ['notifications'],
  'AWS::CloudWatch::Alarm': ['alarms'],
  // Schedules of the account's own bus cost nothing; what they start is counted.
  'AWS::Events::Rule': 'free',
  'AWS::ApiGatewayV2::Integration': 'free',
  'AWS::ApiGatewayV2::Route': 'free',
  // Its function is counted with each call.
  'AWS::ApiGatewayV2::Authorizer': 'free',
  'AWS::ApiGatewayV2::Stage': 'free',
  'AWS::EC2::VPC': 'free',
  'AWS::EC2::RouteTable': 'free',
  'AWS::EC2::SubnetRouteTableAssociation': 'free',
  'AWS::EC2::Route': 'free',
  'AWS::EC2::InternetGateway': 'free',
  'AWS::EC2::VPCGatewayAttachment': 'free',
  'AWS::EC2::SecurityGroup': 'free',
  'AWS::IAM::Role': 'free',
  'AWS::IAM::Policy': 'free',
  'AWS::Lambda::Permission': 'free',
  'AWS::S3::BucketPolicy': 'free',
  'AWS::SQS::QueuePolicy': 'free',
  'AWS::SNS::TopicPolicy': 'free',
  // With `-c alarmEmail=…`; its mails are the topic's.
  'AWS::SNS::Subscription': 'free',
  // With `-c monthlyBudget=…`: it tells, and acts on nothing.
  'AWS::Budgets::Budget': 'free',
};
