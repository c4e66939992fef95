import { Worker } from 'node:worker_threads';

/** How a call can end without an answer; the thread that it ran in is gone then. */
export class WorkerFailure extends Error {
  override readonly name = 'WorkerFailure';
  readonly reason: 'deadline_exceeded' | 'memory_exceeded' | 'crashed' | 'closed';

  constructor(reason: WorkerFailure['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What a worker posts: any number of parts, then one end. The first thing that it posts is `ready`. */
export type WorkerMessage<Part, End> =
  | { readonly ready: true }
  | { readonly part: Part }
  | { readonly end: End /** The thread should not be used again. */; readonly worn?: boolean };

interface Call<Part> {
  readonly message: unknown;
  readonly transfer: readonly ArrayBuffer[];
  readonly deadlineMs: number;
  readonly onPart: (part: Part) => void;
}

interface WorkerSpecification {
  /** Path of the thread's entry file. */
  readonly file: string;
  /** What the thread is given; asked again for each thread. */
  readonly data: () => Promise<unknown> | unknown;
  /** MB of JavaScript heap; WebAssembly's memories are no part of it. */
  readonly heapMb: number;
  /** MB of it for what is new; Node's own default is larger. */
  readonly youngMb?: number;
  /** MB of stack: recursion of WebAssembly code takes it too. */
  readonly stackMb: number;
  /** What it works on, as a sentence begins with it. */
  readonly subject?: string;
}

/**
 * A thread that may be lost, for one call at a time. A call that runs past its deadline, out of memory or into a
 * crash takes the thread with it; the next finds a new one. It does not keep the process alive while it has
 * nothing to do.
 */
export class ExpendableWorker<Part, End> {
  readonly #specification: WorkerSpecification;
  #worker: Promise<Worker> | null = null;
  #running: Worker | null = null;
  #closed = false;

  constructor(specification: WorkerSpecification) {
    this.#specification = specification;
  }

  /** Starts the thread where there is none. */
  async start(): Promise<void> {
    await this.#thread();
  }

  /**
   * @param deadlineMs milliseconds, without the start of a thread
   * @throws WorkerFailure, or what kept a thread from starting
   */
  async call(
    message: unknown,
    deadlineMs: number,
    onPart: (part: Part) => void = () => {},
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<End> {
    const worker = await this.#thread();
    worker.ref();
    try {
      return await this.#run(worker, { message, transfer, deadlineMs, onPart });
    } catch (error) {
      this.#worker = null;
      throw error;
    } finally {
      worker.unref();
    }
  }

  /** Ends the thread, and with it what it does. */
  async close(): Promise<void> {
    this.#closed = true;
    const worker = await this.#worker?.catch(() => null);
    await worker?.terminate();
  }

  get #subject(): string {
    return this.#specification.subject ?? 'The policy';
  }

  async #thread(): Promise<Worker> {
    if (this.#closed) throw new WorkerFailure('closed', 'The worker was closed');
    this.#worker ??= this.#start();
    try {
      return await this.#worker;
    } catch (error) {
      this.#worker = null;
      throw error;
    }
  }

  async #start(): Promise<Worker> {
    const { file, data, heapMb, youngMb, stackMb } = this.#specification;
    const worker = new Worker(file, {
      workerData: await data(),
      // What it works on sees nothing of the process that it works for.
      env: {},
      execArgv: [],
      resourceLimits: {
        maxOldGenerationSizeMb: heapMb,
        stackSizeMb: stackMb,
        ...(youngMb !== undefined && { maxYoungGenerationSizeMb: youngMb }),
      },
    });
    // What ends between two calls is replaced by the next one.
    worker.on('error', () => {});
    worker.once('exit', () => {
      if (this.#running === worker) this.#worker = null;
    });
    this.#running = worker;
    await settled<void>(worker, this.#subject, (message, resolve) => {
      if ('ready' in message) resolve();
    });
    return worker;
  }

  async #run(worker: Worker, { message, transfer, deadlineMs, onPart }: Call<Part>): Promise<End> {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      void worker.terminate();
    }, deadlineMs);
    try {
      return await settled<End>(
        worker,
        this.#subject,
        (answer: WorkerMessage<Part, End>, resolve) => {
          if ('part' in answer) onPart(answer.part);
          if (!('end' in answer)) return;
          resolve(answer.end);
          if (answer.worn) this.#discard(worker);
        },
        () => worker.postMessage(message, transfer),
      );
    } catch (error) {
      // A thread that was ended says no more than that it is gone.
      if (!late) throw error;
      throw new WorkerFailure('deadline_exceeded', `${this.#subject} took longer than ${deadlineMs} ms`);
    } finally {
      clearTimeout(timer);
    }
  }

  #discard(worker: Worker): void {
    this.#worker = null;
    void worker.terminate();
  }
}

/** Waits for the message that settles it, and rejects when the thread ends before. */
function settled<T>(
  worker: Worker,
  subject: string,
  // biome-ignore lint/suspicious/noExplicitAny: what a thread posts is what its entry file says.
  onMessage: (message: any, resolve: (value: T) => void) => void,
  begin: () => void = () => {},
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const message = (posted: unknown) => onMessage(posted, finish);
    const error = (cause: unknown) => fail(failureOf(cause, subject));
    const exit = () => fail(new WorkerFailure('crashed', 'The evaluation ended its thread'));
    const lost = () => fail(new WorkerFailure('crashed', 'The answer could not be handed over'));
    const off = () => {
      worker.off('message', message).off('error', error).off('exit', exit).off('messageerror', lost);
    };
    const finish = (value: T) => {
      off();
      resolve(value);
    };
    const fail = (reason: WorkerFailure) => {
      off();
      void worker.terminate();
      reject(reason);
    };
    worker.on('message', message).on('error', error).on('exit', exit).on('messageerror', lost);
    begin();
  });
}

function failureOf(cause: unknown, subject: string): WorkerFailure {
  const text = cause instanceof Error ? cause.message : String(cause);
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ERR_WORKER_OUT_OF_MEMORY' || /out of memory|cannot allocate/i.test(text))
    return new WorkerFailure('memory_exceeded', `${subject} took more memory than allowed`);
  return new WorkerFailure('crashed', `The evaluation crashed: ${text.slice(0, 500)}`);
}
