import { createHash, createHmac, randomBytes } from 'node:crypto';

/** A one-time claim: what a runner trades for its job. The table keeps its hash alone. */
export function makeClaim(): { claim: string; hash: string } {
  const claim = randomBytes(32).toString('base64url');
  return { claim, hash: hashClaim(claim) };
}

export function hashClaim(claim: string): string {
  return createHash('sha256').update(claim).digest('hex');
}

/** An organization's own key for what identifies secrets and code without telling them. */
export function fingerprintKey(master: string, orgId: string): string {
  return createHmac('sha256', master).update(`fingerprint/${orgId}`).digest('hex');
}
