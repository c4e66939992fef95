/** The repository can't be scanned because it can't be had. The message is for the person who asked for it. */
export class CloneError extends Error {
  override readonly name = 'CloneError';
  readonly code = 'clone_failed';
  /** What the operator's log gets: git's own words. */
  readonly detail: string | null;

  constructor(message: string, detail: string | null = null) {
    super(message);
    this.detail = detail;
  }
}

/** What was to be cloned. */
interface Asked {
  readonly location: string;
  readonly protocol: string;
  readonly credentials: { readonly username: string; readonly password: string } | null;
}

type Explanation = readonly [RegExp, (location: string) => string];

/** git's own words (in English, as `LC_ALL=C` has it) and what a person makes of them. */
const EXPLANATIONS: readonly Explanation[] = [
  [
    /Remote branch .* not found|couldn't find remote ref/i,
    (location) => `The branch does not exist in ${location}.`,
  ],
  [/No space left on device/i, () => 'There is not enough disk space for the clone.'],
  [
    /shallow file has changed|early EOF|unexpected disconnect/i,
    (location) => `The transfer from ${location} broke off.`,
  ],
];

const OF_PATHS: readonly Explanation[] = [
  [
    /does not exist|not a git repository|does not appear to be a git repository|repository .* not found/i,
    (location) => `${location} is no git repository.`,
  ],
];

/**
 * One answer for all that keeps a host from handing out a repository. Whether its name is known, a port is open,
 * or another service is there would tell who names it what is in a network that they can't see.
 */
export function unreachable(location: string): string {
  return (
    `Nothing at ${location} could be cloned: the host is not known or can't be reached (hosts in private ` +
    'networks only where the operator allows it), or it has no git repository with a commit that can be read ' +
    'with the credentials given.'
  );
}

/** The failure for the person who asked; no credentials in it, wherever git may have put them. */
export function explainGitFailure(stderr: string, { location, protocol, credentials }: Asked): CloneError {
  const told = plainly(stderr, credentials);
  const known = (protocol === 'file' ? [...EXPLANATIONS, ...OF_PATHS] : EXPLANATIONS).find(([pattern]) =>
    pattern.test(stderr),
  );
  if (known !== undefined) return new CloneError(known[1](location), told);
  if (protocol === 'file') return new CloneError(`${location} could not be cloned: ${told}`);
  return new CloneError(unreachable(location), told);
}

function plainly(stderr: string, credentials: Asked['credentials']): string {
  const lines = stderr.split('\n').map((line) => line.trim());
  const last =
    lines.findLast((line) => /^(?:fatal|error):/.test(line)) ?? lines.findLast((line) => line !== '');
  const told = (last ?? 'git did not say why').replace(/\/\/[^/@\s]*@/g, '//').slice(0, 300);
  if (credentials === null || credentials.password === '') return told;
  return told.replaceAll(credentials.password, 'REDACTED');
}
