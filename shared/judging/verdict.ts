import type { Verdict } from '#domain/judgement.ts';
import { DECISION_OF, documentOf, reasonsOf } from '#shared/policy/decision.ts';
import type { PolicyResult } from '#shared/policy/evaluate.ts';
import type { PolicyKind } from '#shared/policy/kinds.ts';

/** Characters of a decision, and of a reason, that a finding keeps. */
const MAX_DECISION = 200;
const MAX_REASON = 500;

/** What an evaluation came to: what it decided, or why it decided nothing that can be used. */
export type Opinion = Pick<Verdict, 'decision' | 'reason'> & {
  readonly problem: { readonly code: string; readonly message: string } | null;
};

/** Reads what a kind decides by out of a policy's document (design 6). */
export function opinionOf(kind: PolicyKind, evaluation: PolicyResult): Opinion {
  if ('error' in evaluation) return failed(evaluation.error);
  const document = documentOf('result' in evaluation ? evaluation.result : null);
  const decision = document[DECISION_OF[kind]] ?? null;
  // A reason without a decision is none.
  if (decision === null) return { decision: null, reason: null, problem: null };
  const reasons = reasonsOf(document);
  const reason = reasons.length === 0 ? null : cut(reasons.join('; '), MAX_REASON);
  const read = kind === 'priority' ? priorityOf(decision) : textOf(decision);
  if (read !== null) return { decision: read, reason, problem: null };
  const wanted = kind === 'priority' ? 'p0 to p4 or a number up to 2^53' : 'a text that is not empty';
  return failed({
    code: 'policy_evaluation_error',
    message: `${DECISION_OF[kind]} must be ${wanted}, not ${cut(JSON.stringify(decision), 100)}`,
  });
}

function failed(problem: { readonly code: string; readonly message: string }): Opinion {
  return { decision: null, reason: null, problem };
}

function priorityOf(decision: unknown): string | number | null {
  if (typeof decision === 'number') return isKeepable(decision) ? decision : null;
  return typeof decision === 'string' && /^p[0-4]$/.test(decision) ? decision : null;
}

/** What the store keeps as it is: neither more digits than a number has, nor next to nothing. */
function isKeepable(number: number): boolean {
  const size = Math.abs(number);
  return size <= Number.MAX_SAFE_INTEGER && (size === 0 || size >= 1e-100);
}

function textOf(decision: unknown): string | null {
  if (typeof decision !== 'string' || decision.trim() === '') return null;
  return cut(decision, MAX_DECISION);
}

/** Whole characters: a store refuses half of one. */
function cut(text: string, length: number): string {
  return text
    .slice(0, length)
    .replace(/[\uD800-\uDBFF]$/, '')
    .toWellFormed();
}
