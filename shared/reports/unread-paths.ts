/**
 * Whether what was known of a file may be there all the same. A tool names a file that it could not read as
 * it likes: absolute (`/w/src/b.ts` for `src/b.ts`), relative to a folder of its own (`b.ts`), or by a folder
 * that it is in. So two paths are the same where one is the end of the other, and a folder stands for all in
 * it. That may keep more than it has to, until a run has read the file; it never closes what nobody looked at.
 * Our own runner has the checkout: what it names is that file, and no other.
 */
export class UnreadPaths {
  readonly #ends = new Ending();
  readonly #files: ReadonlySet<string>;

  /**
   * @param paths as a tool names them
   * @param files as findings name theirs
   */
  constructor(paths: Iterable<string>, files: Iterable<string> = []) {
    this.#files = new Set(files);
    for (const path of paths) {
      let ending = this.#ends;
      for (const part of partsOf(path).slice(-DEEPEST).reverse()) ending = ending.open(part);
      ending.whole = true;
    }
  }

  mayHold(path: string): boolean {
    if (this.#files.has(path)) return true;
    const parts = partsOf(path);
    return this.#ends.whole || parts.some((_, last) => this.#names(parts, last));
  }

  /** Whether the file or folder that ends with this part is named. */
  #names(parts: readonly string[], last: number): boolean {
    let ending = this.#ends;
    for (let at = last; at >= 0; at -= 1) {
      const longer = ending.before.get(parts[at] ?? '');
      if (!longer) return false;
      if (longer.whole) return true;
      ending = longer;
    }
    return true;
  }
}

/** Parts of a path that are compared, from its end: bounds the time that a path takes. */
const DEEPEST = 64;

/** The ends of paths, as a tree that is read backwards. */
class Ending {
  whole = false;
  readonly before = new Map<string, Ending>();

  open(part: string): Ending {
    const known = this.before.get(part) ?? new Ending();
    this.before.set(part, known);
    return known;
  }
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}
