import { CfnOutput, Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { AccessLogField, AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  type CfnStage,
  CorsHttpMethod,
  type CorsPreflightOptions,
  HttpApi,
  HttpMethod,
  HttpRoute,
  HttpRouteKey,
  HttpStage,
  LogGroupLogDestination,
  PayloadFormatVersion,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaAuthorizer, HttpLambdaResponseType } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { operations } from '#contract/index.ts';
import type { Method } from '#contract/operation.ts';
import { FUNCTIONS, type FunctionName } from '#infra/functions/catalogue.ts';
import type { ServiceFunctions } from '#infra/functions/functions.ts';
import { corsPolicy } from './cors.ts';

interface ApiRoute {
  readonly method: Method;
  readonly path: string;
  readonly target: FunctionName;
}

/** The reference page: no operation of the API, but served by its function. */
const PAGE_ROUTES: readonly ApiRoute[] = [
  { method: 'GET', path: '/docs', target: 'reference' },
  { method: 'GET', path: '/docs/{file}', target: 'reference' },
];

/** Answers what fits no route: paths with a slash at the end, and the 404s (design 1). */
const DEFAULT_TARGET: FunctionName = 'organizations';

/** Answers preflights where there is CORS: it reads no table, and has nothing to lose. */
const PREFLIGHT_TARGET: FunctionName = 'reference';

/** The stage whose name is no part of the address. */
const STAGE = '$default';

/**
 * Every route of the gateway: one for each operation of the contract. A route key can't end in a
 * slash: such paths are left to `$default`.
 */
function listRoutes(): ApiRoute[] {
  const routes = operations
    .filter(({ path }) => !path.endsWith('/'))
    .map(({ method, path, group }) => ({ method, path, target: functionOf(group) }));
  return [...routes, ...PAGE_ROUTES];
}

/** Requests a second, of all callers together, to a route that needs no credentials. A password costs 50 ms of a core. */
const PUBLIC_WRITES = 20;
const PUBLIC_READS = 50;
/** A page asks once for each address in two hours; the answer takes a function's millisecond, and no authorizer. */
const PREFLIGHTS = 200;

function isPublic(method: Method, path: string): boolean {
  const operation = operations.find((one) => one.method === method && one.path === path);
  // Runners have claims of their own, and say every two seconds that they are alive.
  if (operation?.group === 'runner-gate') return false;
  return operation === undefined || operation.permission === 'public';
}

function functionOf(group: string): FunctionName {
  if (!(group in FUNCTIONS)) throw new Error(`No function serves the operations of the group ${group}`);
  return group as FunctionName;
}

interface ApiProps {
  /** Origins whose pages may use the API. */
  readonly corsOrigins: readonly string[];
}

/** The HTTP API. Made before the functions, which know its address; its routes come after them. */
export class Api extends Construct {
  readonly #api: HttpApi;
  readonly #stage: HttpStage;
  readonly #hasCors: boolean;

  constructor(scope: Construct, id: string, { corsOrigins }: ApiProps) {
    super(scope, id);
    this.#hasCors = corsOrigins.length > 0;
    this.#api = new HttpApi(this, 'HttpApi', {
      createDefaultStage: false,
      description: 'ASPM',
      ...(this.#hasCors && { corsPreflight: preflightOf(corsOrigins) }),
    });
    const logGroup = new LogGroup(this, 'AccessLogs', {
      retention: RetentionDays.THREE_MONTHS,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.#stage = new HttpStage(this, 'Stage', {
      httpApi: this.#api,
      stageName: STAGE,
      autoDeploy: true,
      accessLogSettings: { destination: new LogGroupLogDestination(logGroup), format: accessLogFormat() },
      // Above every tier's limits together; a flood ends here instead of at the functions.
      throttle: { rateLimit: 2000, burstLimit: 4000 },
    });
    new CfnOutput(this, 'Url', { value: this.url });
  }

  get id(): string {
    return this.#api.apiId;
  }

  /** Without a slash at the end. */
  get url(): string {
    return this.#api.apiEndpoint;
  }

  addRoutes(functions: ServiceFunctions): void {
    const authorizer = this.#authorizer(functions);
    const integrations = new Map<FunctionName, HttpLambdaIntegration>();
    const integrationOf = (target: FunctionName) => {
      const held = integrations.get(target) ?? integrate(target, functions);
      integrations.set(target, held);
      return held;
    };
    for (const { method, path, target } of listRoutes()) {
      const routes = this.#api.addRoutes({
        path,
        methods: [HttpMethod[method]],
        integration: integrationOf(target),
        authorizer,
      });
      if (isPublic(method, path))
        this.#throttle(`${method} ${path}`, routes, method === 'GET' ? PUBLIC_READS : PUBLIC_WRITES);
    }
    if (this.#hasCors) this.#addPreflightRoute(integrationOf(PREFLIGHT_TARGET));
    new HttpRoute(this, 'Default', {
      httpApi: this.#api,
      routeKey: HttpRouteKey.DEFAULT,
      integration: integrationOf(DEFAULT_TARGET),
      authorizer,
    });
    // The route without a path calls from `<api>/<stage>/$default`, which CDK's grant of three parts does not match.
    functions.get(DEFAULT_TARGET).addPermission('DefaultRoute', {
      principal: new ServicePrincipal('apigateway.amazonaws.com'),
      sourceArn: Stack.of(this).formatArn({
        service: 'execute-api',
        resource: this.#api.apiId,
        resourceName: `${STAGE}/$default`,
      }),
    });
  }

  /**
   * Browsers send no credentials with a preflight, and `$default` asks for them: API Gateway's guide wants a route
   * of its own there. The gateway adds the headers; the function behind it says 204.
   */
  #addPreflightRoute(integration: HttpLambdaIntegration): void {
    const routes = this.#api.addRoutes({ path: '/{proxy+}', methods: [HttpMethod.OPTIONS], integration });
    this.#throttle('OPTIONS /{proxy+}', routes, PREFLIGHTS);
    for (const route of routes)
      Validations.of(route).acknowledge({
        id: 'AwsSolutions-APIG4',
        reason: 'Preflights carry no credentials; the answer is an empty 204.',
      });
  }

  /** A flood of strangers ends at the gateway: it costs neither the authorizer nor the function behind it. */
  #throttle(key: string, routes: readonly HttpRoute[], rate: number): void {
    const stage = this.#stage.node.defaultChild as CfnStage;
    const settings: Record<string, object> = { ...stage.routeSettings };
    stage.routeSettings = {
      ...settings,
      [key]: { ThrottlingRateLimit: rate, ThrottlingBurstLimit: 2 * rate },
    };
    // A stage that names a route which is not there yet is refused.
    for (const route of routes) this.#stage.node.addDependency(route);
  }

  /**
   * Runs for every request, credentials or not: it refuses nothing, it says who is asking. Nothing is
   * remembered, so that a revoked key is refused on the very next request.
   */
  #authorizer(functions: ServiceFunctions): HttpLambdaAuthorizer {
    return new HttpLambdaAuthorizer('Authorizer', functions.get('authorizer'), {
      responseTypes: [HttpLambdaResponseType.SIMPLE],
      identitySource: [],
      resultsCacheTtl: Duration.seconds(0),
    });
  }
}

function preflightOf(corsOrigins: readonly string[]): CorsPreflightOptions {
  const { origins, methods, allowHeaders, exposeHeaders, maxAgeSeconds } = corsPolicy(corsOrigins);
  return {
    allowOrigins: [...origins],
    allowMethods: methods.map((method) => CorsHttpMethod[method]),
    allowHeaders: [...allowHeaders],
    exposeHeaders: [...exposeHeaders],
    maxAge: Duration.seconds(maxAgeSeconds),
  };
}

/** One for each function, allowed for the whole API: one for each route would fill the stack's 500 resources. */
function integrate(target: FunctionName, functions: ServiceFunctions): HttpLambdaIntegration {
  return new HttpLambdaIntegration(`Call-${target}`, functions.get(target), {
    payloadFormatVersion: PayloadFormatVersion.VERSION_2_0,
    scopePermissionToRoute: false,
  });
}

/** No query and no headers: neither may hold anything secret, and both sometimes do. */
function accessLogFormat(): AccessLogFormat {
  return AccessLogFormat.custom(
    JSON.stringify({
      at: AccessLogField.contextRequestTimeEpoch(),
      // Ours, by the authorizer: the answer's `X-Request-ID`, and that of every log line behind it.
      request_id: '$context.authorizer.requestId',
      gateway_request_id: AccessLogField.contextRequestId(),
      ip: AccessLogField.contextIdentitySourceIp(),
      route: '$context.routeKey',
      status: AccessLogField.contextStatus(),
      latency_ms: AccessLogField.contextResponseLatency(),
      bytes: AccessLogField.contextResponseLength(),
      error: '$context.integrationErrorMessage',
    }),
  );
}
