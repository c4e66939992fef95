import { readFileSync } from 'node:fs';
import https from 'node:https';

// ruleid: javascript-tls-verification-off
export const agent = new https.Agent({ keepAlive: true, rejectUnauthorized: false });

export function allowAll(): void {
  // ruleid: javascript-tls-verification-off
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
}

// ok: javascript-tls-verification-off
export const agentFixed = new https.Agent({ keepAlive: true, ca: readFileSync('/etc/ssl/private-ca.pem') });
