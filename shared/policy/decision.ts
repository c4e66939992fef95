import type { PolicyKind } from './kinds.ts';

/** What each kind decides by (design 6). */
export const DECISION_OF: Readonly<Record<PolicyKind, string>> = {
  triage: 'decision',
  priority: 'priority',
  ownership: 'owner',
  project: 'project',
  pr_scan: 'decision',
};

/** Different decisions that a run counts by name. */
const MAX_DECISIONS = 50;

/** `reasons`, a set or an array, and `reason`: of each kind what of it is text. */
export function reasonsOf({ reason, reasons }: Readonly<Record<string, unknown>>): string[] {
  const all: unknown[] = [reason, ...(Array.isArray(reasons) ? reasons : [reasons])];
  return all.filter((one) => typeof one === 'string');
}

/** What a policy evaluates to; a document without any rule where it is none. */
export function documentOf(result: unknown): Readonly<Record<string, unknown>> {
  return typeof result === 'object' && result !== null && !Array.isArray(result)
    ? (result as Readonly<Record<string, unknown>>)
    : {};
}

/** Counts decisions as a policy's runs show them: by name, `none` where there was none. */
export function countDecision(counts: Map<string, number>, decision: unknown): void {
  const name = nameOf(decision);
  const counted = counts.has(name) || counts.size < MAX_DECISIONS ? name : 'other';
  counts.set(counted, (counts.get(counted) ?? 0) + 1);
}

function nameOf(decision: unknown): string {
  if (decision === null) return 'none';
  return (typeof decision === 'string' ? decision : JSON.stringify(decision)).slice(0, 100);
}
