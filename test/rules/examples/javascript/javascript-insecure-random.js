import { randomBytes } from 'node:crypto';

export function newSession(user) {
  // ruleid: javascript-insecure-random
  const sessionId = Math.random().toString(36).slice(2);
  return { user, sessionId };
}

export function newInvite(mail) {
  // ruleid: javascript-insecure-random
  return { mail, inviteCode: Math.floor(Math.random() * 1e6) };
}

export function newSessionFixed(user) {
  // ok: javascript-insecure-random
  const sessionId = randomBytes(32).toString('base64url');
  return { user, sessionId };
}

export function backoff(attempt) {
  // ok: javascript-insecure-random
  const delay = Math.random() * 2 ** attempt;
  return delay;
}
