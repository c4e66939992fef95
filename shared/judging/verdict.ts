import type { Verdict } from '#domain/judgement.ts';
import { type Placement, routeTo } from '#domain/placement.ts';
import { beginningOf, decisionOf, documentOf, problemOf, reasonsOf } from '#shared/policy/decision.ts';
import type { PolicyResult } from '#shared/policy/evaluate.ts';
import type { PolicyKind } from '#shared/policy/kinds.ts';
import type { NamedProjects } from './named-projects.ts';

/** Characters of a decision, and of a reason, that a finding keeps: two names of projects and what is between them. */
const MAX_DECISION = 401;
const MAX_REASON = 500;

/** What an evaluation came to: what it decided, or why it decided nothing that can be used. */
export type Opinion = Pick<Verdict, 'decision' | 'reason' | 'route'> & {
  readonly problem: { readonly code: string; readonly message: string } | null;
};

/** Reads what a kind decides by out of a policy's document (design 6). */
export function opinionOf(kind: PolicyKind, evaluation: PolicyResult): Opinion {
  if ('error' in evaluation) return failed(evaluation.error);
  const result = 'result' in evaluation ? evaluation.result : null;
  const decision = decisionOf(kind, result);
  // A reason without a decision is none.
  if (decision === null) return { decision: null, reason: null, problem: null };
  const message = problemOf(kind, decision);
  if (message !== null) return failed({ code: 'policy_evaluation_error', message });
  const reasons = reasonsOf(documentOf(result));
  return {
    decision: typeof decision === 'number' ? decision : beginningOf(String(decision), MAX_DECISION),
    reason: reasons.length === 0 ? null : beginningOf(reasons.join('; '), MAX_REASON),
    problem: null,
  };
}

/** The same with where the project is that it names; an error where there is none. */
export async function placed(
  opinion: Opinion,
  asset: Placement,
  namedProjects: NamedProjects,
): Promise<Opinion> {
  if (typeof opinion.decision !== 'string') return opinion;
  const found = await namedProjects(opinion.decision);
  if ('problem' in found) return failed({ code: 'policy_evaluation_error', message: found.problem });
  return { ...opinion, route: found.route === routeTo(asset) ? null : found.route };
}

function failed(problem: { readonly code: string; readonly message: string }): Opinion {
  return { decision: null, reason: null, problem };
}
