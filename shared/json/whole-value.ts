import { ByteSink } from './byte-sink.ts';

const [QUOTE, BACKSLASH, COMMA, COLON_SIGN] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * A small object or list, taken as it stands: finding its end costs a fraction of looking at each name in it.
 * Whether it is JSON turns out when it is parsed.
 */
export class WholeValue {
  readonly #sink = new ByteSink();
  #limit = 0;
  #quoted = false;
  #escaped = false;
  #depth = 0;
  deepest = 0;
  /** Names and values in it, nearly. */
  tokens = 0;

  /** @param limit bytes that it may have */
  begin(limit: number): void {
    this.#sink.cut(0);
    this.#limit = limit;
    this.#quoted = false;
    this.#escaped = false;
    this.#depth = 0;
    this.deepest = 0;
    this.tokens = 0;
  }

  /** Takes what is its own of a piece; answers where that ends. */
  take(chunk: Uint8Array, start: number): number {
    const end = this.#endIn(chunk, start);
    this.#sink.bytes(chunk, start, end);
    return end;
  }

  get complete(): boolean {
    return this.#depth === 0;
  }

  get tooLong(): boolean {
    return this.#sink.length > this.#limit;
  }

  get bytes(): Uint8Array {
    return this.#sink.from(0);
  }

  text(): string {
    return this.#sink.text();
  }

  #endIn(chunk: Uint8Array, start: number): number {
    // No more than it takes to tell that it is too long.
    const most = Math.min(chunk.length, start + this.#limit + 1 - this.#sink.length);
    let at = start;
    let quoted = this.#quoted;
    if (this.#escaped && at < most) at += 1;
    this.#escaped = false;
    for (; at < most; at += 1) {
      const byte = chunk[at] as number;
      if (quoted) {
        if (byte === QUOTE) quoted = false;
        else if (byte === BACKSLASH) at += 1;
      } else if (byte === QUOTE) quoted = true;
      else if (byte === COMMA || byte === COLON_SIGN) this.tokens += 1;
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#open();
      else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        this.#depth -= 1;
        if (this.#depth === 0) return at + 1;
      }
    }
    this.#quoted = quoted;
    this.#escaped = at > most;
    return most;
  }

  #open(): void {
    this.tokens += 1;
    this.#depth += 1;
    if (this.#depth > this.deepest) this.deepest = this.#depth;
  }
}
