import { toOpaque } from '#domain/ids.ts';
import type { PolicyError } from '#shared/policy/problem.ts';
import type { PolicyTest } from '#shared/policy/reactor.ts';
import { type Evaluation, errorOf } from './evaluate.ts';

/** An evaluation as Family A shows it. */
export function presentEvaluation(evaluation: Evaluation) {
  const { failures: _, unusable: __, ...shown } = evaluation;
  const error = errorOf(evaluation);
  return { ...shown, error: error && presentFailure(error) };
}

/** The same as Family B shows it. */
export function presentOpaque(evaluation: Evaluation) {
  const { policy_id, finding_id } = evaluation;
  return {
    ...presentEvaluation(evaluation),
    policy_id: policy_id && toOpaque('policy', policy_id),
    finding_id: finding_id && toOpaque('finding', finding_id),
  };
}

export function presentTest({ name, row, outcome, durationMs, output, errors }: PolicyTest) {
  return {
    name,
    row,
    outcome,
    duration_ms: durationMs,
    output: [...output],
    errors: errors.map(presentFailure),
  };
}

function presentFailure({ code, message, row, col }: PolicyError) {
  return { code, message, row, col };
}
