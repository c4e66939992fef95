import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * `public`: a host of the internet. `private`: of a closed network or of this very machine, reachable where the
 * operator allows it. `forbidden`: link-local and metadata services, where nobody's server is.
 */
type AddressKind = 'public' | 'private' | 'forbidden';

/** Which private networks may be reached: none, all, or those in CIDR notation. */
export type AddressPolicy = 'public' | 'all' | readonly string[];

/** IPv6 is handed out of this block alone; what the internet reaches is in it. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');
/** ISATAP interface identifiers, `…:0:5efe:a.b.c.d`, which lead to the IPv4 address at their end. */
const ISATAP = new Set([0x0000, 0x0200]);
/** Metadata services that are at no link-local address: EC2 over IPv6, Alibaba Cloud, Oracle Cloud, Azure. */
const METADATA = ['fd00:ec2::254/128', '100.100.100.200/32', '192.0.0.192/32', '168.63.129.16/32'].map(
  (one) => ipaddr.parseCIDR(one),
);
/** Prefixes behind which an IPv4 address stands, and where in its bytes. */
const EMBEDDED: readonly { readonly within: [Address, number]; readonly at: number; readonly xor?: 0xff }[] =
  [
    { within: ipaddr.parseCIDR('::/96'), at: 12 },
    { within: ipaddr.parseCIDR('::ffff:0:0/96'), at: 12 },
    { within: ipaddr.parseCIDR('::ffff:0:0:0/96'), at: 12 },
    { within: ipaddr.parseCIDR('64:ff9b::/96'), at: 12 },
    { within: ipaddr.parseCIDR('64:ff9b:1::/48'), at: 12 },
    { within: ipaddr.parseCIDR('2002::/16'), at: 2 },
    { within: ipaddr.parseCIDR('2001::/32'), at: 12, xor: 0xff },
  ];

/** @param text an IPv4 or IPv6 address, without brackets; what is none is `forbidden` */
function kindOfAddress(text: string): AddressKind {
  const address = parse(text);
  if (!address) return 'forbidden';
  if (isForbidden(address)) return 'forbidden';
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast' ? 'public' : 'private';
  const inside = embeddedIn(address);
  if (inside && isForbidden(inside)) return 'forbidden';
  // A way around by another notation of an IPv4 address is no public host's address, whatever is behind it.
  const isGlobal = !inside && address.match(GLOBAL_UNICAST) && address.range() === 'unicast';
  return isGlobal ? 'public' : 'private';
}

/** Whether the policy lets connections go to an address. */
export function mayReach(text: string, policy: AddressPolicy): boolean {
  const kind = kindOfAddress(text);
  if (kind !== 'private') return kind === 'public';
  if (policy === 'public' || policy === 'all') return policy === 'all';
  const address = parse(text);
  return address !== null && policy.some((network) => isWithin(address, network));
}

/**
 * What a host's name says by itself: an address, or a name that means this machine or a closed network whoever
 * is asked. null: only its resolution tells.
 * @param hostname as `URL` has it: an IPv6 address in brackets
 */
function kindOfHost(hostname: string): AddressKind | null {
  const host = bareHost(hostname);
  if (host === '') return 'forbidden';
  if (ipaddr.isValid(host)) return kindOfAddress(host);
  if (/^(?:.*\.)?metadata\.google\.internal$/.test(host)) return 'forbidden';
  const isLocal = /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home\.arpa)$/.test(host);
  return isLocal ? 'private' : null;
}

/** Whether a host may be named at all; where a name has to be resolved, that decides later. */
export function mayName(hostname: string, policy: AddressPolicy): boolean {
  const host = bareHost(hostname);
  if (ipaddr.isValid(host)) return mayReach(host, policy);
  const kind = kindOfHost(host);
  // Of a private name the address decides, where some private addresses may be reached.
  return kind !== 'forbidden' && (kind !== 'private' || policy !== 'public');
}

/** Lower case, without brackets and without dots at its end: `localhost..` is `localhost`. */
export function bareHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.+$/, '');
}

/** Whether a text is a network in CIDR notation, or a single address. */
export function isNetwork(text: string): boolean {
  return ipaddr.isValidCIDR(text) || ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
}

function parse(text: string): Address | null {
  // A zone (`fe80::1%eth0`) is of this machine alone.
  return text.includes('%') || !ipaddr.isValid(text) ? null : ipaddr.parse(text);
}

function isForbidden(address: Address): boolean {
  const range = address.range();
  if (range === 'linkLocal' || range === 'multicast' || range === 'broadcast') return true;
  return METADATA.some(([network, bits]) => sameKind(address, network) && address.match(network, bits));
}

function embeddedIn(address: ipaddr.IPv6): ipaddr.IPv4 | null {
  const bytes = address.toByteArray();
  const ipv4At = (at: number, xor = 0) => new ipaddr.IPv4(bytes.slice(at, at + 4).map((byte) => byte ^ xor));
  const known = EMBEDDED.find(({ within: [network, bits] }) => address.match(network, bits));
  if (known) return ipv4At(known.at, known.xor);
  const [, , , , fifth = -1, sixth] = address.parts;
  return sixth === 0x5efe && ISATAP.has(fifth) ? ipv4At(12) : null;
}

function isWithin(address: Address, text: string): boolean {
  const [network, bits] = text.includes('/')
    ? ipaddr.parseCIDR(text)
    : [ipaddr.parse(text), text.includes(':') ? 128 : 32];
  return sameKind(address, network) && address.match(network, bits);
}

function sameKind(a: Address, b: Address): boolean {
  return a.kind() === b.kind();
}
