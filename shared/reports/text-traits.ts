/** What one pass over a text tells: most texts have nothing of it, and need no other look for encodings. */
export interface TextTraits {
  /** The longest run of characters of base64 (either alphabet) with a digit in it. */
  readonly run: number;
  /** Whether there is anything that could be an escape, an entity, or another form of a character. */
  readonly isEncoded: boolean;
  readonly digits: number;
  readonly quotes: number;
}

const [RUN, DIGIT, ESCAPE, QUOTE] = [1, 2, 4, 8];
/** Of each ASCII character what it may be part of. */
const KINDS = new Uint8Array(128);
for (let code = 0; code < 128; code += 1) {
  const character = String.fromCharCode(code);
  if (/[A-Za-z0-9+/_-]/.test(character)) KINDS[code] = RUN;
  if (/\d/.test(character)) KINDS[code] = RUN | DIGIT;
  if (/[&%\\=]/.test(character)) KINDS[code] = ESCAPE;
  if (/["'`]/.test(character)) KINDS[code] = QUOTE;
}

let last = '';
let known: TextTraits = { run: 0, isEncoded: false, digits: 0, quotes: 0 };

/** The text that was asked about last is not gone through again. */
export function traitsOf(text: string): TextTraits {
  if (text === last) return known;
  let longest = 0;
  let run = 0;
  let hasDigit = false;
  let isEncoded = false;
  let digits = 0;
  let quotes = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const kind = code < 128 ? (KINDS[code] as number) : ESCAPE;
    if ((kind & RUN) !== 0) {
      run += 1;
      if ((kind & DIGIT) !== 0) {
        hasDigit = true;
        digits += 1;
      }
      continue;
    }
    if (hasDigit && run > longest) longest = run;
    run = 0;
    hasDigit = false;
    isEncoded ||= kind === ESCAPE;
    if (kind === QUOTE) quotes += 1;
  }
  if (hasDigit && run > longest) longest = run;
  last = text;
  known = { run: longest, isEncoded, digits, quotes };
  return known;
}
