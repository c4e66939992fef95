import { createHash, randomBytes, scryptSync } from 'node:crypto';

export function store(password: string): string {
  // ruleid: javascript-fast-password-hash
  return createHash('sha256').update(password).digest('hex');
}

export function storeFixed(password: string): Buffer {
  const salt = randomBytes(16);
  // ok: javascript-fast-password-hash
  return Buffer.concat([salt, scryptSync(password, salt, 32)]);
}
