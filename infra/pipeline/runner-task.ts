import { Aws, Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import {
  FlowLogDestination,
  FlowLogTrafficType,
  IpAddresses,
  type IVpc,
  Peer,
  Port,
  SecurityGroup,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2';
import { DockerImageAsset, Platform } from 'aws-cdk-lib/aws-ecr-assets';
import {
  Capability,
  Cluster,
  ContainerImage,
  ContainerInsights,
  CpuArchitecture,
  FargateTaskDefinition,
  LinuxParameters,
  LogDrivers,
  OperatingSystemFamily,
} from 'aws-cdk-lib/aws-ecs';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { keepLogicalId } from '#infra/logical-id.ts';
import { RUNNER_IMAGE } from '#infra/project.ts';

/** Name of the one container of the task; the state machine overrides its environment. */
export const RUNNER_CONTAINER = 'scanner-runner';

/** Where the image has its scratch folder, and the file that the runner touches (functions/scanner-runner/Dockerfile). */
const SCRATCH = '/scratch';
const IS_ALIVE = `test -n "$(find ${SCRATCH}/alive -mmin -1)"`;

interface RunnerTaskProps {
  /** Build the image from the project; false: name one that nobody pulls (the embedded cloud). */
  readonly buildImage: boolean;
  /** Where runners may connect to; the resolver of the VPC is reached whatever is said here. */
  readonly ports: readonly number[];
}

/**
 * The scanner runner as a Fargate task: one an asset. It clones and parses what strangers wrote, so
 * it holds no role over the account: it trades a one-time claim for presigned uploads. Public
 * subnets without a NAT gateway, nothing may connect to it.
 */
export class RunnerTask extends Construct {
  readonly #cluster: Cluster;
  readonly #definition: FargateTaskDefinition;
  readonly #securityGroup: SecurityGroup;
  readonly subnetIds: readonly string[];

  constructor(scope: Construct, id: string, props: RunnerTaskProps) {
    super(scope, id);
    // Vpc's declaration does not fit IVpc under exactOptionalPropertyTypes.
    const vpc = this.#network() as IVpc;
    this.subnetIds = vpc.publicSubnets.map((subnet) => subnet.subnetId);
    this.#securityGroup = new SecurityGroup(this, 'SecurityGroup', {
      vpc,
      description: 'Scanner runners: nothing in, a few ports out (repositories are anywhere)',
      allowAllOutbound: false,
    });
    for (const port of props.ports)
      this.#securityGroup.addEgressRule(Peer.anyIpv4(), Port.tcp(port), 'Repositories, databases, and us');
    this.#cluster = new Cluster(this, 'Cluster', { vpc, containerInsightsV2: ContainerInsights.ENABLED });
    keepLogicalId(this.#cluster, 'RunnerCluster');
    this.#definition = this.#task(props.buildImage);
  }

  get partition(): string {
    return Aws.PARTITION;
  }
  get clusterArn(): string {
    return this.#cluster.clusterArn;
  }
  get taskDefinitionArn(): string {
    return this.#definition.taskDefinitionArn;
  }
  get securityGroupId(): string {
    return this.#securityGroup.securityGroupId;
  }
  get roleArns(): readonly string[] {
    return [this.#definition.taskRole.roleArn, this.#definition.obtainExecutionRole().roleArn];
  }
  /** The tasks of the cluster, whose ids are only known once they run. */
  get taskArns(): string {
    return Stack.of(this).formatArn({
      service: 'ecs',
      resource: 'task',
      resourceName: `${this.#cluster.clusterName}/*`,
    });
  }

  #network(): Vpc {
    const vpc = new Vpc(this, 'Vpc', {
      ipAddresses: IpAddresses.cidr('10.0.0.0/16'),
      maxAzs: 2,
      natGateways: 0,
      restrictDefaultSecurityGroup: false,
      subnetConfiguration: [{ name: 'public', subnetType: SubnetType.PUBLIC, cidrMask: 20 }],
    });
    vpc.addFlowLog('Rejected', {
      destination: FlowLogDestination.toCloudWatchLogs(
        new LogGroup(this, 'FlowLogs', {
          retention: RetentionDays.ONE_MONTH,
          removalPolicy: RemovalPolicy.DESTROY,
        }),
      ),
      trafficType: FlowLogTrafficType.REJECT,
    });
    return vpc;
  }

  #task(buildImage: boolean): FargateTaskDefinition {
    const definition = new FargateTaskDefinition(this, 'Task', {
      cpu: 2048,
      memoryLimitMiB: 4096,
      ephemeralStorageGiB: 50,
      runtimePlatform: {
        cpuArchitecture: CpuArchitecture.ARM64,
        operatingSystemFamily: OperatingSystemFamily.LINUX,
      },
      // Without a single policy: what runs in the task may do nothing in the account.
      taskRole: new Role(this, 'TaskRole', { assumedBy: new ServicePrincipal('ecs-tasks.amazonaws.com') }),
    });
    const linux = new LinuxParameters(this, 'Linux', {
      // Ends what scanners leave behind; the runner itself is no parent to strangers.
      initProcessEnabled: true,
    });
    linux.dropCapabilities(Capability.ALL);
    const container = definition.addContainer(RUNNER_CONTAINER, {
      image: buildImage ? this.#image() : ContainerImage.fromRegistry('scanner-runner'),
      user: '10001:10001',
      readonlyRootFilesystem: true,
      linuxParameters: linux,
      healthCheck: {
        command: ['CMD-SHELL', IS_ALIVE],
        interval: Duration.seconds(30),
        timeout: Duration.seconds(5),
        startPeriod: Duration.seconds(30),
        retries: 3,
      },
      logging: LogDrivers.awsLogs({
        streamPrefix: 'run',
        logGroup: new LogGroup(this, 'Logs', {
          retention: RetentionDays.THREE_MONTHS,
          removalPolicy: RemovalPolicy.DESTROY,
        }),
      }),
    });
    // On the task's own disk, and gone with it: the one place that can be written to.
    definition.addVolume({ name: 'scratch' });
    container.addMountPoints({ sourceVolume: 'scratch', containerPath: SCRATCH, readOnly: false });
    Validations.of(definition).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: 'ecr:GetAuthorizationToken of the execution role knows no resources.',
    });
    return definition;
  }

  #image(): ContainerImage {
    return ContainerImage.fromDockerImageAsset(
      new DockerImageAsset(this, 'Image', {
        // Made before the synthesis (infra/app.ts), of what the image needs and nothing else.
        directory: RUNNER_IMAGE,
        platform: Platform.LINUX_ARM64,
      }),
    );
  }
}
