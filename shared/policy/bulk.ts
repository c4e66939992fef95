import { createHash } from 'node:crypto';
import { ExpendableWorker, WorkerFailure } from '#shared/threads/expendable-worker.ts';
import { Turn, Turns } from '#shared/threads/turns.ts';
import type { BulkRequest, BulkResult } from './bulk-messages.ts';
import type { PolicyFiles } from './files.ts';
import { inputJson } from './input-json.ts';

export interface BulkLimits {
  /** Milliseconds for all inputs together, from the call's turn. */
  readonly deadlineMs: number;
  /** Of 64 KiB, for the policy's instance: its code's data, the input and what it computes. */
  readonly memoryPages: number;
  /** Of one result as JSON. */
  readonly maxOutputBytes: number;
  /** Of all results of the call. */
  readonly maxTotalOutputBytes: number;
}

const DEFAULTS: BulkLimits = {
  deadlineMs: 10_000,
  memoryPages: 1024,
  maxOutputBytes: 64 * 1024,
  maxTotalOutputBytes: 64 * 1024 * 1024,
};
/** The thread looks at the clock between inputs; one that runs away is ended by so much later. */
const GRACE_MS = 100;
/** Inputs that go to the thread at once: what is written down of them before is held in memory. */
const INPUTS_PER_CALL = 2000;
/** At once, while organizations wait for each other. */
const MAX_THREADS = 3;

/** The part of a `CompiledPolicy` that is evaluated here. */
export interface BulkPolicy {
  readonly wasm: Uint8Array;
  readonly sets: readonly string[];
}

export type Bulk = ReturnType<typeof createBulk>;
type BulkThread = ExpendableWorker<BulkResult[], number>;

/**
 * Compiled policies in threads, many inputs a call: one thread, and more while organizations wait for each other. It
 * knows nothing of the reactor, so that what only evaluates does not load it.
 */
export function createBulk(files: Pick<PolicyFiles, 'bulkWorker'>) {
  const turns = new Turns(
    () =>
      new ExpendableWorker<BulkResult[], number>({
        file: files.bulkWorker,
        data: () => null,
        heapMb: 512,
        stackMb: 4,
      }),
    MAX_THREADS,
  );
  /** Digests of what callers keep themselves. */
  const digests = new WeakMap<Uint8Array, string>();

  function digestOf(wasm: Uint8Array): string {
    const known = digests.get(wasm);
    if (known !== undefined) return known;
    const digest = createHash('sha256').update(wasm).digest('hex');
    digests.set(wasm, digest);
    return digest;
  }

  async function evaluateSome(
    worker: BulkThread,
    { wasm, sets }: BulkPolicy,
    inputs: readonly unknown[],
    limits: BulkLimits,
  ) {
    const written = write(inputs);
    const request: BulkRequest = { digest: digestOf(wasm), wasm, sets, ...written, ...limits };
    const results: BulkResult[] = [];
    let outputBytes = 0;
    let message = `Not evaluated within ${limits.deadlineMs} ms`;
    try {
      outputBytes = await worker.call(
        request,
        limits.deadlineMs + GRACE_MS,
        (part) => {
          for (const result of part) results.push(result);
        },
        [written.inputs.buffer],
      );
    } catch (error) {
      if (!(error instanceof WorkerFailure) || error.reason === 'closed') throw error;
      if (error.reason !== 'deadline_exceeded') message = error.message;
    }
    while (results.length < inputs.length)
      results.push({ error: { code: 'policy_evaluation_error', message } });
    return { results, outputBytes };
  }

  async function evaluateAll(
    worker: BulkThread,
    policy: BulkPolicy,
    inputs: readonly unknown[],
    limits: BulkLimits,
  ): Promise<BulkResult[]> {
    const results: BulkResult[] = [];
    let { deadlineMs, maxTotalOutputBytes } = limits;
    for (let start = 0; start < inputs.length; start += INPUTS_PER_CALL) {
      const began = performance.now();
      const some = inputs.slice(start, start + INPUTS_PER_CALL);
      const answer = await evaluateSome(worker, policy, some, { ...limits, deadlineMs, maxTotalOutputBytes });
      results.push(...answer.results);
      deadlineMs = Math.max(0, deadlineMs - (performance.now() - began));
      maxTotalOutputBytes -= answer.outputBytes;
    }
    return results;
  }

  const evaluator = (turn: Turn) => ({
    /**
     * One result for each input, in order. A conflict or another failure of one input is that input's alone. What
     * the deadline or a crash left without an answer has a `policy_evaluation_error`.
     * @param policy what `checkPolicy` compiled; the policy stays loaded for the next call
     */
    evaluateMany: (
      policy: BulkPolicy,
      inputs: readonly unknown[],
      limits: Partial<BulkLimits> = {},
    ): Promise<BulkResult[]> =>
      turns.take(turn, (worker) => evaluateAll(worker, policy, inputs, { ...DEFAULTS, ...limits })),
  });

  return {
    ...evaluator(new Turn('')),

    /** The same in turns of an organization's own: its policies don't keep others' waiting for long. */
    onBehalfOf: evaluator,

    /** Ends the threads. */
    close: () => turns.close(),
  };
}

/** JSON of all inputs in one buffer, which changes hands instead of being copied. */
function write(inputs: readonly unknown[]): { inputs: Uint8Array<ArrayBuffer>; ends: number[] } {
  const encoder = new TextEncoder();
  let bytes = new Uint8Array(64 * 1024);
  let length = 0;
  const ends: number[] = [];
  for (const input of inputs) {
    // Nothing stands for what is no JSON.
    const text = inputJson(input) ?? '';
    // UTF-8 takes three bytes at most for a UTF-16 unit.
    const needed = length + text.length * 3;
    if (needed > bytes.length) {
      const larger = new Uint8Array(needed * 2);
      larger.set(bytes.subarray(0, length));
      bytes = larger;
    }
    length += encoder.encodeInto(text, bytes.subarray(length)).written;
    ends.push(length);
  }
  return { inputs: bytes, ends };
}
