import { parentPort } from 'node:worker_threads';
import type { WorkerMessage } from '#shared/threads/expendable-worker.ts';
import type { BulkRequest, BulkResult } from './bulk-messages.ts';
import { LoadedPolicies } from './loaded-policies.ts';

/** The thread that compiled policies run in: parts of the results go out as they come. */
const RESULTS_PER_PART = 512;
/** No result is kept for longer: what is out is safe when a later input runs away. */
const PART_MS = 25;

const policies = new LoadedPolicies();

function post(message: WorkerMessage<BulkResult[], number>): void {
  parentPort?.postMessage(message);
}

async function evaluate(request: BulkRequest): Promise<void> {
  const began = performance.now();
  const policy = await policies.get(request.digest, request.wasm, request.memoryPages);
  let part: BulkResult[] = [];
  let posted = began;
  let room = request.maxTotalOutputBytes;
  let start = 0;
  for (const end of request.ends) {
    const now = performance.now();
    if (part.length >= RESULTS_PER_PART || (part.length > 0 && now - posted > PART_MS)) {
      post({ part });
      part = [];
      posted = now;
    }
    // What is left out here is told by the caller: it counts the results.
    if (now - began > request.deadlineMs) break;
    // A buffer of its own is what the SDK takes for JSON that is made already.
    const input = request.inputs.buffer.slice(start, end) as ArrayBuffer;
    const { result, bytes } = await policy.evaluate(
      input,
      Math.min(request.maxOutputBytes, room),
      request.sets,
    );
    part.push(result);
    room -= bytes;
    start = end;
  }
  post({ part });
  post({ end: request.maxTotalOutputBytes - room });
}

// Thrown into nobody's hands it ends the thread, and with it this call alone.
parentPort?.on('message', (request: BulkRequest) => void evaluate(request));
post({ ready: true });
