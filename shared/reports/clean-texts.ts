/**
 * Texts of the report that is read that were looked through already and came out as they are: to look through them
 * is most of what reading a report costs, and the last look at every finding (`settle`) finds nothing new in them.
 * Texts that were cut are none of them: the cut may have left what looks like a secret only now.
 */
class CleanTexts {
  readonly #texts = new Set<string>();

  remember(text: string): string {
    // Who never settles must not remember for ever.
    if (this.#texts.size >= MOST) this.#texts.clear();
    this.#texts.add(text);
    return text;
  }

  has(text: string): boolean {
    return this.#texts.has(text);
  }

  forget(): void {
    this.#texts.clear();
  }
}

const MOST = 100_000;

export const cleanTexts = new CleanTexts();
