import { Resolver } from 'node:dns/promises';
import ipaddr from 'ipaddr.js';
import { type AddressPolicy, bareHost, mayName, mayReach } from '#domain/addresses.ts';

/** Whether a host that somebody names may be kept: by what its name says, and by what the DNS says of it now. */
export type HostCheck = (hostname: string) => Promise<boolean>;

/** Of somebody else's name server nobody waits longer for an early word. */
const TIMEOUT_MS = 1000;

/**
 * An early word to whoever names a host: it is judged again, and for good, when a connection is made, since a name
 * can be given another address at any time. So a name that nobody knows passes here. The DNS is asked without the
 * threads that password hashes and files share: a server that never answers holds up nobody.
 * @param servers name servers in place of the machine's, `address:port`
 */
export function createHostCheck(policy: AddressPolicy, servers?: readonly string[]): HostCheck {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 });
  if (servers) resolver.setServers(servers);
  return async (hostname) => {
    const host = bareHost(hostname);
    if (!mayName(host, policy)) return false;
    if (policy === 'all' || ipaddr.isValid(host)) return true;
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    return addresses.every((address) => mayReach(address, policy));
  };
}
