import crypto, { createCipheriv, randomBytes } from 'node:crypto';

export function seal(key: Buffer, text: string): Buffer {
  // ruleid: javascript-weak-cipher
  const cipher = createCipheriv('aes-256-ecb', key, null);
  return Buffer.concat([cipher.update(text), cipher.final()]);
}

export function sealOld(key: Buffer, text: string): Buffer {
  // ruleid: javascript-weak-cipher
  const cipher = crypto.createCipheriv('des-ede3-cbc', key, randomBytes(8));
  return Buffer.concat([cipher.update(text), cipher.final()]);
}

export function sealFixed(key: Buffer, text: string): Buffer {
  const iv = randomBytes(12);
  // ok: javascript-weak-cipher
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  return Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
}
