/** Longer names are no fields of anything that is read. */
const LONGEST_NAME = 1024;

/** The name of a member, which may come in pieces. */
export class NameReader {
  readonly bytes = Buffer.alloc(LONGEST_NAME);
  length = 0;
  #wanted = false;
  #tooLong = false;

  /** @param wanted whether anybody will ask for it */
  begin(wanted: boolean): void {
    this.length = 0;
    this.#wanted = wanted;
    this.#tooLong = false;
  }

  add(source: Uint8Array, start: number, end: number): void {
    if (!this.#wanted) return;
    if (this.length + end - start > LONGEST_NAME) {
      this.#tooLong = true;
      return;
    }
    for (let at = start; at < end; at += 1) {
      this.bytes[this.length] = source[at] as number;
      this.length += 1;
    }
  }

  /** Null where it is too long to be one. */
  text(): string | null {
    if (this.#tooLong) return null;
    const text = this.bytes.toString('latin1', 0, this.length);
    return text.includes('\\') ? unescaped(this.bytes.toString('utf8', 0, this.length)) : text;
  }
}

/** `\u0072esults` is `results`. */
function unescaped(text: string): string | null {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return null;
  }
}
