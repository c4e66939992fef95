import { createHash, type Hash } from 'node:crypto';
import { ByteSink } from './byte-sink.ts';
import { NameReader } from './name-reader.ts';
import { JsonRefused } from './refused.ts';
import { isScalar } from './scalar.ts';
import { WholeValue } from './whole-value.ts';

/**
 * What is kept of a JSON value. Members and elements that it does not speak of are gone through without being
 * kept; a value of another kind than it speaks of is kept as an empty one of its kind, and a scalar as it is.
 */
export interface Shape {
  readonly members?: ReadonlyMap<string, Shape>;
  /** Of members that `members` does not name. */
  readonly others?: Shape;
  readonly elements?: Shape;
  /** Elements that are kept; more are left out, or refused where the list is handed over or `strict`. */
  readonly most?: number;
  readonly strict?: boolean;
  /** Elements are handed over one by one under this name, and none stays in the list. */
  readonly handOver?: string;
  /** Elements of so many bytes at most are handed over as they stand. */
  readonly whole?: number;
}

export interface JsonLimits {
  /** Names and values. */
  readonly tokens: number;
  readonly depth: number;
  /** Bytes of a text; of a longer one its beginning is kept, and a digest of the whole. */
  readonly text: number;
  /** Bytes that are kept of one element that is handed over, or of the rest. */
  readonly item: number;
  /** Bytes that are kept in all. */
  readonly kept: number;
}

interface Frame {
  readonly isObject: boolean;
  readonly shape: Shape | null;
  /** Kept of it. */
  count: number;
  seen: number;
  /** Lists in it that are handed over. */
  lists?: Set<string>;
}

/** What may come next. */
const [VALUE, FIRST_VALUE, FIRST_NAME, NAME, COLON, NEXT, NOTHING] = [0, 1, 2, 3, 4, 5, 6];
const [STRUCTURE, TEXT, SCALAR, WHOLE] = [0, 1, 2, 3];
/** No number is that long; `1e999999` is read as JSON reads it. */
const LONGEST_SCALAR = 512;
const [TAB, LINE, RETURN, SPACE] = [0x09, 0x0a, 0x0d, 0x20];
const [QUOTE, BACKSLASH, COMMA, COLON_SIGN] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Reads JSON piece by piece, and never makes more of it than it was asked to keep: what it is given may be
 * anything. It counts what costs (names, values, depth), and refuses at a bound before that was spent. What is
 * kept is handed over as JSON.
 */
export class JsonFilter {
  readonly #limits: JsonLimits;
  readonly #hand: (name: string, json: string) => void;
  readonly #frames: Frame[] = [];
  /** One for each element that is open, and the rest; they are used again. */
  readonly #sinks: ByteSink[] = [new ByteSink()];
  #inner = 0;
  readonly #name = new NameReader();
  readonly #whole = new WholeValue();
  #mode = STRUCTURE;
  #expect = VALUE;
  #tokens = 0;
  #kept = 0;
  /** Of the value that comes next; null where it is not kept. */
  #shape: Shape | null;
  #escaped = false;
  #textStart = 0;
  #digest: Hash | null = null;
  #scalar = '';

  /** @param hand takes the elements that are handed over, inner ones before those that they are in */
  constructor(shape: Shape, limits: JsonLimits, hand: (name: string, json: string) => void) {
    this.#shape = shape;
    this.#limits = limits;
    this.#hand = hand;
  }

  /** @throws JsonRefused */
  write(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#mode === STRUCTURE) at = this.#readStructure(chunk, at);
      else if (this.#mode === WHOLE) at = this.#readWhole(chunk, at);
      else if (this.#mode === SCALAR) at = this.#readScalar(chunk, at);
      else if (this.#expect === COLON) at = this.#readName(chunk, at);
      else at = this.#readText(chunk, at);
    }
  }

  /** @returns what was kept and not handed over @throws JsonRefused */
  end(): string {
    if (this.#mode === SCALAR) this.#endScalar();
    if (this.#mode !== STRUCTURE || this.#expect !== NOTHING) throw brokenOff();
    return this.#sink.text();
  }

  get #sink(): ByteSink {
    return this.#sinks[this.#inner] as ByteSink;
  }

  get #frame(): Frame | undefined {
    return this.#frames[this.#frames.length - 1];
  }

  #readStructure(chunk: Uint8Array, start: number): number {
    for (let at = start; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      if (byte === SPACE || byte === LINE || byte === RETURN || byte === TAB) continue;
      if (byte === COMMA) this.#next();
      else if (byte === COLON_SIGN) this.#colon();
      else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) this.#close(byte);
      else if (byte === QUOTE) {
        this.#openText();
        return at + 1;
      } else {
        const most = this.#frame?.isObject ? 0 : this.#frame?.shape?.whole;
        if (most && (byte === OPEN_OBJECT || byte === OPEN_LIST)) {
          this.#whole.begin(most);
          this.#mode = WHOLE;
          return at;
        }
        this.#openValue();
        if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#open(byte);
        else {
          this.#mode = SCALAR;
          return at;
        }
      }
    }
    return chunk.length;
  }

  /** An element that is small is handed over as it stands; any other is read from its beginning. */
  #readWhole(chunk: Uint8Array, start: number): number {
    const whole = this.#whole;
    const end = whole.take(chunk, start);
    if (whole.tooLong) {
      this.#openValue();
      this.#mode = STRUCTURE;
      const bytes = whole.bytes.slice();
      this.#open(bytes[0] as number);
      this.write(bytes.subarray(1));
    } else if (whole.complete) {
      this.#mode = STRUCTURE;
      this.#openValue();
      this.#countTokens(whole.tokens);
      this.#checkDepth(this.#frames.length + whole.deepest);
      if (this.#shape) this.#sink.bytes(whole.bytes, 0, whole.bytes.length);
      this.#endValue();
    }
    return end;
  }

  #next(): void {
    const frame = this.#frame;
    if (this.#expect !== NEXT || !frame) throw noJson();
    this.#expect = frame.isObject ? NAME : VALUE;
  }

  #colon(): void {
    if (this.#expect !== COLON) throw noJson();
    this.#expect = VALUE;
  }

  #countTokens(count: number): void {
    this.#tokens += count;
    if (this.#tokens > this.#limits.tokens)
      throw new JsonRefused('too_large', `holds more than ${shown(this.#limits.tokens)} names and values`);
  }

  /** Whatever the value is: whether it is kept, and what stands before it. */
  #openValue(): void {
    if (this.#expect !== VALUE && this.#expect !== FIRST_VALUE) throw noJson();
    this.#countTokens(1);
    const frame = this.#frame;
    if (!frame?.shape) return;
    if (!frame.isObject) {
      frame.seen += 1;
      const { elements, most = Number.POSITIVE_INFINITY, handOver } = frame.shape;
      this.#shape = elements && frame.seen <= most ? elements : null;
      if (!this.#shape) return;
      if (handOver !== undefined) {
        this.#inner += 1;
        this.#sinks[this.#inner] ??= new ByteSink();
        this.#sink.cut(0);
        return;
      }
    }
    if (!this.#shape) return;
    if (frame.count > 0) this.#sink.byte(COMMA);
    frame.count += 1;
    if (!frame.isObject) return;
    this.#sink.byte(QUOTE);
    this.#sink.bytes(this.#name.bytes, 0, this.#name.length);
    this.#sink.byte(QUOTE);
    this.#sink.byte(COLON_SIGN);
  }

  #checkDepth(depth: number): void {
    if (depth > this.#limits.depth)
      throw new JsonRefused('too_deep', `is nested more than ${this.#limits.depth} levels deep`);
  }

  #open(byte: number): void {
    this.#checkDepth(this.#frames.length + 1);
    const isObject = byte === OPEN_OBJECT;
    if (this.#shape) this.#sink.byte(byte);
    this.#frames.push({ isObject, shape: this.#shape, count: 0, seen: 0 });
    this.#shape = null;
    this.#expect = isObject ? FIRST_NAME : FIRST_VALUE;
  }

  #close(byte: number): void {
    const frame = this.#frames.pop();
    const first = this.#expect === FIRST_NAME || this.#expect === FIRST_VALUE;
    if (!frame || (!first && this.#expect !== NEXT)) throw noJson();
    if (frame.isObject !== (byte === CLOSE_OBJECT)) throw noJson();
    const { shape } = frame;
    if (shape) {
      this.#sink.byte(byte);
      const { handOver, strict, most = Number.POSITIVE_INFINITY } = shape;
      if (frame.seen > most && (strict || handOver !== undefined))
        throw tooMany(handOver?.split('.').at(-1) ?? 'elements in a list', frame.seen, most);
    }
    this.#endValue();
  }

  #endValue(): void {
    const frame = this.#frame;
    this.#expect = frame ? NEXT : NOTHING;
    const sink = this.#sink;
    if (sink.length > this.#limits.item)
      throw new JsonRefused('too_large', `has a part of more than ${megabytes(this.#limits.item)}`);
    this.#shape = null;
    if (!frame?.shape || frame.isObject || frame.shape.handOver === undefined) return;
    if (frame.seen > (frame.shape.most ?? Number.POSITIVE_INFINITY)) return;
    this.#inner -= 1;
    this.#kept += sink.length;
    if (this.#kept > this.#limits.kept)
      throw new JsonRefused('too_large', `says more than ${megabytes(this.#limits.kept)} that would be kept`);
    this.#hand(frame.shape.handOver, sink.text());
  }

  #openText(): void {
    this.#mode = TEXT;
    this.#escaped = false;
    const { shape, isObject } = this.#frame ?? {};
    if (isObject && (this.#expect === NAME || this.#expect === FIRST_NAME)) {
      this.#countTokens(1);
      this.#expect = COLON;
      this.#name.begin(shape !== null);
      return;
    }
    this.#openValue();
    if (!this.#shape) return;
    this.#sink.byte(QUOTE);
    this.#textStart = this.#sink.length;
    this.#digest = null;
  }

  #readName(chunk: Uint8Array, start: number): number {
    const end = this.#endOfText(chunk, start);
    this.#name.add(chunk, start, end);
    if (end === chunk.length) return end;
    this.#mode = STRUCTURE;
    const shape = this.#frame?.shape;
    if (!shape) return end + 1;
    const name = this.#name.text();
    this.#shape = name === null ? null : (shape.members?.get(name) ?? shape.others ?? null);
    if (this.#shape?.handOver !== undefined) this.#refuseTwice(this.#shape.handOver);
    return end + 1;
  }

  /** JSON takes the last of two members of a name; of these the first was handed over already. */
  #refuseTwice(list: string): void {
    const frame = this.#frame as Frame;
    frame.lists ??= new Set();
    if (frame.lists.has(list)) throw new JsonRefused('syntax', `names its list ${list} twice`);
    frame.lists.add(list);
  }

  #readText(chunk: Uint8Array, start: number): number {
    const end = this.#endOfText(chunk, start);
    if (this.#shape) this.#keepText(chunk, start, end);
    if (end === chunk.length) return end;
    this.#mode = STRUCTURE;
    if (this.#shape) {
      if (this.#digest) this.#cutText(this.#digest);
      this.#sink.byte(QUOTE);
    }
    this.#endValue();
    return end + 1;
  }

  #endOfText(chunk: Uint8Array, start: number): number {
    let at = start;
    if (this.#escaped && at < chunk.length) {
      this.#escaped = false;
      at += 1;
    }
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === QUOTE) return at;
      if (byte !== BACKSLASH) continue;
      at += 1;
      if (at === chunk.length) this.#escaped = true;
    }
    return chunk.length;
  }

  #keepText(chunk: Uint8Array, start: number, end: number): void {
    const sink = this.#sink;
    if (this.#digest) this.#digest.update(chunk.subarray(start, end));
    else sink.bytes(chunk, start, end);
    if (this.#digest || sink.length - this.#textStart <= this.#limits.text) return;
    this.#digest = createHash('sha256').update(sink.from(this.#textStart));
    sink.cut(this.#textStart + this.#limits.text);
  }

  /** Two texts that differ only behind the cut stay two. */
  #cutText(digest: Hash): void {
    this.#sink.endText(this.#textStart);
    this.#sink.ascii(`~${digest.digest('hex').slice(0, 16)}`);
  }

  #readScalar(chunk: Uint8Array, start: number): number {
    let at = start;
    while (at < chunk.length && isPart(chunk[at] as number)) at += 1;
    if (at === start && this.#scalar === '') throw noJson();
    if (this.#scalar.length + at - start > LONGEST_SCALAR)
      throw new JsonRefused('syntax', `holds a number of more than ${LONGEST_SCALAR} characters`);
    this.#scalar += String.fromCharCode(...chunk.subarray(start, at));
    if (at < chunk.length) this.#endScalar();
    return at;
  }

  #endScalar(): void {
    const scalar = this.#scalar;
    this.#scalar = '';
    this.#mode = STRUCTURE;
    if (!isScalar(scalar)) throw noJson();
    if (this.#shape) this.#sink.ascii(scalar);
    this.#endValue();
  }
}

/** Letters, digits and signs of numbers and of `true`, `false` and `null`. */
function isPart(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    [0x2b, 0x2d, 0x2e, 0x45].includes(byte)
  );
}

function noJson(): JsonRefused {
  return new JsonRefused('syntax', 'is not valid JSON');
}

function brokenOff(): JsonRefused {
  return new JsonRefused('syntax', 'is not valid JSON: it is broken off, or empty');
}

function tooMany(name: string, count: number, most: number): JsonRefused {
  return new JsonRefused('too_many', `holds ${count} ${name}; at most ${most} are taken`);
}

function shown(number: number): string {
  return number.toLocaleString('en');
}

function megabytes(bytes: number): string {
  return `${shown(Math.round(bytes / 1024 / 102.4) / 10)} MB`;
}
