import { ExpendableWorker, WorkerFailure } from '#shared/threads/expendable-worker.ts';
import { inputJson } from './input-json.ts';
import { type ReactorRequest, type ReactorResponse, reactorResponse } from './reactor-messages.ts';

/** The reactor keeps to its deadline by itself where it can; the thread is ended where it can't. */
const GRACE_MS = 250;
/** Prepared policies that are kept. */
const PREPARED = 32;

/** The reactor in a thread, for one request at a time, and what is prepared there. */
export class ReactorThread extends ExpendableWorker<never, string> {
  /** Handles, the longest unused first. */
  readonly #prepared = new Set<string>();

  /** @throws WorkerFailure where the thread, or the reactor in it, could not answer */
  async ask(request: ReactorRequest, deadlineMs: number): Promise<ReactorResponse> {
    const answer = await this.call(write(request), deadlineMs + GRACE_MS);
    const response = reactorResponse.parse(JSON.parse(answer));
    if (response.failure !== undefined)
      throw new WorkerFailure('crashed', `The policy engine failed: ${response.failure}`);
    return response;
  }

  /** Whether this handle was prepared; if so, it is the last one to be released. */
  uses(handle: string): boolean {
    if (!this.#prepared.delete(handle)) return false;
    this.#prepared.add(handle);
    return true;
  }

  /** Keeps a policy ready under its handle, and releases the one that was unused for longest. */
  async prepare(
    request: Extract<ReactorRequest, { op: 'prepare' }>,
    deadlineMs: number,
  ): Promise<ReactorResponse> {
    const response = await this.ask(request, deadlineMs);
    if (response.errors.length > 0) return response;
    this.#prepared.add(request.handle);
    const [oldest] = this.#prepared;
    if (oldest !== undefined && this.#prepared.size > PREPARED) {
      this.#prepared.delete(oldest);
      await this.ask({ op: 'release', handle: oldest }, deadlineMs);
    }
    return response;
  }
}

/** An input that is no JSON is sent as null; its result is not looked at. */
function write(request: ReactorRequest): string {
  if (!('inputs' in request)) return JSON.stringify(request);
  const { inputs, ...rest } = request;
  const texts = inputs.map((input) => inputJson(input) ?? 'null');
  return `${JSON.stringify(rest).slice(0, -1)},"inputs":[${texts.join(',')}]}`;
}
