import { createHash, randomInt, timingSafeEqual } from 'node:crypto';

/**
 * An API key: `svc_ak_` + 16 characters that name it + `_` + 32 secret characters + 6 of a checksum,
 * by which secret scanners recognise it. Only a SHA-256 of the whole is kept: 32 characters of 62
 * are 190 bits, which need no slow hash.
 */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const FORMAT = /^svc_[as]k_([0-9A-Za-z]{16})_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

export interface NewApiKey {
  /** The whole key: shown once, kept nowhere. */
  readonly key: string;
  readonly handle: string;
  /** What lists show: `svc_ak_` and the handle. */
  readonly prefix: string;
  readonly hash: string;
}

export function makeApiKey(): NewApiKey {
  const handle = randomText(16);
  const body = `svc_ak_${handle}_${randomText(32)}`;
  const key = body + checksum(body);
  return { key, handle, prefix: apiKeyPrefix(handle), hash: hashApiKey(key) };
}

export function apiKeyPrefix(handle: string): string {
  return `svc_ak_${handle}`;
}

/** Whether the text claims to be an API key rather than a token. */
export function looksLikeApiKey(text: string): boolean {
  return text.startsWith('svc_ak_') || text.startsWith('svc_sk_');
}

/** The handle of a well-formed key; null where it can't be one of ours, which saves the look-up. */
export function apiKeyHandle(key: string): string | null {
  const match = FORMAT.exec(key);
  if (!match?.[1] || checksum(key.slice(0, -6)) !== match[3]) return null;
  return match[1];
}

export function matchesHash(key: string, hash: string): boolean {
  const actual = Buffer.from(hashApiKey(key), 'hex');
  const expected = Buffer.from(hash, 'hex');
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/** Six characters of 62 from the SHA-256: enough to tell a key from text that looks like one. */
function checksum(text: string): string {
  let value = createHash('sha256').update(text).digest().readUIntBE(0, 6);
  let out = '';
  for (let index = 0; index < 6; index += 1) {
    out += ALPHABET[value % ALPHABET.length];
    value = Math.floor(value / ALPHABET.length);
  }
  return out;
}
