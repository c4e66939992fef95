import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mayName } from '#domain/addresses.ts';
import { overruleAttributes } from './attributes.ts';
import { CloneError, explainGitFailure, unreachable } from './clone-failure.ts';
import type { ClonableBy, CloneSource } from './clone-source.ts';
import { credentialConfig, parseSource, REMOTE_PROTOCOLS } from './clone-source.ts';
import { type EgressSettings, wayOut } from './egress.ts';
import { gitEnvironment, LARGEST_SCANNED_FILE, passedEnvironment } from './environment.ts';
import type { ProcessOutcome } from './process.ts';
import { runProcess } from './process.ts';

export { CloneError } from './clone-failure.ts';
export type { ClonableBy } from './clone-source.ts';

export interface CloneRequest {
  /** `https://…`, `http://…`, `file:///…` or a plain path. */
  readonly url: string;
  /** Without it the repository's default branch (a path's checked-out one). */
  readonly branch?: string | undefined;
  /** Exactly this commit instead of the branch's last one. */
  readonly commit?: string | undefined;
  /** Folder for the checkout: it must not exist yet, or be empty. */
  readonly into: string;
  /** All commits of the branch (Gitleaks reads them), not the last one alone. */
  readonly history?: boolean;
  /** Default: https and http. Plain paths count as `file`. */
  readonly protocols?: readonly ClonableBy[];
  readonly credentials?: { readonly username: string; readonly password: string } | undefined;
  readonly limits?: Partial<CloneLimits>;
  /** Which hosts may be reached; default: public ones alone. */
  readonly network?: EgressSettings;
  readonly env?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal | undefined;
}

interface CloneLimits {
  /** Transferred, and again checked out. */
  readonly totalBytes: number;
  /** Larger files are left out of the checkout, and listed. */
  readonly fileBytes: number;
  readonly timeoutMs: number;
}

export interface Clone {
  readonly commit: string;
  /** null where a path's HEAD is detached, or a commit without a branch was asked for. */
  readonly branch: string | null;
  /** What HEAD points at in the repository itself, whichever branch was asked for; null where it does not tell. */
  readonly headBranch: string | null;
  /** Files over the limit, which no scanner sees. */
  readonly skipped: readonly { readonly path: string; readonly bytes: number }[];
}

const DEFAULT_LIMITS: CloneLimits = {
  totalBytes: 2 * 1024 ** 3,
  fileBytes: LARGEST_SCANNED_FILE,
  timeoutMs: 600_000,
};
/** `git ls-tree` tells about 100 bytes a file: half a million of them. */
const LISTING_LIMIT = 64 * 1024 * 1024;

/**
 * Makes a checkout to scan by git itself: of the last commit, or with its history. It has no hooks, no
 * submodules, no LFS contents and no symbolic links (they become plain files), and holds the scanned
 * branch's commits alone, so that a secret on another branch is reported there.
 *
 * Of a path the *committed* state is scanned; what is not committed is not part of it. The clone of a path
 * borrows the objects of the original (`--shared`): it costs the same whatever the history, and writes
 * nothing there. The original must stay in place while the clone is used.
 *
 * Credentials, the ones in the URL included, reach git in a private file that answers for their host alone:
 * they are in no argument, in no output and not in the checkout's configuration.
 * @throws CloneError
 */
export async function cloneRepository(request: CloneRequest): Promise<Clone> {
  const limits = { ...DEFAULT_LIMITS, ...request.limits };
  const env = request.env ?? process.env;
  const source = await parseSource(request.url, request.protocols, request.credentials);
  const network = request.network ?? { policy: 'public' };
  await using cleanup = new AsyncDisposableStack();
  const privateFolder = await mkdtemp(join(env.TMPDIR || tmpdir(), 'aspm-git-'));
  cleanup.defer(() => rm(privateFolder, { recursive: true, force: true }));
  refuseHost(source, network);
  const outside = source.protocol === 'file' ? env : cleanup.use(await wayOut(env, network)).env;
  const config = await credentialConfig(source, privateFolder);
  const environment = {
    ...passedEnvironment(outside),
    ...(await gitEnvironment(privateFolder, config)),
    // The operator's own `.netrc`, keys and helpers are offered to nobody's host.
    HOME: privateFolder,
    GIT_ALLOW_PROTOCOL: (request.protocols ?? REMOTE_PROTOCOLS).join(':'),
    // Its messages are read.
    LC_ALL: 'C',
  };
  const git = new Git(source, request.into, environment, limits, request.signal);
  return await checkOut(git, request, limits);
}

/** @throws CloneError for a host that may not be named */
function refuseHost({ protocol, location }: CloneSource, { policy }: EgressSettings): void {
  if (protocol === 'file') return;
  const { hostname } = new URL(location);
  if (!mayName(hostname, policy))
    throw new CloneError(unreachable(location), `${hostname} may not be reached from here`);
}

async function checkOut(git: Git, request: CloneRequest, limits: CloneLimits): Promise<Clone> {
  const { branch: wanted, commit: exact, into, history = false } = request;
  const shallow = history || git.source.protocol === 'file' ? [] : ['--depth=1'];
  const single = ['--single-branch', '--no-tags', ...(wanted === undefined ? [] : [`--branch=${wanted}`])];
  const local = git.source.protocol === 'file' ? ['--shared'] : [];
  await mkdir(into, { recursive: true });
  const clone = [
    'clone',
    '--quiet',
    '--no-checkout',
    '--no-recurse-submodules',
    ...local,
    ...single,
    ...shallow,
  ];
  await git.run([...clone, '--', git.source.location, '.']);
  const tip = await git.tryRun(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  if (tip === null) throw noCommit(git.source);
  const branch = await git.tryRun(['symbolic-ref', '--quiet', '--short', 'HEAD']);
  const commit = exact === undefined ? tip : await moveTo(git, exact, history);
  await overruleAttributes(into);
  const skipped = await writeFiles(git, limits);
  const headBranch = wanted === undefined ? branch : await readHead(git);
  return { commit, branch: exact === undefined ? branch : (wanted ?? null), headBranch, skipped };
}

/** Over HTTP any page can pass for an empty repository: to say so would tell that there is one. */
function noCommit({ protocol, location }: CloneSource): CloneError {
  return protocol === 'file'
    ? new CloneError(`${location} has no commit yet: there is nothing to scan.`)
    : new CloneError(unreachable(location), 'the repository has no commit');
}

/** One more question to the repository, where another branch than HEAD's may have been cloned. */
async function readHead(git: Git): Promise<string | null> {
  const answer = await git.tryRun(['ls-remote', '--symref', '--', git.source.location, 'HEAD']);
  return /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(answer ?? '')?.[1] ?? null;
}

/** Makes a commit the only thing that the clone refers to, so that no scanner reads past it. */
async function moveTo(git: Git, commit: string, history: boolean): Promise<string> {
  if (!/^[0-9a-f]{7,64}$/.test(commit)) throw new CloneError(`"${commit.slice(0, 64)}" is no commit id.`);
  const resolveCommit = () => git.tryRun(['rev-parse', '--verify', '--quiet', `${commit}^{commit}`]);
  let found = await resolveCommit();
  if (found === null && git.source.protocol !== 'file') {
    const depth = history ? [] : ['--depth=1'];
    // Not every server hands out commits by id; the branch's whole history may still have it.
    if ((await git.tryRun(['fetch', '--quiet', '--no-tags', ...depth, 'origin', commit])) === null) {
      await git.tryRun(['fetch', '--quiet', '--no-tags', ...(history ? [] : ['--unshallow']), 'origin']);
    }
    found = await resolveCommit();
  }
  if (found === null) throw new CloneError(`Commit ${commit} is not in ${git.source.location}.`);
  await git.run(['update-ref', '--no-deref', 'HEAD', found]);
  const deletions = await git.run(['for-each-ref', '--format=delete %(refname)']);
  await git.run(['update-ref', '--no-deref', '--stdin'], deletions);
  return found;
}

/** Checks HEAD's files out but for those over the limit: neither git nor a scanner has to hold them. */
async function writeFiles(git: Git, limits: CloneLimits): Promise<Clone['skipped']> {
  const listing = await git.run(['ls-tree', '-r', '-l', '-z', '--full-tree', 'HEAD']);
  const files = listing.split('\0').flatMap((entry) => {
    const parsed = /^\d+ blob [0-9a-f]+ +(\d+)\t(.*)$/s.exec(entry);
    return parsed === null ? [] : [{ path: parsed[2] ?? '', bytes: Number(parsed[1]) }];
  });
  const skipped = files.filter(({ bytes }) => bytes > limits.fileBytes);
  const total = files.reduce((sum, { bytes }) => sum + (bytes > limits.fileBytes ? 0 : bytes), 0);
  if (total > limits.totalBytes) throw git.tooLarge();
  await git.run(['read-tree', 'HEAD']);
  if (skipped.length > 0) {
    const paths = skipped.map(({ path }) => `${path}\0`).join('');
    await git.run(['update-index', '--skip-worktree', '-z', '--stdin'], paths);
  }
  await git.run(['checkout-index', '--all', '--quiet']);
  return skipped;
}

/** git in one working folder, under one deadline and one size limit. */
class Git {
  readonly source: CloneSource;
  readonly #cwd: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #limits: CloneLimits;
  readonly #signal: AbortSignal | undefined;
  readonly #started = performance.now();

  constructor(
    source: CloneSource,
    cwd: string,
    env: NodeJS.ProcessEnv,
    limits: CloneLimits,
    signal: AbortSignal | undefined,
  ) {
    this.source = source;
    this.#cwd = cwd;
    this.#env = env;
    this.#limits = limits;
    this.#signal = signal;
  }

  /** Standard output as it is. @throws CloneError */
  async run(args: readonly string[], input?: string): Promise<string> {
    const outcome = await this.#start(args, input);
    if (outcome.exitCode === 0 && outcome.stopped === null) return outcome.stdout;
    throw this.#failure(outcome);
  }

  /** The trimmed output, or null where git says no; being stopped is a failure even so. */
  async tryRun(args: readonly string[]): Promise<string | null> {
    const outcome = await this.#start(args);
    if (outcome.stopped !== null || outcome.startError !== null) throw this.#failure(outcome);
    return outcome.exitCode === 0 ? outcome.stdout.trim() : null;
  }

  tooLarge(): CloneError {
    const limit = Math.round(this.#limits.totalBytes / 1024 ** 2);
    return new CloneError(`${this.source.location} is larger than the limit of ${limit} MB.`);
  }

  #start(args: readonly string[], input?: string): Promise<ProcessOutcome> {
    return runProcess({
      file: 'git',
      args,
      cwd: this.#cwd,
      env: this.#env,
      ...(input !== undefined && { input }),
      timeoutMs: this.#limits.timeoutMs - (performance.now() - this.#started),
      signal: this.#signal,
      stdoutLimit: LISTING_LIMIT,
      exceeded: async () => (await packedBytes(this.#cwd)) > this.#limits.totalBytes,
    });
  }

  #failure(outcome: ProcessOutcome): CloneError {
    if (outcome.stopped === 'limit') return this.tooLarge();
    if (outcome.stopped === 'abort') return new CloneError('The clone was cancelled.');
    if (outcome.stopped === 'timeout') {
      const seconds = Math.round(this.#limits.timeoutMs / 1000);
      return new CloneError(`${this.source.location} could not be cloned within ${seconds} s.`);
    }
    if (outcome.startError !== null)
      return new CloneError(`git could not be started (${outcome.startError}).`);
    return explainGitFailure(outcome.stderr, this.source);
  }
}

/** Packs, the one that is coming in included. */
async function packedBytes(folder: string): Promise<number> {
  const packs = join(folder, '.git', 'objects', 'pack');
  const names = await readdir(packs).catch(() => []);
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(packs, name)).then(
        (found) => found.size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
