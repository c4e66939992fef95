/** A policy's answer to one input. */
export type BulkResult =
  /** The package document. */
  | { readonly result: unknown }
  /** Nothing in the package is defined. */
  | { readonly undefined: true }
  | { readonly error: EvaluationError }
  /** Only the reactor can tell: the policy formats a value that can't be told from another here. */
  | { readonly deferred: true };

export interface EvaluationError {
  readonly code: 'policy_conflict' | 'policy_evaluation_error';
  readonly message: string;
}

export interface BulkRequest {
  /** Names the policy. */
  readonly digest: string;
  readonly wasm: Uint8Array;
  /** Rules that are sets, to be sorted. */
  readonly sets: readonly string[];
  /** The inputs' JSON, one after the other, and where each ends. */
  readonly inputs: Uint8Array;
  readonly ends: readonly number[];
  readonly deadlineMs: number;
  readonly memoryPages: number;
  readonly maxOutputBytes: number;
  readonly maxTotalOutputBytes: number;
}
