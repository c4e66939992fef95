import { PROJECT_ROOT } from '#infra/project.ts';
import { REGION } from './resolver.ts';
import type { LocalCredentials } from './signatures.ts';

/** Where the parts of the embedded cloud answer. */
export interface Endpoints {
  readonly dynamodb: string;
  readonly sqs: string;
  readonly s3: string;
  /** Step Functions and Secrets Manager: one address for both. */
  readonly json: string;
}

/** What differs here from what the template says. */
const LOCAL_SETTINGS: Readonly<Record<string, string>> = {
  ASPM_ALLOW_LOCAL_REPOSITORIES: '1',
  ASPM_ORG_CREATION: 'anyone',
  // Lanes spread a load over partitions; one file has none.
  COUNTER_LANES: '1',
  ASSETS_DIR: `${PROJECT_ROOT}/node_modules/swagger-ui-dist`,
  // Scanners keep their databases in the user's cache: nothing is downloaded unasked.
  ASPM_GRYPE_DATABASE_URL: '',
  ASPM_TRIVY_DATABASE_URL: '',
  // The sources: nothing is bundled here.
  POLICY_ASSETS_DIR: '',
  // Tiers bound it here; whoever runs it sets another number.
  ASPM_MAX_RUNNERS: '0',
  // Measured values are lines of the log here as well: Powertools' own console would write to the terminal.
  POWERTOOLS_DEV: 'true',
  POWERTOOLS_METRICS_DISABLED: 'false',
};

/** Settings that whoever starts the service may choose in their own environment. */
const FROM_OUTSIDE = /^(?:ASPM_|SCANNERS$)/;

/** The SDK must find our parts, and nothing of the user's own account. */
const NO_ACCOUNT = [
  'AWS_PROFILE',
  'AWS_SESSION_TOKEN',
  'AWS_ENDPOINT_URL',
  'AWS_IGNORE_CONFIGURED_ENDPOINT_URLS',
];

/**
 * One environment for all functions: a setting's name means the same to each. Later ones win: the
 * template, what is different here, the caller's environment, `own`.
 */
export function settingsOf(
  template: Readonly<Record<string, string>>,
  outside: NodeJS.ProcessEnv,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const chosen = Object.entries(outside).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && FROM_OUTSIDE.test(entry[0]),
  );
  return { ...template, ...LOCAL_SETTINGS, ...Object.fromEntries(chosen), ...own };
}

/** The SDK's own settings: where the services are, and credentials that open nothing but these. */
export function awsEnvironment(
  { dynamodb, sqs, s3, json }: Endpoints,
  { accessKeyId, secretAccessKey }: LocalCredentials,
): Record<string, string> {
  return {
    AWS_REGION: REGION,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    AWS_ENDPOINT_URL_DYNAMODB: dynamodb,
    AWS_ENDPOINT_URL_SQS: sqs,
    AWS_ENDPOINT_URL_S3: s3,
    AWS_ENDPOINT_URL_SFN: json,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: json,
  };
}

/** Sets the process's environment; the answer puts back what was there. */
export function applyEnvironment(values: Readonly<Record<string, string>>): () => void {
  const names = [...Object.keys(values), ...NO_ACCOUNT];
  const before = names.map((name) => [name, process.env[name]] as const);
  for (const name of NO_ACCOUNT) delete process.env[name];
  Object.assign(process.env, values);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}
