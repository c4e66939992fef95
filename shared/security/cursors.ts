import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SecretReader } from './secrets.ts';

export type Cursors = ReturnType<typeof createCursors>;

const MAC_BYTES = 16;

/**
 * Where a list goes on, as clients carry it. Only what this service has handed out is read again, for the same
 * organization: a position that somebody made up would go into the table's keys.
 */
export function createCursors(readSecret: SecretReader) {
  async function macOf(orgId: string, payload: string): Promise<Buffer> {
    const mac = createHmac('sha256', await readSecret()).update(`cursor/${orgId}/${payload}`);
    return mac.digest().subarray(0, MAC_BYTES);
  }

  return {
    async seal(orgId: string, position: readonly string[]): Promise<string> {
      const payload = Buffer.from(JSON.stringify(position)).toString('base64url');
      return `${payload}.${(await macOf(orgId, payload)).toString('base64url')}`;
    },

    /** What was sealed; null for anything else. */
    async open(orgId: string, cursor: string): Promise<readonly unknown[] | null> {
      const [payload = '', mac = '', ...more] = cursor.split('.');
      const given = Buffer.from(mac, 'base64url');
      if (more.length > 0 || given.length !== MAC_BYTES) return null;
      if (!timingSafeEqual(given, await macOf(orgId, payload))) return null;
      const position: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
      return Array.isArray(position) ? position : null;
    },
  };
}
