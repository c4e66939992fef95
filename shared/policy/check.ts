import { problemOf } from './decision.ts';
import { divergesInWasm } from './divergent-builtins.ts';
import { externalBuiltins } from './external-builtins.ts';
import { HOSTED_BUILTINS } from './hosted-builtins.ts';
import type { PolicyKind, PolicySource } from './kinds.ts';
import { type PolicyError, type PolicyWarning, policyWarning } from './problem.ts';
import type { Engine, PolicyCheck, ReactorLimits } from './reactor.ts';

/** What is stored with a version of a policy, and what evaluations take. */
export interface CompiledPolicy extends PolicySource {
  readonly wasm: Uint8Array;
  /** Rules that are sets, which WebAssembly leaves unsorted. */
  readonly sets: readonly string[];
  /**
   * `reactor` where WebAssembly would answer differently from OPA, or not at all: the policy calls a builtin
   * that is missing or differs there, or makes arrays of sets or objects in their order.
   */
  readonly evaluator: 'wasm' | 'reactor';
}

export type CheckedPolicy =
  | {
      readonly ok: true;
      readonly errors: readonly [];
      readonly warnings: readonly PolicyWarning[];
      readonly compiled: CompiledPolicy;
    }
  | {
      readonly ok: false;
      /** Of the first step that found something, sorted by row and column, at most 100. */
      readonly errors: readonly PolicyError[];
      readonly warnings: readonly PolicyWarning[];
      readonly compiled: null;
    };

/**
 * What saving a policy asks: syntax, package, compilation, conflicts, in this order (its kind is checked before), and
 * then its WebAssembly.
 * @param samples inputs as evaluations get them, one for each severity; variations are made from them
 */
export async function checkPolicy(
  reactor: Pick<Engine, 'check' | 'compile'>,
  policy: PolicySource & { readonly samples: readonly unknown[] },
  limits: Partial<ReactorLimits> = {},
): Promise<CheckedPolicy> {
  const { kind, rego, samples } = policy;
  const checked = await reactor.check({ kind, rego }, samples, limits);
  const { ok, errors, builtins, sets, orderSensitive } = checked;
  const warnings = inOrder([...checked.warnings, ...unusableDecisions(kind, checked.decided)]);
  if (!ok) return { ok: false, errors, warnings, compiled: null };
  const wasm = await reactor.compile({ kind, rego }, limits);
  if (!(wasm instanceof Uint8Array)) return { ok: false, errors: wasm, warnings, compiled: null };
  const missing = (await externalBuiltins(wasm)).some((name) => !HOSTED_BUILTINS.has(name));
  const evaluator = missing || orderSensitive || builtins.some(divergesInWasm) ? 'reactor' : 'wasm';
  return { ok: true, errors: [], warnings, compiled: { kind, rego, wasm, sets, evaluator } };
}

/** What evaluations would give as an error, one of each rule. It refuses nothing: it may still be worked at. */
function unusableDecisions(kind: PolicyKind, decided: PolicyCheck['decided']): PolicyWarning[] {
  const byPlace = new Map<string, PolicyWarning>();
  for (const { value, row, col } of decided) {
    const message = problemOf(kind, value ?? null);
    const place = `${row}:${col}`;
    if (message !== null && !byPlace.has(place))
      byPlace.set(place, policyWarning({ code: 'unusable_decision', message, row, col }));
  }
  return [...byPlace.values()];
}

function inOrder(warnings: readonly PolicyWarning[]): PolicyWarning[] {
  return warnings.toSorted((a, b) => (a.row ?? 0) - (b.row ?? 0) || (a.col ?? 0) - (b.col ?? 0));
}
