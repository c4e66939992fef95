import { pathToFileURL } from 'node:url';
import { type AddressPolicy, bareHost, mayName } from './addresses.ts';
import { isShowable } from './written-text.ts';

/** A repository's address, as it is cloned from and recognised by. */
export interface ClonePlace {
  readonly cloneUrl: string;
  /** Host's name for the provider, `local` for a path. */
  readonly provider: string;
  /** `owner/name`, or a path's last part. */
  readonly fullName: string;
  /** The host, as `URL` has it; null for a path. */
  readonly host: string | null;
}

/** What is wrong with an address whose host may not be reached, to be read after the field's name. */
export const NOT_PUBLIC = 'must not point at a private, loopback or link-local address';

interface Allowed {
  readonly local: boolean;
  readonly reachable: AddressPolicy;
}

const PROVIDERS: Record<string, string> = {
  'github.com': 'github',
  'gitlab.com': 'gitlab',
  'bitbucket.org': 'bitbucket',
};

/**
 * Reads the address of a repository: http(s), or a `file:` URL or absolute path where these are allowed.
 * @returns the place, or what is wrong with it, to be read after the field's name
 */
export function readClonePlace(text: string, allowed: Allowed): ClonePlace | { readonly problem: string } {
  const isPath = text.startsWith('/') || /^[A-Za-z]:[\\/]/.test(text);
  const url = isPath ? pathToFileURL(text) : URL.parse(text);
  if (!url) return { problem: 'must be an http or https URL' };
  const path = decodedPath(url);
  if (path === null) return { problem: 'must be an address without malformed or hidden characters' };
  if (url.protocol === 'file:') {
    if (!allowed.local)
      return { problem: 'must be an http or https URL: local repositories are not allowed here' };
    if (url.hostname !== '') return { problem: 'must be a path of this machine, without a host' };
    const cloneUrl = withoutTrailingSlash(url.href);
    return { cloneUrl, provider: 'local', fullName: lastSegments(path, 1), host: null };
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { problem: 'must be an http or https URL' };
  if (!isPlainAddress(text)) return { problem: 'must be an address as it is read: https://host/path' };
  if (url.username !== '' || url.password !== '')
    return { problem: 'must not contain credentials: connect an integration instead' };
  if (url.search !== '' || url.hash !== '') return { problem: 'must have neither a query nor a fragment' };
  const { hostname } = url;
  if (!mayName(hostname, allowed.reachable)) return { problem: NOT_PUBLIC };
  const cloneUrl = withoutTrailingSlash(url.href);
  const provider = PROVIDERS[bareHost(hostname)] ?? 'manual';
  return { cloneUrl, provider, fullName: lastSegments(path, 2), host: hostname };
}

/**
 * Whether everybody reads an address alike: a backslash is a slash to some and part of a name to others, and so are
 * missing or more slashes before the host. Port 0 is nobody's, and a broken or hidden escape nothing.
 */
export function isPlainAddress(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^https?:\/\/[^/\\]+/i.test(text) &&
    !text.includes('\\') &&
    url.port !== '0' &&
    decodedPath(url) !== null
  );
}

/**
 * The path as people read it; null where an escape is broken, hides a `/`, or stands for what no name may hold: a
 * file's path could be decoded to another one than it shows.
 */
function decodedPath(url: URL): string | null {
  if (/%(?:2f|5c)/i.test(url.pathname)) return null;
  try {
    const path = decodeURIComponent(url.pathname);
    return isShowable(path) ? path : null;
  } catch {
    return null;
  }
}

function withoutTrailingSlash(href: string): string {
  return href.replace(/\/+$/, '');
}

function lastSegments(path: string, count: number): string {
  const segments = path.split('/').filter((segment) => segment !== '');
  return (
    segments
      .slice(-count)
      .join('/')
      .replace(/\.git$/, '') || 'repository'
  );
}
