import { isRecord } from '#shared/reports/redact.ts';
import type { CheckoutGit } from './checkout-git.ts';

/**
 * HEAD's files once more, as a commit without parents, or null where there is no HEAD. Gitleaks reads differences
 * between commits, and there are ways to bring a file in that none of them shows: in a merge of three, say.
 */
export async function wholeTree(git: CheckoutGit): Promise<string | null> {
  const who = ['-c', 'user.name=scan', '-c', 'user.email=scan@localhost'];
  return (await git.ask(...who, 'commit-tree', '-m', 'scan', 'HEAD^{tree}'))?.trim() ?? null;
}

/** Gitleaks' report in which what was found in that commit is found in HEAD: nobody else knows the other one. */
export async function withoutWholeTree(
  report: unknown,
  tree: string | null,
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
