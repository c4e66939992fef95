import { hash } from 'node:crypto';
import { normaliseCode } from './normalise.ts';
import { hmac, isMasked } from './redact.ts';
import { compareText } from './result.ts';
import type { Result, Run } from './sarif-log.ts';
import { nameWithoutSecrets } from './secret-shapes.ts';

/** Of a longer message only this much is looked at. */
const LONGEST_MESSAGE = 16 * 1024;

/**
 * What makes it the same result in the next report: its fingerprints, else its partial ones with rule and
 * path, else its code with rule and path (an HMAC: the code can be a secret), else the function that it is
 * in, with rule and path. Never its message: tools reword theirs, and count in them.
 */
export function identityOf(one: Run, item: Result, id: string, path: string, key: string): string {
  const known = usable(item.fingerprints, key);
  if (known) return JSON.stringify([id, known]);
  const partial = usable(partialPrints(one, item), key);
  if (partial) return JSON.stringify([id, path, partial]);
  const snippet = normaliseCode(item.locations?.[0]?.physicalLocation?.region?.snippet?.text ?? '');
  const commit = commitOf(one, item);
  if (snippet !== '') {
    const line = hmac(key, snippet);
    return JSON.stringify([id, path, line, ...(isOnlyMask(snippet) ? commit : [])]);
  }
  const masked = maskedMatch(one, item);
  if (masked !== null) return JSON.stringify([id, path, hmac(key, normaliseCode(masked))]);
  return JSON.stringify([id, path, null, logicalNameOf(one, item), ...commit]);
}

/** Digest of what it says, and where its commit is no part of who it is of that. */
export function saidOf(one: Run, item: Result, key: string): string {
  if (usable(item.fingerprints, key)) return '';
  return hash('sha256', [JSON.stringify(item.message ?? null), ...commitOf(one, item)].join(), 'base64');
}

/** What Gitleaks writes as partial fingerprints: of the commit, which is no part of who a secret is. */
const OF_COMMIT: ReadonlySet<string> = new Set(['commitSha', 'email', 'author', 'date', 'commitMessage']);

function partialPrints(one: Run, { partialFingerprints: prints }: Result) {
  if (!isGitleaks(one)) return prints;
  return Object.fromEntries(Object.entries(prints ?? {}).filter(([name]) => !OF_COMMIT.has(name)));
}

/** Where nothing else is told of a secret, the commit has to tell it from another one. Empty of other tools. */
function commitOf(one: Run, { partialFingerprints: prints }: Result): string[] {
  return prints?.commitSha && isGitleaks(one) ? [prints.commitSha] : [];
}

function isGitleaks({ tool }: Run): boolean {
  return tool.driver.name.toLowerCase().includes('gitleaks');
}

/** Nothing of the line around it. */
function isOnlyMask(snippet: string): boolean {
  return isMasked(snippet) && !/[\s=:]/.test(snippet);
}

/** The line that Trivy's message shows of a secret, masked: part of a fixed text, and all that tells two apart. */
function maskedMatch({ tool }: Run, { message }: Result): string | null {
  if (!tool.driver.name.toLowerCase().includes('trivy')) return null;
  return /^Match: (.*\S.*)$/m.exec(message?.text?.slice(0, LONGEST_MESSAGE) ?? '')?.[1] ?? null;
}

/** Sorted; without what tells nothing (Semgrep writes `requires login`), or null. One that holds a secret is hashed. */
function usable(
  prints: Readonly<Record<string, string>> | null | undefined,
  key: string,
): [string, string][] | null {
  const told = Object.entries(prints ?? {})
    .filter(([, value]) => value.trim() !== '' && value !== 'requires login')
    .map(([name, value]): [string, string] => [
      name,
      nameWithoutSecrets(value) === value ? value : hmac(key, value),
    ])
    .sort(([a], [b]) => compareText(a, b));
  return told.length === 0 ? null : told;
}

/** The function, class or resource that a result is about, where it names one. */
function logicalNameOf({ logicalLocations: shared }: Run, item: Result): string | null {
  const own = item.locations?.[0]?.logicalLocations?.[0];
  for (const one of [own, shared?.[own?.index ?? -1]]) {
    const name = one?.fullyQualifiedName || one?.name;
    if (name) return nameWithoutSecrets(name);
  }
  return null;
}
