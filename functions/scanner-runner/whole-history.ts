import { isRecord } from '#shared/reports/redact.ts';
import type { CheckoutGit } from './checkout-git.ts';

/** What Gitleaks has git tell it, and the commit that is made for that. */
export interface WholeHistory {
  /** Of `git log -p`. */
  readonly options: readonly string[];
  /** HEAD's files once more, without a history; null where that tells nothing more. */
  readonly tree: string | null;
}

/** Gitleaks' own, which leave out a link that became a file, without that exception. */
const OPTIONS = ['--full-history', '--all', '--diff-filter=duxb'];
/** Where git can tell what a merge of two brought in beyond its sides. */
const SHOWS_MERGES = [2, 35] as const;

/**
 * Gitleaks reads differences between commits, and by itself git shows none of merges: what only these bring in
 * nobody would see. Those of two sides can be shown; where there are others, HEAD's files are shown whole.
 */
export async function wholeHistory(git: CheckoutGit): Promise<WholeHistory> {
  const shown = await showsMerges(git);
  const least = shown ? 3 : 2;
  const merge = await git.ask('rev-list', '--all', '--max-count=1', `--min-parents=${least}`);
  const tree = merge?.trim() ? await commitTree(git) : null;
  const options = [...OPTIONS, ...(shown ? ['--diff-merges=remerge'] : []), ...(tree ? [tree] : [])];
  return { options, tree };
}

async function showsMerges(git: CheckoutGit): Promise<boolean> {
  const [, major, minor] = /(\d+)\.(\d+)/.exec((await git.ask('version')) ?? '')?.map(Number) ?? [0, 0, 0];
  const [neededMajor, neededMinor] = SHOWS_MERGES;
  return (major ?? 0) > neededMajor || (major === neededMajor && (minor ?? 0) >= neededMinor);
}

async function commitTree(git: CheckoutGit): Promise<string | null> {
  const who = ['-c', 'user.name=scan', '-c', 'user.email=scan@localhost'];
  return (await git.ask(...who, 'commit-tree', '-m', 'scan', 'HEAD^{tree}'))?.trim() ?? null;
}

/** Gitleaks' report in which what was found in that commit is found in HEAD: nobody else knows the other one. */
export async function withoutTree(
  report: unknown,
  { tree }: WholeHistory,
  git: CheckoutGit,
): Promise<unknown> {
  if (tree === null || !Array.isArray(report)) return report;
  const told = (await git.ask('show', '--no-patch', '--format=%H %aI', 'HEAD')) ?? '';
  const [commit, date = ''] = told.trim().split(' ');
  // As Gitleaks writes dates: of one commit there is one.
  const written = new Date(date).toISOString().replace('.000Z', 'Z');
  return report.map((leak: unknown) =>
    isRecord(leak) && leak.Commit === tree ? { ...leak, Commit: commit, Date: written } : leak,
  );
}
