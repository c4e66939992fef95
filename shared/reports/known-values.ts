/**
 * Finds which of many values a text has at a place. The values are looked up by their first characters, and among
 * those that share them by halving: the time grows with the text, and hardly with the number of values (a history
 * can hold thousands, and a report as many that begin alike).
 */
export class KnownValues {
  readonly #first: number;
  readonly #groups = new Map<string, Group>();

  /** @param first characters that each of them has at least */
  constructor(values: readonly string[], first: number) {
    this.#first = first;
    for (const value of values.toSorted(byCodeUnits)) {
      const start = value.slice(0, first);
      const group = this.#groups.get(start) ?? new Group();
      this.#groups.set(start, group);
      group.add(value);
    }
  }

  get isEmpty(): boolean {
    return this.#groups.size === 0;
  }

  /** Length of the longest value that the text has at this place; 0 where it has none. */
  longestAt(text: string, at: number): number {
    return this.#groups.get(text.slice(at, at + this.#first))?.longestAt(text, at) ?? 0;
  }
}

/** Values that begin alike, sorted, each with the longest of them that it begins with itself. */
class Group {
  readonly #values: string[] = [];
  readonly #shorter: number[] = [];

  /** After all that sort before it. */
  add(value: string): void {
    let shorter = this.#values.length - 1;
    while (shorter >= 0 && !value.startsWith(this.#values[shorter] ?? ''))
      shorter = this.#shorter[shorter] ?? -1;
    this.#values.push(value);
    this.#shorter.push(shorter);
  }

  longestAt(text: string, at: number): number {
    let [low, high] = [0, this.#values.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sortsBehind(this.#values[middle] ?? '', text, at)) high = middle;
      else low = middle + 1;
    }
    // Whatever the text begins with sorts before it, and is this one or what this one begins with.
    for (let index = low - 1; index >= 0; index = this.#shorter[index] ?? -1) {
      const value = this.#values[index] ?? '';
      if (text.startsWith(value, at)) return value.length;
    }
    return 0;
  }
}

function byCodeUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function sortsBehind(value: string, text: string, at: number): boolean {
  for (let index = 0; index < value.length; index += 1) {
    const difference = value.charCodeAt(index) - (text.charCodeAt(at + index) || -1);
    if (difference !== 0) return difference > 0;
  }
  return false;
}
