import type { Bulk, BulkLimits } from './bulk.ts';
import type { BulkResult, EvaluationError } from './bulk-messages.ts';
import type { CompiledPolicy } from './check.ts';
import type { Engine, ReactorEvaluation } from './reactor.ts';

export type PolicyResult = Exclude<BulkResult, { readonly deferred: true }>;

type Evaluator = Pick<Engine, 'evaluate'>;

interface Evaluators {
  readonly bulk: Pick<Bulk, 'evaluateMany'>;
  /** Asked for only when a policy needs it: what it brings is 40 MB and most of a second. */
  readonly reactor: () => Promise<Evaluator> | Evaluator;
}

/**
 * One result for each input, in order, whoever evaluates: compiled policies in bulk, and in the reactor those, and
 * those inputs, that only OPA itself can tell. Each of the two has the deadline to itself.
 */
export async function evaluateMany(
  { bulk, reactor }: Evaluators,
  policy: CompiledPolicy,
  inputs: readonly unknown[],
  limits: Partial<BulkLimits> = {},
): Promise<PolicyResult[]> {
  const first: BulkResult[] =
    policy.evaluator === 'wasm'
      ? await bulk.evaluateMany(policy, inputs, limits)
      : inputs.map(() => ({ deferred: true }));
  const places = first.flatMap((result, place) => ('deferred' in result ? [place] : []));
  const time = limits.deadlineMs === undefined ? {} : { deadlineMs: limits.deadlineMs };
  const size = limits.maxOutputBytes === undefined ? {} : { outputBytes: limits.maxOutputBytes };
  const deferred =
    places.length === 0
      ? []
      : await (await reactor()).evaluate(
          policy,
          places.map((place) => inputs[place]),
          { ...time, ...size },
        );
  const answers = new Map(places.map((place, index) => [place, deferred[index]]));
  return first.map((result, place) => ('deferred' in result ? fromReactor(answers.get(place)) : result));
}

function fromReactor(evaluation: ReactorEvaluation | undefined): PolicyResult {
  if (!evaluation) return { error: { code: 'policy_evaluation_error', message: 'Not evaluated' } };
  const [first] = evaluation.errors;
  if (first) return { error: evaluationError(first) };
  return 'result' in evaluation ? { result: evaluation.result } : { undefined: true };
}

function evaluationError({ code, message, row }: ReactorEvaluation['errors'][number]): EvaluationError {
  if (code !== 'policy_conflict') return { code: 'policy_evaluation_error', message };
  // The words that bulk has for it: the same policy answers alike, whoever evaluates.
  return {
    code,
    message: `Rules give different values for the same input${row !== null ? ` (line ${row})` : ''}`,
  };
}
