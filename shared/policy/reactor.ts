import { createHash } from 'node:crypto';
import { ExpendableWorker, WorkerFailure } from './expendable-worker.ts';
import type { PolicyFiles } from './files.ts';
import { inputJson, NO_JSON } from './input-json.ts';
import { type PolicyKind, packageOf } from './kinds.ts';
import { loadReactor } from './load-reactor.ts';
import { type PolicyError, type PolicyWarning, policyError, policyWarning } from './problem.ts';
import { type ReactorRequest, type ReactorResponse, reactorResponse } from './reactor-messages.ts';

/** Longer sources are refused before they are parsed: a hundred times what policies are. */
const MAX_SOURCE_CHARACTERS = 100_000;

export interface ReactorLimits {
  /** Milliseconds for all of a call. */
  readonly deadlineMs: number;
  /** Of the heap, for one evaluation. The reactor's whole memory ends at 512 MiB, whatever is said here. */
  readonly heapBytes: number;
  /** Of one result as JSON, and of what one evaluation prints. */
  readonly outputBytes: number;
}

const DEFAULTS: ReactorLimits = { deadlineMs: 5000, heapBytes: 96 * 1024 * 1024, outputBytes: 256 * 1024 };
/** The reactor keeps to its deadline by itself where it can; the thread is ended where it can't. */
const GRACE_MS = 250;
/** Prepared policies that are kept. */
const PREPARED = 32;

export interface PrintedLine {
  /** Of the source, from 1. */
  readonly row: number;
  readonly text: string;
}

/** A result, undefined (nothing in the package is defined), or what went wrong; and what was printed. */
export interface ReactorEvaluation {
  readonly result?: unknown;
  readonly errors: readonly PolicyError[];
  readonly output: readonly PrintedLine[];
}

export interface PolicyCheck {
  readonly ok: boolean;
  readonly errors: readonly PolicyError[];
  readonly warnings: readonly PolicyWarning[];
  /** Names of the builtins that the policy calls, where it compiles. */
  readonly builtins: readonly string[];
  /** Names of the rules that are sets: WebAssembly gives them unsorted. */
  readonly sets: readonly string[];
  /** Whether the document depends on the order of sets and objects in any other way. */
  readonly orderSensitive: boolean;
}

export interface PolicySource {
  readonly kind: PolicyKind;
  readonly rego: string;
}

export interface PolicyTest {
  /** Of the rule, `test_…`. */
  readonly name: string;
  readonly row: number;
  /** `pass`: true or defined, and nothing in it false; `error`: it could not be evaluated. */
  readonly outcome: 'pass' | 'fail' | 'error';
  readonly durationMs: number;
  readonly errors: readonly PolicyError[];
  readonly output: readonly PrintedLine[];
}

const REFUSED: PolicyCheck = {
  ok: false,
  errors: [],
  warnings: [],
  builtins: [],
  sets: [],
  orderSensitive: false,
};

export type Reactor = ReturnType<typeof createReactor>;

/**
 * OPA in a thread. Nothing is loaded before the first call, which takes about a second longer. Calls wait for
 * each other; one that runs away or takes too much memory ends alone, and tells so as an error of its policy.
 */
export function createReactor(files: Pick<PolicyFiles, 'reactorWorker' | 'reactor'>) {
  let module: Promise<WebAssembly.Module> | null = null;
  const worker = new ExpendableWorker<never, string>({
    file: files.reactorWorker,
    data: async () => {
      module ??= loadReactor(files.reactor);
      // A failure is not remembered.
      module.catch(() => {
        module = null;
      });
      return { module: await module };
    },
    heapMb: 256,
    stackMb: 16,
  });
  /** Handles of what is prepared, the longest unused first. A new thread knows none of them, and says so. */
  const handles = new Set<string>();

  async function ask(request: ReactorRequest, deadlineMs: number): Promise<ReactorResponse> {
    const answer = await worker.call(write(request), deadlineMs + GRACE_MS);
    const response = reactorResponse.parse(JSON.parse(answer));
    if (response.failure !== undefined)
      throw new WorkerFailure('crashed', `The policy engine failed: ${response.failure}`);
    return response;
  }

  /** The handle is made from the policy, so that it never means another one. */
  async function prepare(handle: string, policy: PolicySource, deadlineMs: number): Promise<ReactorResponse> {
    const response = await ask({ op: 'prepare', handle, ...sourced(policy) }, deadlineMs);
    if (response.errors.length > 0) return response;
    handles.add(handle);
    const [oldest] = handles;
    if (oldest !== undefined && handles.size > PREPARED) {
      handles.delete(oldest);
      await ask({ op: 'release', handle: oldest }, deadlineMs);
    }
    return response;
  }

  async function evaluate(policy: PolicySource, inputs: readonly unknown[], limits: ReactorLimits) {
    const handle = createHash('sha256').update(`${policy.kind}\0${policy.rego}`).digest('hex');
    const request = { op: 'evaluate', handle, inputs, limits: wire(limits) } as const;
    if (handles.delete(handle)) {
      handles.add(handle);
      const response = await ask(request, limits.deadlineMs);
      if (!response.unprepared) return response;
    }
    const prepared = await prepare(handle, policy, limits.deadlineMs);
    return prepared.errors.length > 0 ? prepared : ask(request, limits.deadlineMs);
  }

  /** Halves what a crash took with it, until it is alone with the input that causes it. */
  async function evaluateApart(
    policy: PolicySource,
    inputs: readonly unknown[],
    limits: ReactorLimits,
    until: number,
  ): Promise<ReactorEvaluation[]> {
    const deadlineMs = Math.max(1, Math.floor(until - performance.now()));
    const response = await orErrors(() => evaluate(policy, inputs, { ...limits, deadlineMs }));
    // Lost between two calls: somebody else's policy ended the thread.
    if (response.unprepared) return evaluateApart(policy, inputs, limits, until);
    const [error] = response.errors;
    if (!error)
      return response.results.map(({ errors, ...rest }) => ({ ...rest, errors: errors.map(policyError) }));
    const crashed = error.code === 'crashed' || error.code === 'memory_exceeded';
    if (!crashed || inputs.length === 1) return inputs.map(() => failed(...response.errors.map(policyError)));
    const middle = Math.ceil(inputs.length / 2);
    return [
      ...(await evaluateApart(policy, inputs.slice(0, middle), limits, until)),
      ...(await evaluateApart(policy, inputs.slice(middle), limits, until)),
    ];
  }

  return {
    /**
     * All that is wrong with a policy, of the first of these that finds something: syntax, package, compilation
     * (types, unsafe variables, recursion, builtins that policies may not call), conflicts between rules. Those are
     * looked for with the samples, and with variations of them by the values that the policy compares with.
     * @param samples inputs as evaluations get them, one for each severity
     */
    async check(
      policy: PolicySource,
      samples: readonly unknown[],
      limits: Partial<ReactorLimits> = {},
    ): Promise<PolicyCheck> {
      const refused = tooLong(policy);
      if (refused) return { ...REFUSED, errors: [refused] };
      const { deadlineMs, ...rest } = { ...DEFAULTS, ...limits };
      const response = await orErrors(() =>
        ask(
          { op: 'check', ...sourced(policy), inputs: samples, limits: wire({ deadlineMs, ...rest }) },
          deadlineMs,
        ),
      );
      const errors = response.errors.map(policyError);
      return {
        ok: errors.length === 0,
        errors,
        warnings: response.warnings.map(policyWarning),
        builtins: response.builtins,
        sets: response.sets,
        orderSensitive: response.order_sensitive,
      };
    },

    /** The policy as WebAssembly for `bulk.ts`, or why there is none. */
    async compile(
      policy: PolicySource,
      limits: Partial<ReactorLimits> = {},
    ): Promise<Uint8Array | PolicyError[]> {
      const refused = tooLong(policy);
      if (refused) return [refused];
      const { deadlineMs } = { ...DEFAULTS, ...limits };
      const response = await orErrors(() => ask({ op: 'compile', ...sourced(policy) }, deadlineMs));
      return response.errors.length > 0
        ? response.errors.map(policyError)
        : new Uint8Array(Buffer.from(response.wasm, 'base64'));
    },

    /** One evaluation for each input, in order. Where the policy is refused or the call fails, each tells why. */
    async evaluate(
      policy: PolicySource,
      inputs: readonly unknown[],
      limits: Partial<ReactorLimits> = {},
    ): Promise<ReactorEvaluation[]> {
      const refused = tooLong(policy);
      if (refused) return inputs.map(() => failed(refused));
      const all = { ...DEFAULTS, ...limits };
      const evaluations = await evaluateApart(policy, inputs, all, performance.now() + all.deadlineMs);
      return evaluations.map((evaluation, index) =>
        inputJson(inputs[index]) === null ? failed(policyError(NOT_JSON)) : evaluation,
      );
    },

    /** Runs the policy's rules `test_…`. `errors` are of the policy: with any there are no tests. */
    async runTests(
      policy: PolicySource,
      limits: Partial<ReactorLimits> = {},
    ): Promise<{ errors: PolicyError[]; tests: PolicyTest[] }> {
      const refused = tooLong(policy);
      if (refused) return { errors: [refused], tests: [] };
      const all = { ...DEFAULTS, ...limits };
      const response = await orErrors(() =>
        ask({ op: 'test', ...sourced(policy), limits: wire(all) }, all.deadlineMs),
      );
      const tests = response.tests.map(({ duration_ms, errors, ...rest }) => ({
        ...rest,
        durationMs: duration_ms,
        errors: errors.map(policyError),
      }));
      return { errors: response.errors.map(policyError), tests };
    },

    /** OPA's version, and the builtins that policies may call. */
    async about(): Promise<{ opaVersion: string; builtins: readonly string[] }> {
      const { version, builtins } = await ask({ op: 'version' }, DEFAULTS.deadlineMs);
      return { opaVersion: version, builtins };
    },

    /** Ends the thread. */
    close: () => worker.close(),
  };
}

const NOT_JSON = { code: 'bad_input', message: NO_JSON };

function failed(...errors: PolicyError[]): ReactorEvaluation {
  return { errors, output: [] };
}

/** A call that its policy brought down is an error of the policy, which its author can do something about. */
async function orErrors(call: () => Promise<ReactorResponse>): Promise<ReactorResponse> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof WorkerFailure) || error.reason === 'closed') throw error;
    return reactorResponse.parse({ errors: [{ code: error.reason, message: error.message }] });
  }
}

function sourced({ kind, rego }: PolicySource): { source: string; package: string } {
  return { source: rego, package: packageOf(kind) };
}

function wire({ deadlineMs, heapBytes, outputBytes }: ReactorLimits) {
  return { deadline_ms: deadlineMs, heap_bytes: heapBytes, output_bytes: outputBytes };
}

/** An input that is no JSON is sent as null; its result is not looked at. */
function write(request: ReactorRequest): string {
  if (!('inputs' in request)) return JSON.stringify(request);
  const { inputs, ...rest } = request;
  const texts = inputs.map((input) => inputJson(input) ?? 'null');
  return `${JSON.stringify(rest).slice(0, -1)},"inputs":[${texts.join(',')}]}`;
}

function tooLong({ rego }: PolicySource): PolicyError | null {
  if (rego.length <= MAX_SOURCE_CHARACTERS) return null;
  const message = `The policy has ${rego.length} characters; at most ${MAX_SOURCE_CHARACTERS} are taken`;
  return policyError({ code: 'rego_parse_error', message, row: 1, col: 1 });
}
