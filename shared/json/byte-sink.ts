const [BACKSLASH, LETTER_U] = [0x5c, 0x75];

/** Bytes that are copied faster one by one than by a call. */
const FEW = 48;

/** Bytes of JSON that grow at their end. */
export class ByteSink {
  #buffer = Buffer.allocUnsafe(1024);
  length = 0;

  byte(byte: number): void {
    if (this.length === this.#buffer.length) this.#grow(1);
    this.#buffer[this.length] = byte;
    this.length += 1;
  }

  bytes(source: Uint8Array, start: number, end: number): void {
    const size = end - start;
    if (this.length + size > this.#buffer.length) this.#grow(size);
    if (size > FEW) this.#buffer.set(source.subarray(start, end), this.length);
    else for (let at = 0; at < size; at += 1) this.#buffer[this.length + at] = source[start + at] as number;
    this.length += size;
  }

  ascii(text: string): void {
    if (this.length + text.length > this.#buffer.length) this.#grow(text.length);
    this.#buffer.write(text, this.length, 'latin1');
    this.length += text.length;
  }

  from(start: number): Uint8Array {
    return this.#buffer.subarray(start, this.length);
  }

  cut(length: number): void {
    this.length = length;
  }

  /** Takes away what a cut left of a character or of an escape at the end of a text. */
  endText(start: number): void {
    let at = start;
    while (at < this.length) {
      const size = this.#sizeAt(at);
      if (at + size > this.length) break;
      at += size;
    }
    this.length = at;
  }

  text(): string {
    return this.#buffer.toString('utf8', 0, this.length);
  }

  #sizeAt(at: number): number {
    const byte = this.#buffer[at] as number;
    if (byte === BACKSLASH) return this.#buffer[at + 1] === LETTER_U ? 6 : 2;
    if (byte < 0xc0) return 1;
    if (byte < 0xe0) return 2;
    return byte < 0xf0 ? 3 : 4;
  }

  #grow(more: number): void {
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.length + more));
    larger.set(this.#buffer.subarray(0, this.length));
    this.#buffer = larger;
  }
}
