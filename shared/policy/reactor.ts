import { createHash } from 'node:crypto';
import { WorkerFailure } from '#shared/threads/expendable-worker.ts';
import { Turn, Turns } from '#shared/threads/turns.ts';
import { DECISION_OF } from './decision.ts';
import type { PolicyFiles } from './files.ts';
import { inputJson, NO_JSON } from './input-json.ts';
import { type PolicySource, packageOf } from './kinds.ts';
import { loadReactor } from './load-reactor.ts';
import {
  type PolicyError,
  type PolicyWarning,
  policyError,
  policyWarning,
  type RawProblem,
} from './problem.ts';
import { type ReactorRequest, type ReactorResponse, reactorResponse } from './reactor-messages.ts';
import { ReactorThread } from './reactor-thread.ts';
import { textError } from './source-text.ts';

export interface ReactorLimits {
  /** Milliseconds for all of a call. */
  readonly deadlineMs: number;
  /** Of the heap, for one evaluation. The reactor's whole memory ends at 512 MiB, whatever is said here. */
  readonly heapBytes: number;
  /** Of one result as JSON, and of what one evaluation prints. */
  readonly outputBytes: number;
}

const DEFAULTS: ReactorLimits = { deadlineMs: 5000, heapBytes: 96 * 1024 * 1024, outputBytes: 256 * 1024 };
/** At once, while organizations wait for each other: each takes 150 MB, and up to 512 MiB more. */
const MAX_THREADS = 3;

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
  /** Different values that it decides: constants of its source, and what samples give. */
  readonly decided: readonly { readonly value: unknown; readonly row: number; readonly col: number }[];
  /** Names of the builtins that the policy calls, where it compiles. */
  readonly builtins: readonly string[];
  /** Names of the rules that are sets: WebAssembly gives them unsorted. */
  readonly sets: readonly string[];
  /** Whether the document depends on the order of sets and objects in any other way. */
  readonly orderSensitive: boolean;
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
  decided: [],
  builtins: [],
  sets: [],
  orderSensitive: false,
};

export type Reactor = ReturnType<typeof createReactor>;

/**
 * OPA in threads. Nothing is loaded before the first call, which takes about a second longer. Calls on behalf of
 * one organization wait for each other; while one keeps others waiting, more threads are started. A call that runs
 * away or takes too much memory ends alone, and tells so as an error of its policy.
 */
export function createReactor(files: Pick<PolicyFiles, 'reactorWorker' | 'reactor'>) {
  let module: Promise<WebAssembly.Module> | null = null;
  const data = async () => {
    module ??= loadReactor(files.reactor);
    // A failure is not remembered.
    module.catch(() => {
      module = null;
    });
    return { module: await module };
  };
  const turns = new Turns(
    () => new ReactorThread({ file: files.reactorWorker, data, heapMb: 256, stackMb: 16 }),
    MAX_THREADS,
  );
  return {
    ...engine(turns, new Turn('')),

    /**
     * The same in turns of an organization's own: its calls don't keep others' waiting for long.
     * @throws ServiceError service_unavailable from all of it, where its turn comes too late
     */
    onBehalfOf: (turn: Turn): Engine => engine(turns, turn),

    /** Ends the threads. */
    close: () => turns.close(),
  };
}

export type Engine = ReturnType<typeof engine>;

function engine(turns: Turns<ReactorThread>, turn: Turn) {
  const ask = (request: ReactorRequest, deadlineMs: number) =>
    turns.take(turn, (thread) => thread.ask(request, deadlineMs));

  /** Halves what a crash took with it, until it is alone with the input that causes it. */
  async function evaluateApart(
    thread: ReactorThread,
    policy: PolicySource,
    inputs: readonly unknown[],
    limits: ReactorLimits,
    until: number,
  ): Promise<ReactorEvaluation[]> {
    const deadlineMs = Math.max(1, Math.floor(until - performance.now()));
    const response = await evaluatePrepared(thread, policy, inputs, limits, deadlineMs);
    const [error] = response.errors;
    if (!error)
      return response.results.map(({ errors, ...rest }) => ({ ...rest, errors: errors.map(policyError) }));
    const crashed = error.code === 'crashed' || error.code === 'memory_exceeded';
    if (!crashed || inputs.length === 1) return inputs.map(() => failed(...response.errors.map(policyError)));
    const middle = Math.ceil(inputs.length / 2);
    return [
      ...(await evaluateApart(thread, policy, inputs.slice(0, middle), limits, until)),
      ...(await evaluateApart(thread, policy, inputs.slice(middle), limits, until)),
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
      const refused = textError(policy);
      if (refused) return { ...REFUSED, errors: [refused] };
      const { deadlineMs, ...rest } = { ...DEFAULTS, ...limits };
      const response = await orErrors('Checking the policy', deadlineMs, () =>
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
        decided: response.decided,
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
      const refused = textError(policy);
      if (refused) return [refused];
      const { deadlineMs } = { ...DEFAULTS, ...limits };
      const response = await orErrors('Compiling the policy', deadlineMs, () =>
        ask({ op: 'compile', ...sourced(policy) }, deadlineMs),
      );
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
      const refused = textError(policy);
      if (refused) return inputs.map(() => failed(refused));
      const all = { ...DEFAULTS, ...limits };
      const evaluations = await turns.take(turn, (thread) =>
        evaluateApart(thread, policy, inputs, all, performance.now() + all.deadlineMs),
      );
      return evaluations.map((evaluation, index) =>
        inputJson(inputs[index]) === null ? failed(policyError(NOT_JSON)) : evaluation,
      );
    },

    /** Runs the policy's rules `test_…`. `errors` are of the policy: with any there are no tests. */
    async runTests(
      policy: PolicySource,
      limits: Partial<ReactorLimits> = {},
    ): Promise<{ errors: PolicyError[]; tests: PolicyTest[] }> {
      const refused = textError(policy);
      if (refused) return { errors: [refused], tests: [] };
      const all = { ...DEFAULTS, ...limits };
      const response = await orErrors('The rules test_… together', all.deadlineMs, () =>
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
  };
}

/**
 * The handle is made from the policy, so that it never means another one.
 * @param deadlineMs what is left of the limit
 */
async function evaluatePrepared(
  thread: ReactorThread,
  policy: PolicySource,
  inputs: readonly unknown[],
  limits: ReactorLimits,
  deadlineMs: number,
): Promise<ReactorResponse> {
  const handle = createHash('sha256').update(`${policy.kind}\0${policy.rego}`).digest('hex');
  const request = { op: 'evaluate', handle, inputs, limits: wire({ ...limits, deadlineMs }) } as const;
  const run = () => orErrors('The evaluation', limits.deadlineMs, () => thread.ask(request, deadlineMs));
  if (thread.uses(handle)) {
    const response = await run();
    // A new thread knows nothing of what the one before had prepared.
    if (!response.unprepared) return response;
  }
  const prepared = await orErrors('Compiling the policy', limits.deadlineMs, () =>
    thread.prepare({ op: 'prepare', handle, ...sourced(policy) }, deadlineMs),
  );
  return prepared.errors.length > 0 ? prepared : run();
}

const NOT_JSON = { code: 'bad_input', message: NO_JSON };

function failed(...errors: PolicyError[]): ReactorEvaluation {
  return { errors, output: [] };
}

/**
 * A call that its policy brought down is an error of the policy, which its author can do something about.
 * @param doing what took too long where it took longer than it may
 */
async function orErrors(
  doing: string,
  deadlineMs: number,
  call: () => Promise<ReactorResponse>,
): Promise<ReactorResponse> {
  const response = await call().catch((error: unknown) => {
    if (!(error instanceof WorkerFailure) || error.reason === 'closed') throw error;
    return reactorResponse.parse({ errors: [{ code: error.reason, message: error.message }] });
  });
  const tell = <T extends RawProblem>(problem: T): T =>
    problem.code === 'deadline_exceeded'
      ? { ...problem, message: `${doing} took longer than its limit of ${Math.ceil(deadlineMs)} ms` }
      : problem;
  const within = <T extends { readonly errors: RawProblem[] }>(parts: readonly T[]): T[] =>
    parts.map((part) => ({ ...part, errors: part.errors.map(tell) }));
  return {
    ...response,
    errors: response.errors.map(tell),
    results: within(response.results),
    tests: within(response.tests),
  };
}

function sourced({ kind, rego }: PolicySource) {
  return { source: rego, package: packageOf(kind), rule: DECISION_OF[kind] };
}

function wire({ deadlineMs, heapBytes, outputBytes }: ReactorLimits) {
  return { deadline_ms: deadlineMs, heap_bytes: heapBytes, output_bytes: outputBytes };
}
