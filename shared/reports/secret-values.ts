/** What stands in place of a secret. */
export const REDACTED = 'REDACTED';

/** What stands for a value that the reader is to put in, as a whole. */
export const PLACEHOLDER =
  /^(?:<[\w .-]{1,60}>|\$\{[\w.:-]{1,60}\}|\$\w{1,60}|\{\{? ?[\w.]{0,60} ?\}?\}|%\w{1,60}%|%[sd]|[x*.]{1,60}|REDACTED|your[_-][\w-]{1,60})$/i;
/** Words that say that there is none, or of which kind it is. */
export const NO_SECRET =
  /^(?:true|false|null|nil|none|undefined|required|optional|string|str|value|x{1,40}|\d{1,5})$/i;

/** Whether what was assigned to a secret's name is one. */
export function isSecret(value: string): boolean {
  // The mark itself, also where it was cut through, is none.
  if (value.length < 4 || value.startsWith(REDACTED) || REDACTED.startsWith(value.replace('…', '')))
    return false;
  if (PLACEHOLDER.test(value)) return false;
  return value.length > 40 || (/[\p{L}\p{N}]/u.test(value) && !NO_SECRET.test(value));
}

const ALGORITHM =
  /^(?:(?:oauth|sha|md|[HREP]S|aes|rsa|dsa|ecdsa|ed|base|utf|argon|bcrypt|pbkdf|scrypt|gcm|cbc|hmac|tls|ssl)(?:[-_/]?\d{1,5})?(?:[-_]?(?:bits?|bytes?|id|encoded|encrypted|hash(?:ed)?))?[-_/]?){1,6}$/i;
const IDENTIFIER = /^(?:(?:CVE|CWE|GHSA|RFC|ISO|FIPS|NIST)-[\w.-]{1,40}|v?\d{1,4}(?:\.\d{1,4}){1,4})$/i;
const MEASURE =
  /^\d{1,6}[-_]?(?:bits?|bytes?|[kmg]i?b|char(?:acter)?s?|days?|hours?|minutes?|seconds?|times|px)$/i;

/** Algorithms and their sizes, ids of advisories and standards, versions, measures: a number, and no secret. */
export function isTerm(value: string): boolean {
  return value.length <= 64 && [ALGORITHM, IDENTIFIER, MEASURE].some((term) => term.test(value));
}

/** Words in small letters, perhaps with a number behind them: `authentication-over-http2`. */
export function isWords(value: string): boolean {
  return /^[A-Za-z][a-z]{1,60}(?:[-_./][A-Za-z][a-z]{0,60}){0,20}[-_]?\d{0,3}[.:!?)]{0,3}$/.test(value);
}

/** Letters and digits, so many at least, that are no term. */
export function looksGiven(value: string, length: number): boolean {
  return value.length >= length && /\d/.test(value) && /\p{L}/u.test(value) && !isTerm(value);
}
