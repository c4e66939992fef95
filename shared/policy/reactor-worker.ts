import { parentPort, workerData } from 'node:worker_threads';
import type { WorkerMessage } from '#shared/threads/expendable-worker.ts';
import { makeWasi } from './wasi.ts';

/**
 * The thread that the reactor runs in: a request's JSON comes in, the response's JSON goes out. What traps
 * is thrown, and ends the thread: the instance is of no use after it.
 */

/** Beyond this much memory a thread is replaced when it is idle: WebAssembly never gives any back. */
const WORN_BYTES = 256 * 1024 * 1024;

interface ReactorExports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  alloc(length: number): number;
  run(pointer: number, length: number): bigint;
}

const { module } = workerData as { module: WebAssembly.Module };
const imports = { wasi_snapshot_preview1: makeWasi(() => reactor.memory) };
const reactor = new WebAssembly.Instance(module, imports).exports as unknown as ReactorExports;
reactor._initialize();

function run(request: string): string {
  const bytes = new TextEncoder().encode(request);
  const pointer = reactor.alloc(bytes.length) >>> 0;
  new Uint8Array(reactor.memory.buffer).set(bytes, pointer);
  const answer = BigInt.asUintN(64, reactor.run(pointer, bytes.length));
  const start = Number(answer >> 32n);
  const length = Number(answer & 0xffff_ffffn);
  return new TextDecoder().decode(new Uint8Array(reactor.memory.buffer, start, length));
}

function post(message: WorkerMessage<never, string>): void {
  parentPort?.postMessage(message);
}

parentPort?.on('message', (request: string) => {
  const end = run(request);
  post({ end, worn: reactor.memory.buffer.byteLength > WORN_BYTES });
});
post({ ready: true });
