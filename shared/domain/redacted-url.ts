/** What stands where a value was. */
const REDACTED = 'REDACTED';

/**
 * An address as readers and the audit log may see it: each value of its query may be a token, and
 * so may a part of the query that is nothing but a name. Doing it again changes nothing.
 */
export function redactUrl(url: string): string {
  return url
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, `$1${REDACTED}@`)
    .replace(/\?[^#]*/, (query) => `?${query.slice(1).split('&').map(redactPart).join('&')}`);
}

/** Whether an address is one that was redacted: it can be shown, and nobody can call it. */
export function isRedacted(url: string): boolean {
  const [, query = ''] = /\?([^#]*)/.exec(url) ?? [];
  return query.split('&').some((part) => part === REDACTED || part.endsWith(`=${REDACTED}`));
}

function redactPart(part: string): string {
  if (part === '') return part;
  // `=` at the end alone is the padding of Base64 rather than an empty value.
  const [, name] = /^([^=]*)=.*[^=]/s.exec(part) ?? [];
  return name === undefined ? REDACTED : `${name}=${REDACTED}`;
}
