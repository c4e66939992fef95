import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bareHost } from '#domain/addresses.ts';

/** What a scanner or git gets to see of this process's environment: nobody's credentials are among them. */
const PASSED = new Set([
  'PATH',
  'HOME',
  'TMPDIR',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'TZ',
  // Where Trivy and Grype keep their databases unless told otherwise.
  'XDG_CACHE_HOME',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'PYENV_ROOT',
  'PYENV_VERSION',
]);

/** Git's own settings for networks and certificates, but none that says which repository or program to use. */
const GIT_PASSED = /^GIT_(?:SSL_|HTTP_|PROXY_)/;

export function passedEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue;
    const known = PASSED.has(name) || PASSED.has(name.toUpperCase());
    if (known || GIT_PASSED.test(name) || /^(?:GRYPE|TRIVY|SEMGREP)_/.test(name)) passed[name] = value;
  }
  return passed;
}

/** A file above this is neither checked out nor compared in the history. */
export const LARGEST_SCANNED_FILE = 50 * 1024 * 1024;

/**
 * The only configuration that git reads, in our own clones and below the scanners: no hooks, no credential
 * helpers, no filters (so no LFS either), symbolic links written as plain files (nothing in a checkout can
 * point out of it), no renames (what comes from a file that Gitleaks passes over, a lockfile, is shown whole). What
 * the machine or its user has configured does not apply.
 */
const GIT_CONFIG = `[core]
	hooksPath = /dev/null
	symlinks = false
	fsmonitor = false
	autocrlf = false
	attributesFile = /dev/null
	excludesFile = /dev/null
	bigFileThreshold = ${LARGEST_SCANNED_FILE}
[diff]
	renames = false
[safe]
	directory = *
[credential]
	helper =
[protocol "ext"]
	allow = never
[submodule]
	recurse = false
[fetch]
	recurseSubmodules = false
[init]
	defaultBranch = main
	templateDir =
[gc]
	auto = 0
[maintenance]
	auto = false
[advice]
	detachedHead = false
[http]
	lowSpeedLimit = 1000
	lowSpeedTime = 60
`;

/** Writes the configuration into a private folder and answers the variables that make git use it. */
export async function gitEnvironment(folder: string, more = ''): Promise<Record<string, string>> {
  const path = join(folder, 'gitconfig');
  await writeFile(path, GIT_CONFIG + more, { mode: 0o600 });
  return {
    GIT_CONFIG_GLOBAL: path,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_ATTR_NOSYSTEM: '1',
    // What it has replaced would be shown in place of what is there.
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'true',
    SSH_ASKPASS: 'true',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_OPTIONAL_LOCKS: '0',
  };
}

const PROXIES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];

/** Whether the operator leads all traffic through a proxy of theirs: then that one decides what is reached. */
export function hasOwnProxy(env: NodeJS.ProcessEnv): boolean {
  return PROXIES.some((name) => Boolean(env[name] || env[name.toLowerCase()]));
}

/** The environment of a program that goes out by this proxy alone. */
export function throughProxy(env: NodeJS.ProcessEnv, url: string): NodeJS.ProcessEnv {
  const others = Object.entries(env).filter(([name]) => !/^(?:HTTP|HTTPS|ALL|NO)_PROXY$/i.test(name));
  // Some programs look for the one spelling, some for the other.
  const own = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].map((name) => [name, url] as const);
  return Object.fromEntries([...others, ...own]);
}

/** Hosts that the operator's settings of the scanners name, such as a mirror of their databases. */
export function trustedHosts(env: NodeJS.ProcessEnv): Set<string> {
  const values = Object.entries(env).filter(([name]) => /^(?:GRYPE|TRIVY|SEMGREP|ASPM_SEMGREP)_/.test(name));
  const addresses = values.flatMap(([, value = '']) => value.split(','));
  const hosts = addresses.flatMap((value) => {
    const host = /^(?:https?:\/\/)?([^/:@\s]+(?::\d+)?)(?:\/|$)/i.exec(value)?.[1];
    return host?.includes('.') || host?.includes(':') ? [bareHost(host.replace(/:\d+$/, ''))] : [];
  });
  return new Set(hosts);
}
