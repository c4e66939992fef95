import { fileURLToPath } from 'node:url';

/** Root of the checkout, without a slash at the end. */
export const PROJECT_ROOT: string = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '');

/** What is made from the sources, and may be deleted at any time. */
export const BUILD_FOLDER = `${PROJECT_ROOT}/.build`;

/** Name of the CDK stack, and of the template that both clouds run. */
export const STACK_NAME = 'Aspm';

/** The stack's output that names its table: where the operator's command finds it. */
export const TABLE_OUTPUT = 'TableName';

/** Metadata of a function's resource: its folder under `functions/`, for whoever reads the template. */
export const FUNCTION_METADATA = 'aspm:function';

/** A folder for each function's deployed code. */
export const BUNDLES = `${BUILD_FOLDER}/functions`;

/** What the scanner image is built from. */
export const RUNNER_IMAGE = `${BUILD_FOLDER}/scanner-runner`;

/** Folder of the reference page's third-party files beside its bundle: the value of `ASSETS_DIR`. */
export const REFERENCE_ASSETS = 'assets';

/** Folder of what the policy engine loads at run time, beside a bundle: the value of `POLICY_ASSETS_DIR`. */
export const POLICY_FOLDER = 'policy';

/** CDK's own choices that every synthesis of the stack is made with; the embedded cloud does not read cdk.json. */
export const CDK_FEATURES = {
  '@aws-cdk/aws-iam:minimizePolicies': true,
  '@aws-cdk/core:enablePartitionLiterals': true,
} as const;
