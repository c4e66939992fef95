import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import * as z from 'zod';
import type { SecretReader } from './secrets.ts';

/** Secrets of one integration, by name. */
export type IntegrationSecrets = Readonly<Record<string, string>>;

const Opened = z.record(z.string(), z.string());

const IV_BYTES = 12;
const TAG_BYTES = 16;

export type Vault = ReturnType<typeof createVault>;

/**
 * Seals integrations' secrets with AES-256-GCM, under a key of each organization's own (HKDF of the
 * deployment's secret). The integration's id is associated data: a text that is moved to another
 * integration, or to another organization, does not open.
 */
export function createVault(readMaster: SecretReader) {
  async function keyOf(orgId: string): Promise<Buffer> {
    return Buffer.from(hkdfSync('sha256', await readMaster(), orgId, 'integration-secrets', 32));
  }

  return {
    /** Base64 of IV, tag and ciphertext; another text each time. */
    async seal(orgId: string, integrationId: string, secrets: IntegrationSecrets): Promise<string> {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', await keyOf(orgId), iv).setAAD(Buffer.from(integrationId));
      const sealed = Buffer.concat([cipher.update(JSON.stringify(secrets), 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64');
    },

    /** @throws Error where the text was changed, or sealed for another integration or organization */
    async open(orgId: string, integrationId: string, text: string): Promise<IntegrationSecrets> {
      const bytes = Buffer.from(text, 'base64');
      const iv = bytes.subarray(0, IV_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', await keyOf(orgId), iv, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(integrationId))
        .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const opened = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
      return Opened.parse(JSON.parse(opened.toString('utf8')));
    },
  };
}

/** A webhook's signing secret as Standard Webhooks writes it: `whsec_` and 32 random bytes in base64. */
export function makeWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}
