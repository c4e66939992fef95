import { lookup } from 'node:dns/promises';
import ipaddr from 'ipaddr.js';
import { type AddressPolicy, bareHost, mayName, mayReach } from '#domain/addresses.ts';

/** All addresses of a name. @throws where it has none, or nobody answers */
export type NameLookup = (name: string) => Promise<readonly string[]>;

/** As every program of this machine resolves names: its hosts file included. */
export const systemLookup: NameLookup = async (name) => {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
};

/** The host may not be reached from here. The message names it, never what it resolves to. */
export class HostRefused extends Error {
  override readonly name = 'HostRefused';
}

/**
 * The addresses that a connection may go to, judged. Whoever connects goes to one of these, and resolves no
 * name again: it might answer otherwise the next time. One address that may not be reached refuses the name as a
 * whole.
 * @throws HostRefused; the lookup's own error where the name is not known
 */
export async function resolveJudged(
  hostname: string,
  policy: AddressPolicy,
  names: NameLookup = systemLookup,
): Promise<readonly string[]> {
  const host = bareHost(hostname);
  if (!mayName(host, policy)) throw new HostRefused(`${host} may not be reached from here`);
  const addresses = ipaddr.isValid(host) ? [host] : await names(host);
  if (addresses.length === 0) throw new Error(`${host} has no address`);
  if (!addresses.every((address) => mayReach(address, policy)))
    throw new HostRefused(`${host} may not be reached from here`);
  return addresses;
}
