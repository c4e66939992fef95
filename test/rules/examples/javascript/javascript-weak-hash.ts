import { createHash } from 'node:crypto';

export function signManifest(manifest: string, key: string): string {
  // ruleid: javascript-weak-hash
  return createHash('sha1').update(key + manifest).digest('hex');
}

export function signManifestFixed(manifest: string, key: string): string {
  // ok: javascript-weak-hash
  return createHash('sha256').update(key + manifest).digest('hex');
}

export function respond(page: string): { etag: string } {
  // ok: javascript-weak-hash
  const etag = createHash('md5').update(page).digest('base64');
  return { etag };
}
