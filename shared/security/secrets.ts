import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';

/** Reads a secret once and keeps it for the life of the function's environment. */
export function createSecretReader(arn: string, client = new SecretsManagerClient({ maxAttempts: 4 })) {
  let held: Promise<string> | null = null;
  return function readSecret(): Promise<string> {
    held ??= fetchSecret(client, arn).catch((error: unknown) => {
      // A failed read must not be remembered: the next request tries again.
      held = null;
      throw error;
    });
    return held;
  };
}

async function fetchSecret(client: SecretsManagerClient, arn: string): Promise<string> {
  const answer = await client.send(new GetSecretValueCommand({ SecretId: arn }));
  if (!answer.SecretString) throw new Error('The secret has no text value');
  return answer.SecretString;
}

export type SecretReader = ReturnType<typeof createSecretReader>;
