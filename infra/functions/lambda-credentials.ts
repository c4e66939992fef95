import { fromEnv } from '@aws-sdk/credential-provider-env';

/** Stands in for the SDK's default chain within the bundles (see bundle.ts): Lambda sets the environment. */
export function defaultProvider() {
  return fromEnv();
}
