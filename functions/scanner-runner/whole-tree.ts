import { isRecord } from '#shared/reports/redact.ts';
import type { CheckoutGit } from './checkout-git.ts';
import { WHOLE_TREE } from './clone.ts';

/**
 * Gitleaks' report in which what was found in HEAD's files as such (see `clone.ts`) is found in HEAD: nobody knows
 * the commit that we made of them.
 */
export async function withoutWholeTree(report: unknown, git: CheckoutGit): Promise<unknown> {
  const told = await git.ask('rev-parse', '--verify', '--quiet', WHOLE_TREE);
  if (told === null || !Array.isArray(report)) return report;
  const head = ((await git.ask('show', '--no-patch', '--format=%H %aI', 'HEAD')) ?? '').trim();
  const [commit, date] = head.split(' ');
  return report.map((leak: unknown) =>
    isRecord(leak) && leak.Commit === told.trim()
      ? { ...leak, Commit: commit, Date: new Date(date ?? '').toISOString() }
      : leak,
  );
}
