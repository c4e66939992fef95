import { type LoadedPolicy, loadPolicy } from '@open-policy-agent/opa-wasm';
import type { BulkResult, EvaluationError } from './bulk-messages.ts';
import { hostedBuiltins } from './hosted-builtins.ts';
import { NO_JSON } from './input-json.ts';
import { isTooDeep } from './json-depth.ts';
import { sortSets } from './sort-sets.ts';

/** Policies that are kept ready, the longest unused going first. */
const KEPT = 16;
/** Pages of 64 KiB that an instance starts with: the SDK's own default. */
const INITIAL_PAGES = 5;
/** A policy that defers more than this, and most of its inputs, gets no more tries: the next will be deferred too. */
const DEFERRALS = 16;

interface PolicyExports {
  opa_eval(...values: number[]): number;
}

class RefusedOutput extends Error {}

export class LoadedPolicies {
  readonly #policies = new Map<string, RunningPolicy>();

  async get(digest: string, wasm: Uint8Array, memoryPages: number): Promise<RunningPolicy> {
    const key = `${digest}/${memoryPages}`;
    let policy = this.#policies.get(key);
    this.#policies.delete(key);
    policy ??= new RunningPolicy(await WebAssembly.compile(new Uint8Array(wasm)), memoryPages);
    this.#policies.set(key, policy);
    const [oldest] = this.#policies.keys();
    if (oldest !== undefined && this.#policies.size > KEPT) this.#policies.delete(oldest);
    return policy;
  }
}

/** A policy with an instance to run it in, which is replaced whenever an evaluation was thrown out of it. */
class RunningPolicy {
  readonly #module: WebAssembly.Module;
  readonly #memoryPages: number;
  #instance: LoadedPolicy | null = null;
  #limit = 0;
  #size = 0;
  #deferred = false;
  #deferrals = 0;
  #evaluations = 0;

  constructor(module: WebAssembly.Module, memoryPages: number) {
    this.#module = module;
    this.#memoryPages = memoryPages;
  }

  /**
   * @param input JSON
   * @param sets rules that are sets
   */
  async evaluate(
    input: ArrayBuffer,
    maxOutputBytes: number,
    sets: readonly string[],
  ): Promise<{ result: BulkResult; bytes: number }> {
    if (input.byteLength === 0) return { result: { error: evaluationError(NO_JSON) }, bytes: 0 };
    this.#evaluations += 1;
    if (this.#deferrals > DEFERRALS && this.#deferrals > this.#evaluations / 2) return this.#defer();
    this.#limit = maxOutputBytes;
    this.#size = 0;
    this.#deferred = false;
    try {
      this.#instance ??= await this.#load();
      // An array of as many results as the document has: one or none.
      const results = this.#instance.evaluate(input);
      const [first] = Array.isArray(results) ? results : [];
      if (this.#deferred || (first !== undefined && !sortSets(first.result, sets))) return this.#defer();
      return {
        result: first === undefined ? { undefined: true } : { result: first.result },
        bytes: this.#size,
      };
    } catch (thrown) {
      // What was thrown left the instance's own stack as it stood.
      this.#instance = null;
      return { result: { error: errorOf(thrown) }, bytes: 0 };
    }
  }

  #defer(): { result: BulkResult; bytes: number } {
    this.#deferrals += 1;
    return { result: { deferred: true }, bytes: 0 };
  }

  async #load(): Promise<LoadedPolicy> {
    const memory = { initial: INITIAL_PAGES, maximum: this.#memoryPages };
    const builtins = hostedBuiltins(() => {
      this.#deferred = true;
    });
    const policy = await loadPolicy(this.#module, memory, builtins);
    this.#measureOutput(policy);
    return policy;
  }

  /** The SDK parses whatever comes out; between the two its size is looked at. */
  #measureOutput(policy: LoadedPolicy): void {
    const instance = policy.wasmInstance as WebAssembly.Instance;
    const exports = instance.exports as unknown as PolicyExports;
    const opa_eval = (...values: number[]) => {
      const start = exports.opa_eval(...values);
      const bytes = new Uint8Array(policy.mem.buffer);
      const end = bytes.indexOf(0, start);
      this.#size = end - start;
      if (this.#size > this.#limit) throw new RefusedOutput('The result is larger than allowed');
      if (isTooDeep(bytes.subarray(start, end))) throw new RefusedOutput('The result is nested too deeply');
      return start;
    };
    policy.wasmInstance = { exports: { ...instance.exports, opa_eval } } as unknown as WebAssembly.Instance;
  }
}

/** OPA's aborts are plain strings: `policy.rego:7:1: var assignment conflict`. */
function errorOf(thrown: unknown): EvaluationError {
  if (thrown instanceof RefusedOutput) return evaluationError(thrown.message);
  const text = textOf(thrown);
  const conflict = /^(?:[^:]*:(\d+):\d+: )?(?:var assignment|object insert) conflict$/.exec(text);
  if (conflict) {
    const where = conflict[1] === undefined ? '' : ` (line ${conflict[1]})`;
    return { code: 'policy_conflict', message: `Rules give different values for the same input${where}` };
  }
  if (/malloc|memory|could not be cloned|allocation/i.test(text))
    return evaluationError('The policy takes more memory than allowed');
  return evaluationError(`The policy could not be evaluated: ${text.slice(0, 500)}`);
}

function evaluationError(message: string): EvaluationError {
  return { code: 'policy_evaluation_error', message };
}

function textOf(thrown: unknown): string {
  if (typeof thrown === 'object' && thrown !== null && 'message' in thrown) return String(thrown.message);
  return String(thrown);
}
