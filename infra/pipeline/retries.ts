/** Retry policies of the state machine, in Amazon States Language. */
export interface Retry {
  readonly ErrorEquals: readonly string[];
  readonly IntervalSeconds: number;
  readonly MaxAttempts: number;
  readonly BackoffRate: number;
  readonly MaxDelaySeconds?: number;
  readonly JitterStrategy?: 'FULL' | 'NONE';
}

/**
 * Fargate has no room, or ECS is busy: no task was started, so the claim is still unused.
 * Waits of 15, 30, 60, 120, 120 and 120 s: about 8 minutes at most; with jitter half of that on average.
 */
export const NO_CAPACITY: Retry = {
  ErrorEquals: [
    'ECS.AmazonECSException',
    'ECS.ServerException',
    'ECS.ThrottlingException',
    'AmazonECS.Unknown',
  ],
  IntervalSeconds: 15,
  MaxAttempts: 6,
  BackoffRate: 2,
  MaxDelaySeconds: 120,
  JitterStrategy: 'FULL',
};

/**
 * Lambda itself failed, or the store was contended (`ServiceError`); steps are idempotent.
 * Waits of 2, 4, 8, 16 and 32 s: a minute at most, 31 s on average with jitter.
 */
export const TRANSIENT: Retry = {
  ErrorEquals: [
    'Lambda.ServiceException',
    'Lambda.AWSLambdaException',
    'Lambda.SdkClientException',
    'Lambda.ClientExecutionTimeoutException',
    'Lambda.TooManyRequestsException',
    'Lambda.Unknown',
    'ServiceError',
  ],
  IntervalSeconds: 2,
  MaxAttempts: 5,
  BackoffRate: 2,
  JitterStrategy: 'FULL',
};

/**
 * Another run ingests the same asset and scanner, or the asset was moved meanwhile. Waits of 1, 2, 4,
 * 8 s and then 15 s: four minutes at most, twice what a crashed run can hold its lease.
 */
export const MANIFEST_BUSY: Retry = {
  ErrorEquals: ['ManifestBusy', 'LeaseLost'],
  IntervalSeconds: 1,
  MaxAttempts: 19,
  BackoffRate: 2,
  MaxDelaySeconds: 15,
};

/**
 * The last step holds a scan's lock and its share of the tier until it succeeds: any error is tried
 * again. Waits of 2, 4, 8, 16, 32, 60, 60 and 60 s: 4 minutes at most; then the sweep takes over.
 */
export const MUST_SUCCEED: Retry = {
  ErrorEquals: ['States.ALL'],
  IntervalSeconds: 2,
  MaxAttempts: 8,
  BackoffRate: 2,
  MaxDelaySeconds: 60,
  JitterStrategy: 'FULL',
};
