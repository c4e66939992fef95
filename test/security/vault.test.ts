import { describe, expect, it } from 'vitest';
import { createVault, makeWebhookSecret } from '#shared/security/vault.ts';

const vault = createVault(async () => 'a secret of sixty-four characters, which no deployment ever uses!');
const ORG = '0199c0de-5eed-7000-a000-0000000000aa';
const OTHER = '0199c0de-5eed-7000-a000-0000000000bb';
const INTEGRATION = '0199c0de-5eed-7000-a000-0000000000cc';
const SECRETS = { api_token: 'tüken', webhook_secret: 'hush' };

describe('the vault', () => {
  it('opens what it sealed, and seals the same to another text each time', async () => {
    const [first, second] = [
      await vault.seal(ORG, INTEGRATION, SECRETS),
      await vault.seal(ORG, INTEGRATION, SECRETS),
    ];
    expect(first).not.toBe(second);
    for (const sealed of [first, second]) {
      expect(Buffer.from(sealed, 'base64').toString('latin1')).not.toContain('hush');
      expect(await vault.open(ORG, INTEGRATION, sealed)).toEqual(SECRETS);
    }
  });

  it('opens nothing for another organization, integration or deployment, and nothing changed', async () => {
    const sealed = await vault.seal(ORG, INTEGRATION, SECRETS);
    await expect(vault.open(OTHER, INTEGRATION, sealed)).rejects.toThrow();
    await expect(vault.open(ORG, OTHER, sealed)).rejects.toThrow();
    await expect(createVault(async () => 'another').open(ORG, INTEGRATION, sealed)).rejects.toThrow();
    const bytes = Buffer.from(sealed, 'base64');
    for (const index of [0, 12, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(index) ^ 1, index);
      await expect(vault.open(ORG, INTEGRATION, changed.toString('base64'))).rejects.toThrow();
    }
    for (const length of [0, 12, 20, 28])
      await expect(
        vault.open(ORG, INTEGRATION, bytes.subarray(0, length).toString('base64')),
      ).rejects.toThrow();
  });

  it('makes signing secrets of 32 bytes', () => {
    const secret = makeWebhookSecret();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(makeWebhookSecret()).not.toBe(secret);
  });
});
