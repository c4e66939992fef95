import type { PolicyKind } from './kinds.ts';

/** What each kind decides by (design 6). */
export const DECISION_OF: Readonly<Record<PolicyKind, string>> = {
  triage: 'decision',
  priority: 'priority',
  ownership: 'owner',
  project: 'project',
  pr_scan: 'decision',
};

/** Of each kind what a decision has to be: other ones are errors of the policy. */
const USABLE: Readonly<Record<PolicyKind, { readonly wanted: string; is(decision: unknown): boolean }>> = {
  // Only accept and reject do something; any other text exempts from broader policies.
  triage: { wanted: 'a text that is not empty', is: isText },
  priority: { wanted: 'p0 to p4 or a number up to 2^53', is: isPriority },
  ownership: { wanted: 'a text that is not empty', is: isText },
  project: { wanted: 'a text that is not empty', is: isText },
  pr_scan: { wanted: 'pass, warn or fail', is: isOutcome },
};

/** Characters of a decision that are shown where it is refused. */
const MAX_SHOWN = 100;

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

/** What a document decides by its kind's rule; null: nothing. */
export function decisionOf(kind: PolicyKind, result: unknown): unknown {
  return documentOf(result)[DECISION_OF[kind]] ?? null;
}

/** Why a decision can't be used, to whoever judges by it or asks; null where it can. */
export function problemOf(kind: PolicyKind, decision: unknown): string | null {
  const { wanted, is } = USABLE[kind];
  return decision === null || is(decision)
    ? null
    : `${DECISION_OF[kind]} must be ${wanted}, not ${beginningOf(show(decision), MAX_SHOWN)}`;
}

/** The first characters, and whole ones: a store refuses half of one. */
export function beginningOf(text: string, length: number): string {
  return text
    .slice(0, length)
    .replace(/[\uD800-\uDBFF]$/, '')
    .toWellFormed();
}

function isText(decision: unknown): boolean {
  return typeof decision === 'string' && decision.trim() !== '';
}

function isOutcome(decision: unknown): boolean {
  return decision === 'pass' || decision === 'warn' || decision === 'fail';
}

function isPriority(decision: unknown): boolean {
  if (typeof decision === 'number') return isKeepable(decision);
  return typeof decision === 'string' && /^p[0-4]$/.test(decision);
}

/** What the store keeps as it is: neither more digits than a number has, nor next to nothing. */
function isKeepable(number: number): boolean {
  const size = Math.abs(number);
  return size <= Number.MAX_SAFE_INTEGER && (size === 0 || size >= 1e-100);
}

/** JSON has no word for what is larger than any number. */
function show(decision: unknown): string {
  return typeof decision === 'number' ? String(decision) : JSON.stringify(decision);
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
