import { randomInt } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import * as z from 'zod';
import { type JsonOperations, ServiceFault } from './aws-json.ts';
import type { CloudModel } from './model.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

export function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/**
 * The template's secrets, made at the first start that knows them and kept: sessions, identities of
 * findings and integrations' secrets hang on them.
 * @param path file that keeps them, readable by its owner alone; null: not kept
 */
export async function loadSecrets(
  secrets: CloudModel['secrets'],
  path: string | null,
): Promise<JsonOperations> {
  const held = path === null ? {} : await readKept(path);
  const missing = secrets.filter(({ name }) => held[name] === undefined);
  for (const { name, length } of missing) held[name] = randomText(length);
  if (path !== null && missing.length > 0) {
    await writeFile(`${path}.new`, JSON.stringify(held), { mode: 0o600 });
    await rename(`${path}.new`, path);
  }
  const byArn = new Map(secrets.map(({ arn, name }) => [arn, { name, value: held[name] ?? '' }]));
  return {
    'secretsmanager.GetSecretValue': (input) => {
      const { SecretId } = z.object({ SecretId: z.string() }).parse(input);
      const secret = byArn.get(SecretId);
      if (!secret) throw new ServiceFault('ResourceNotFoundException', 'There is no such secret');
      return { ARN: SecretId, Name: secret.name, SecretString: secret.value, VersionStages: ['AWSCURRENT'] };
    },
  };
}

async function readKept(path: string): Promise<Record<string, string>> {
  try {
    return z.record(z.string(), z.string()).parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw new Error(`${path} can't be read: restore it, or delete the whole data folder`, { cause: error });
  }
}
