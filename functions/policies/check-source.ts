import type * as z from 'zod';
import type { PolicySaved, PolicyValidated } from '#contract/schemas/policies.ts';
import { ServiceError } from '#domain/errors.ts';
import { type CompiledPolicy, checkPolicy } from '#shared/policy/check.ts';
import { POLICY_KINDS, type PolicyKind } from '#shared/policy/kinds.ts';
import type { PolicyError, Remark } from '#shared/policy/problem.ts';
import type { Engine } from '#shared/policy/reactor.ts';
import { SAMPLE_INPUTS } from '#shared/presenters/policy-input.ts';

/** @throws ServiceError invalid_policy_kind */
export function readKind(kind: string): PolicyKind {
  const known = POLICY_KINDS.find((one) => one === kind);
  if (known) return known;
  const message = `kind must be one of ${POLICY_KINDS.join(', ')}`;
  throw new ServiceError('invalid_policy_kind', message, { details: [{ field: 'kind', message }] });
}

/**
 * What a save asks of a source: syntax, package, compilation, conflicts; and what it compiles to.
 * @throws ServiceError of the first of these that finds something, with a detail for each error
 */
export async function compileSource(
  engine: Engine,
  kind: PolicyKind,
  rego: string,
): Promise<{ compiled: CompiledPolicy; warnings: z.input<typeof PolicySaved>['warnings'] }> {
  const checked = await checkPolicy(engine, { kind, rego, samples: SAMPLE_INPUTS });
  if (!checked.ok) throw refusal(checked.errors);
  return { compiled: checked.compiled, warnings: checked.warnings.map(presentRemark) };
}

/** All that is wrong with a source, and what could be better, without an error. */
export async function validateSource(
  engine: Engine,
  kind: PolicyKind,
  rego: string,
): Promise<z.input<typeof PolicyValidated>> {
  const { ok, errors, warnings } = await checkPolicy(engine, { kind, rego, samples: SAMPLE_INPUTS });
  return { valid: ok, errors: errors.map(presentRemark), warnings: warnings.map(presentRemark) };
}

type Placed = Pick<Remark<string>, 'row'>;

/** The error of a source, or of an evaluation, that the engine refused. */
export function refusal(errors: readonly PolicyError[]): ServiceError {
  const [first] = errors;
  if (!first) return new ServiceError('policy_evaluation_error', 'The policy could not be evaluated');
  const suggestions = errors.flatMap((error) =>
    error.suggestion === null ? [] : [`${placeOf(error)}${error.suggestion}`],
  );
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return new ServiceError(first.code, `${placeOf(first)}${first.message}${more}`, {
    details: errors.map(presentDetail),
    // Two errors of one line have the same corrected line.
    ...(suggestions.length > 0 && { suggestion: [...new Set(suggestions)].join('\n') }),
  });
}

function presentDetail({ message, row, col, details }: PolicyError) {
  return {
    field: fieldOf({ row }),
    message: [message, ...details.filter((detail) => !message.includes(detail))].join('\n'),
    ...(row !== null && { row }),
    ...(col !== null && { col }),
  };
}

function placeOf({ row }: Placed): string {
  return row === null ? '' : `line ${row}: `;
}

function presentRemark(remark: Remark<string>) {
  const { code, message, row, col, suggestion } = remark;
  return { code, field: fieldOf(remark), message, row, col, suggestion };
}

function fieldOf({ row }: Placed): string {
  return row === null ? 'rego' : `line ${row}`;
}
