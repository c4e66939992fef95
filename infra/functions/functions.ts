import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Architecture,
  type CfnFunction,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { BUNDLES, FUNCTION_METADATA, PROJECT_ROOT } from '#infra/project.ts';
import type { SettingName } from '#shared/config.ts';
import { FUNCTION_NAMES, FUNCTIONS, type FunctionDeclaration, type FunctionName } from './catalogue.ts';
import { allow, type GrantTargets } from './grants.ts';

interface ServiceFunctionsProps {
  /** Deploy the bundles; false: the sources as they are, for the embedded cloud. */
  readonly bundle: boolean;
  readonly tracing: boolean;
}

/**
 * Every function of the catalogue, each with a role and a log group of its own. Made first, and
 * given settings and permissions afterwards (`connect`): the state machine calls some of them, and
 * others start it.
 */
export class ServiceFunctions extends Construct {
  readonly #functions: Readonly<Record<FunctionName, LambdaFunction>>;

  constructor(scope: Construct, id: string, props: ServiceFunctionsProps) {
    super(scope, id);
    const made = FUNCTION_NAMES.map((name) => [name, this.#make(name, FUNCTIONS[name], props)] as const);
    this.#functions = Object.fromEntries(made) as Record<FunctionName, LambdaFunction>;
  }

  get(name: FunctionName): LambdaFunction {
    return this.#functions[name];
  }

  /** Gives each function the settings that it reads, and the permissions that it declares; no more. */
  connect(
    settings: Readonly<Record<SettingName, string>>,
    targets: GrantTargets,
    secretsRead: string | undefined,
  ): void {
    for (const name of FUNCTION_NAMES) {
      const declared: FunctionDeclaration = FUNCTIONS[name];
      // Nobody reads it: another environment starts a function anew, and it reads its secrets again.
      if (secretsRead !== undefined && declared.may.secrets.length > 0)
        this.get(name).addEnvironment('SECRETS_READ', secretsRead);
      for (const setting of declared.settings) this.get(name).addEnvironment(setting, settings[setting]);
      // Read by Powertools itself: the value of the metrics' one dimension.
      if (declared.measures)
        this.get(name).addEnvironment('POWERTOOLS_SERVICE_NAME', Stack.of(this).stackName);
      allow(this.get(name), declared.may, targets);
    }
  }

  #make(name: FunctionName, declared: FunctionDeclaration, props: ServiceFunctionsProps): LambdaFunction {
    const scope = new Construct(this, name);
    const logGroup = new LogGroup(scope, 'Logs', {
      retention: RetentionDays.THREE_MONTHS,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    // No managed policy: that one may write to any log group.
    const role = new Role(scope, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    logGroup.grantWrite(role);
    const made = new LambdaFunction(scope, 'Function', {
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      handler: props.bundle ? 'index.handler' : 'handler.handler',
      code: props.bundle
        ? Code.fromAsset(`${BUNDLES}/${name}`)
        : Code.fromAsset(`${PROJECT_ROOT}/functions/${name}`),
      memorySize: declared.memory,
      timeout: Duration.seconds(declared.timeoutSeconds),
      role,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      tracing: props.tracing ? Tracing.ACTIVE : Tracing.DISABLED,
    });
    (made.node.defaultChild as CfnFunction).addMetadata(FUNCTION_METADATA, name);
    return made;
  }
}
