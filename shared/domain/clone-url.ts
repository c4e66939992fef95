import { BlockList, isIP } from 'node:net';
import { pathToFileURL } from 'node:url';

/** A repository's address, as it is cloned from and recognised by. */
export interface ClonePlace {
  readonly cloneUrl: string;
  /** Host's name for the provider, `local` for a path. */
  readonly provider: string;
  /** `owner/name`, or a path's last part. */
  readonly fullName: string;
}

interface Allowed {
  readonly local: boolean;
  readonly privateAddresses: boolean;
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
  if (url.protocol === 'file:') {
    if (!allowed.local)
      return { problem: 'must be an http or https URL: local repositories are not allowed here' };
    const cloneUrl = withoutTrailingSlash(url.href);
    return { cloneUrl, provider: 'local', fullName: lastSegments(url.pathname, 1) };
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { problem: 'must be an http or https URL' };
  if (url.username !== '' || url.password !== '')
    return { problem: 'must not contain credentials: connect an integration instead' };
  if (url.search !== '' || url.hash !== '') return { problem: 'must have neither a query nor a fragment' };
  if (!allowed.privateAddresses && isPrivateHost(url.hostname))
    return { problem: 'must not point at a private, loopback or link-local address' };
  const cloneUrl = withoutTrailingSlash(url.href);
  return { cloneUrl, provider: PROVIDERS[url.hostname] ?? 'manual', fullName: lastSegments(url.pathname, 2) };
}

function withoutTrailingSlash(href: string): string {
  return href.replace(/\/+$/, '');
}

function lastSegments(path: string, count: number): string {
  const segments = decodeURIComponent(path)
    .split('/')
    .filter((segment) => segment !== '');
  return (
    segments
      .slice(-count)
      .join('/')
      .replace(/\.git$/, '') || 'repository'
  );
}

const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  PRIVATE.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of [
  ['::', 128],
  ['::1', 128],
  ['64:ff9b::', 96],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  PRIVATE.addSubnet(network, prefix, 'ipv6');

const LINK_LOCAL = new BlockList();
LINK_LOCAL.addSubnet('169.254.0.0', 16, 'ipv4');
LINK_LOCAL.addSubnet('fe80::', 10, 'ipv6');
// The same by way of NAT64, and the metadata service of EC2.
LINK_LOCAL.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6');
LINK_LOCAL.addAddress('fd00:ec2::254', 'ipv6');

/** Whether a literal address is link-local, as clouds’ metadata services are: nobody's server is there. */
export function isLinkLocalHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$|\.$/g, '').toLowerCase();
  const family = isIP(host);
  if (family !== 0) return LINK_LOCAL.check(host, family === 6 ? 'ipv6' : 'ipv4');
  return host === 'metadata.google.internal';
}

/** Whether a literal address, or a name that only ever means this machine, is no public host. */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$|\.$/g, '').toLowerCase();
  const family = isIP(host);
  if (family !== 0) return PRIVATE.check(host, family === 6 ? 'ipv6' : 'ipv4');
  return host === 'localhost' || /\.(localhost|local|internal)$/.test(host);
}
