/** Codes of the API's catalogue that a policy can fail with. `policy_evaluation_error` is one of ours. */
export type PolicyErrorCode =
  | 'rego_parse_error'
  | 'invalid_package'
  | 'rego_compile_error'
  | 'policy_conflict'
  | 'policy_evaluation_error';

/** Something to say of a policy's source. Rows and columns count from 1, null where it is of no line. */
export interface Remark<Code extends string> {
  readonly code: Code;
  readonly message: string;
  readonly row: number | null;
  readonly col: number | null;
  /** OPA's further lines: types that were had and wanted, the line with a caret, the input of a conflict. */
  readonly details: readonly string[];
  /** The corrected line, or what to do. */
  readonly suggestion: string | null;
}

export interface PolicyError extends Remark<PolicyErrorCode> {
  /** OPA's own code (`rego_type_error`, `rego_unsafe_var_error`, …), or the engine's (`deadline_exceeded`, …). */
  readonly reason: string;
}

/**
 * What refuses nothing: no `import rego.v1`, `=` in a rule's head, what is declared and not used, and a decision that
 * will be an error where findings are judged.
 */
export type PolicyWarning = Remark<'missing_import' | 'equals_in_head' | 'unused' | 'unusable_decision'>;

/** As the reactor tells it. */
export interface RawProblem {
  readonly code: string;
  readonly message: string;
  readonly row?: number;
  readonly col?: number;
  readonly details?: readonly string[];
  readonly suggestion?: string;
}

/** OPA's and the engine's codes that are not `policy_evaluation_error`. */
const CODES: Readonly<Record<string, PolicyErrorCode>> = {
  rego_parse_error: 'rego_parse_error',
  invalid_package: 'invalid_package',
  rego_compile_error: 'rego_compile_error',
  rego_type_error: 'rego_compile_error',
  rego_unsafe_var_error: 'rego_compile_error',
  rego_recursion_error: 'rego_compile_error',
  eval_conflict_error: 'policy_conflict',
};

export function policyError(problem: RawProblem): PolicyError {
  const code = CODES[problem.code] ?? 'policy_evaluation_error';
  return { ...remark(problem), code, reason: problem.code };
}

const WARNINGS = ['missing_import', 'equals_in_head', 'unusable_decision'] as const;

export function policyWarning(problem: RawProblem): PolicyWarning {
  return { ...remark(problem), code: WARNINGS.find((code) => code === problem.code) ?? 'unused' };
}

function remark(problem: RawProblem): Omit<Remark<string>, 'code'> {
  const { message, row = 0, col = 0, details = [], suggestion = null } = problem;
  return { message, row: row > 0 ? row : null, col: row > 0 ? Math.max(1, col) : null, details, suggestion };
}
