/**
 * As much of WASI as Go's runtime needs: clock, randomness, and a place for its last words. There are no
 * files, no network, no arguments and no environment; whoever asks for a file is told that there is none.
 */
const SUCCESS = 0;
const BAD_DESCRIPTOR = 8;
const NOT_SUPPORTED = 58;
const EVENT_BYTES = 32;
const MAX_WORDS = 2000;

/** Thrown where the runtime ends itself: it can't go on, and what it said tells why. */
class ReactorExit extends Error {
  override readonly name = 'ReactorExit';
}

export function makeWasi(memory: () => WebAssembly.Memory): WebAssembly.ModuleImports {
  const view = () => new DataView(memory().buffer);
  let words = '';

  /** Writes the numbers of entries and bytes: none. */
  const none = (count: number, bytes: number) => {
    view().setUint32(count, 0, true);
    view().setUint32(bytes, 0, true);
    return SUCCESS;
  };
  const badDescriptor = () => BAD_DESCRIPTOR;

  return {
    args_get: () => SUCCESS,
    args_sizes_get: none,
    environ_get: () => SUCCESS,
    environ_sizes_get: none,
    clock_time_get(clock: number, _precision: bigint, out: number) {
      const now = clock === 0 ? Date.now() : performance.now();
      view().setBigUint64(out, BigInt(Math.round(now * 1e6)), true);
      return SUCCESS;
    },
    random_get(pointer: number, length: number) {
      // 65,536 bytes are what one call gives.
      for (let done = 0; done < length; done += 65_536) {
        const size = Math.min(65_536, length - done);
        crypto.getRandomValues(new Uint8Array(memory().buffer, pointer + done, size));
      }
      return SUCCESS;
    },
    fd_write(_descriptor: number, vectors: number, count: number, out: number) {
      let written = 0;
      for (let index = 0; index < count; index += 1) {
        const pointer = view().getUint32(vectors + index * 8, true);
        const length = view().getUint32(vectors + index * 8 + 4, true);
        if (words.length < MAX_WORDS)
          words += new TextDecoder().decode(
            new Uint8Array(memory().buffer, pointer, Math.min(length, MAX_WORDS)),
          );
        written += length;
      }
      view().setUint32(out, written, true);
      return SUCCESS;
    },
    proc_exit(code: number) {
      throw new ReactorExit(words.trim().slice(0, MAX_WORDS) || `exit ${code}`);
    },
    sched_yield: () => SUCCESS,
    poll_oneoff(subscriptions: number, events: number, count: number, out: number) {
      // Only sleeping asks, and there is nothing to sleep for: every clock is said to have come.
      for (let index = 0; index < count; index += 1) {
        const event = events + index * EVENT_BYTES;
        new Uint8Array(memory().buffer, event, EVENT_BYTES).fill(0);
        view().setBigUint64(event, view().getBigUint64(subscriptions + index * 48, true), true);
      }
      view().setUint32(out, count, true);
      return SUCCESS;
    },
    fd_close: badDescriptor,
    fd_read: badDescriptor,
    fd_readdir: badDescriptor,
    fd_seek: badDescriptor,
    fd_filestat_get: badDescriptor,
    fd_fdstat_get: badDescriptor,
    fd_fdstat_set_flags: badDescriptor,
    fd_prestat_get: badDescriptor,
    fd_prestat_dir_name: badDescriptor,
    path_filestat_get: () => NOT_SUPPORTED,
    path_readlink: () => NOT_SUPPORTED,
    path_open: () => NOT_SUPPORTED,
  };
}
