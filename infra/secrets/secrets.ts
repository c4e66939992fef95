import { RemovalPolicy, Validations } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { keepLogicalId } from '#infra/logical-id.ts';

/** The four secrets that the service makes for itself; 64 characters each, never shown to anyone. */
export class ServiceSecrets extends Construct {
  readonly token: Secret;
  readonly fingerprint: Secret;
  readonly integration: Secret;
  readonly cursor: Secret;

  constructor(scope: Construct, id: string, props: { readonly key: IKey }) {
    super(scope, id);
    this.token = this.#generate('TokenSecret', 'Signs access, refresh and runner tokens', props.key);
    this.fingerprint = this.#generate(
      'FingerprintSecret',
      'Fingerprint keys of organizations are derived from it',
      props.key,
    );
    this.integration = this.#generate(
      'IntegrationSecret',
      "Keys that seal integrations' secrets are derived from it",
      props.key,
    );
    this.cursor = this.#generate('CursorSecret', 'Authenticates cursors of lists', props.key);
    Validations.of(this.token).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason: 'A new value ends every session: rotated by hand when needed (docs/runbook.md).',
    });
    Validations.of(this.fingerprint).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason: 'Identities of findings hang on it: another value would make every finding a new one.',
    });
    Validations.of(this.integration).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason: "Integrations' secrets are sealed with it: another value would lose every one of them.",
    });
    Validations.of(this.cursor).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason: 'It guards nothing but the order of lists: rotated by hand when needed (docs/runbook.md).',
    });
  }

  #generate(name: string, description: string, encryptionKey: IKey): Secret {
    const secret = new Secret(this, name, {
      description,
      encryptionKey,
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      generateSecretString: { passwordLength: 64, excludePunctuation: true },
    });
    keepLogicalId(secret, name);
    return secret;
  }
}
