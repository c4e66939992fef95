/** The repository can't be scanned because it can't be had. The message is for the person who asked for it. */
export class CloneError extends Error {
  override readonly name = 'CloneError';
  readonly code = 'clone_failed';
}

/** git's own words (in English, as `LC_ALL=C` has it) and what a person makes of them. */
const EXPLANATIONS: readonly (readonly [RegExp, (location: string) => string])[] = [
  [
    /Remote branch .* not found|couldn't find remote ref/i,
    (location) => `The branch does not exist in ${location}.`,
  ],
  [/Could not resolve host/i, (location) => `The host of ${location} is not known.`],
  [
    /Failed to connect|Connection refused|Connection timed out|Couldn't connect|Network is unreachable|Operation timed out|Connection reset/i,
    (location) => `The host of ${location} can't be reached.`,
  ],
  [
    /Authentication failed|could not read (?:Username|Password)|terminal prompts disabled|Permission denied \(|HTTP 40[13]|error: 40[13]|Host key verification failed/i,
    (location) => `${location} does not exist, or asks for credentials that were not given.`,
  ],
  [/SSL|certificate/i, (location) => `The certificate of ${location} could not be verified.`],
  [
    /does not exist|not a git repository|does not appear to be a git repository|repository .* not found|error: 404/i,
    (location) => `${location} is no git repository.`,
  ],
  [/transport .* not allowed/i, (location) => `Addresses like ${location} can't be scanned here.`],
  [/No space left on device/i, () => 'There is not enough disk space for the clone.'],
  [
    /shallow file has changed|early EOF|unexpected disconnect/i,
    (location) => `The transfer from ${location} broke off.`,
  ],
];

/** A sentence for the person who asked; never the credentials, wherever git may have put them. */
export function explainGitFailure(
  stderr: string,
  location: string,
  credentials: { readonly username: string; readonly password: string } | null,
): string {
  const known = EXPLANATIONS.find(([pattern]) => pattern.test(stderr));
  if (known !== undefined) return known[1](location);
  const lines = stderr.split('\n').map((line) => line.trim());
  const last =
    lines.findLast((line) => /^(?:fatal|error):/.test(line)) ?? lines.findLast((line) => line !== '');
  let told = (last ?? 'git did not say why').replace(/\/\/[^/@\s]*@/g, '//').slice(0, 300);
  if (credentials !== null && credentials.password !== '')
    told = told.replaceAll(credentials.password, 'REDACTED');
  return `${location} could not be cloned: ${told}`;
}
