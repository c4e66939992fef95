import { stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CloneError } from './clone-failure.ts';

export type ClonableBy = 'https' | 'http' | 'file';
export type CloneProtocol = ClonableBy | 'ssh';

export interface CloneSource {
  readonly protocol: CloneProtocol;
  /** What git is given: free of credentials. */
  readonly location: string;
  readonly credentials: { readonly username: string; readonly password: string } | null;
}

/**
 * Protocols of other machines: what can be cloned unless the caller says otherwise. Not ssh: it would offer the
 * keys of whoever runs the service to any host that is named.
 */
export const REMOTE_PROTOCOLS: readonly ClonableBy[] = ['https', 'http'];

/** @throws CloneError for what is no address, is not allowed, or is no folder */
export async function parseSource(
  url: string,
  protocols: readonly CloneProtocol[] = REMOTE_PROTOCOLS,
  credentials: CloneSource['credentials'] = null,
): Promise<CloneSource> {
  const source = readSource(url.trim());
  if (source === null) {
    throw new CloneError(`"${withoutUserInfo(url)}" is neither the address of a repository nor a path.`);
  }
  if (!protocols.includes(source.protocol)) {
    const what = source.protocol === 'file' ? 'Local paths' : `${source.protocol} addresses`;
    throw new CloneError(`${what} can't be scanned here; allowed: ${protocols.join(', ')}.`);
  }
  await refuseWhatIsNoFolder(source);
  return { ...source, credentials: credentials ?? source.credentials };
}

function readSource(url: string): CloneSource | null {
  if (/[\p{Cc}]/u.test(url) || url === '' || url.startsWith('-')) return null;
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme === 'http' || scheme === 'https') return readWebAddress(url, scheme);
  if (scheme === 'ssh') return { protocol: 'ssh', location: url, credentials: null };
  try {
    if (scheme === 'file') return { protocol: 'file', location: fileURLToPath(url), credentials: null };
  } catch {
    return null;
  }
  if (scheme !== undefined || /^[a-z][a-z0-9+.-]*::/i.test(url)) return null;
  if (/^[\w.-]+@[\w.-]+:(?!\/\/)/.test(url)) return { protocol: 'ssh', location: url, credentials: null };
  return { protocol: 'file', location: resolve(url), credentials: null };
}

function readWebAddress(url: string, protocol: 'http' | 'https'): CloneSource | null {
  const address = URL.parse(url);
  if (address === null || address.hostname === '') return null;
  const { username, password } = address;
  address.username = '';
  address.password = '';
  const credentials =
    username === '' && password === '' ? null : { username: decoded(username), password: decoded(password) };
  return { protocol, location: address.href, credentials };
}

/** A `%` that begins no escape is meant as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function withoutUserInfo(url: string): string {
  return url.replace(/\/\/[^/@\s]*@/g, '//').slice(0, 300);
}

async function refuseWhatIsNoFolder({ protocol, location }: CloneSource): Promise<void> {
  if (protocol !== 'file') return;
  const found = await stat(location).catch(() => null);
  if (found === null) throw new CloneError(`${location} does not exist.`);
  if (!found.isDirectory())
    throw new CloneError(`${location} is a file, not the folder of a git repository.`);
}

/** git's own credential store: it matches by protocol and host, so a redirect elsewhere gets nothing. */
export async function credentialConfig(
  { credentials, location, protocol }: CloneSource,
  folder: string,
): Promise<string> {
  if (credentials === null || (protocol !== 'https' && protocol !== 'http')) return '';
  const address = new URL(location);
  const file = join(folder, 'credentials');
  const user = `${encodeURIComponent(credentials.username)}:${encodeURIComponent(credentials.password)}`;
  await writeFile(file, `${address.protocol}//${user}@${address.host}\n`, { mode: 0o600 });
  return `[credential]\n\thelper = "store --file='${file}'"\n`;
}
