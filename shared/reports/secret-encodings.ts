/**
 * The same text without its encodings, so that what looks for secrets sees through them: entities of XML and HTML,
 * percent escapes, quoted-printable, escapes of programming languages, bytes one by one, literals that are put together, full-width and other forms of the same characters (NFKC), and
 * characters that nobody sees.
 */

import { traitsOf } from './text-traits.ts';

const ENTITY =
  /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(quot|apos|amp|lt|gt|nbsp|colon|equals|commat|sol|lowbar|hyphen|dash|num|period|excl|dollar|percnt|semi|comma|lpar|rpar|ast|plus|quest|lsqb|rsqb|lcub|rcub|vert|bsol|grave|NewLine|Tab));?/gi;
const NAMED: Readonly<Record<string, string>> = {
  quot: '"',
  apos: "'",
  amp: '&',
  lt: '<',
  gt: '>',
  nbsp: ' ',
  colon: ':',
  equals: '=',
  commat: '@',
  sol: '/',
  lowbar: '_',
  hyphen: '-',
  dash: '-',
  num: '#',
  period: '.',
  excl: '!',
  dollar: '$',
  percnt: '%',
  semi: ';',
  comma: ',',
  lpar: '(',
  rpar: ')',
  ast: '*',
  plus: '+',
  quest: '?',
  lsqb: '[',
  rsqb: ']',
  lcub: '{',
  rcub: '}',
  vert: '|',
  bsol: '\\',
  grave: '`',
  newline: '\n',
  tab: '\t',
};
const PERCENT = /(?:%[0-9a-f]{2}){1,4096}/gi;
const ESCAPE =
  /(?:\\|%(?=u[0-9a-f]{4}))(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|x([0-9a-f]{2})|([0-3][0-7]{2}))/gi;
/** Quoted-printable, and bytes one by one: in hexadecimal or decimal digits. */
const QUOTED_PRINTABLE = /(?:=[0-9A-F]{2}){4,4096}/g;
const HEX_BYTES =
  /(?<![0-9a-z])(?:(?:0x|\\x)?[2-7][0-9a-f][ ,:;-]{1,3}){9,4096}(?:0x|\\x)?[2-7][0-9a-f](?![0-9a-z])/gi;
const DECIMAL_BYTES =
  /(?<![0-9.])(?:(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])[ ,;]{1,3}){9,4096}(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])(?![0-9.])/g;
/** Ten bytes have more. */
const FEWEST_DIGITS = 10;
/** Literals that a program puts together. */
const JOINED = /(["'`])\s{0,8}[+.&]\s{0,8}\1/g;

/** Soft hyphens, joiners, invisible operators, variation selectors, tags. */
const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu;

/** One layer of encodings less; the text itself where there is none. */
export function decoded(text: string): string {
  const { digits, quotes } = traitsOf(text);
  const joined = quotes < 4 ? text : text.replace(JOINED, '');
  const plain = digits < FEWEST_DIGITS ? joined : withoutBytes(joined);
  if (!traitsOf(plain).isEncoded) return plain;
  return plain
    .replace(QUOTED_PRINTABLE, (run) => fromBytes(run.match(/[0-9A-F]{2}/g) ?? [], 16))
    .replace(ENTITY, (all, decimal?: string, hex?: string, name?: string) =>
      name !== undefined
        ? (NAMED[name.toLowerCase()] ?? all)
        : characterOf(Number.parseInt(decimal ?? hex ?? '', decimal ? 10 : 16), all),
    )
    .replace(PERCENT, fromPercent)
    .replace(ESCAPE, (all, braced?: string, unicode?: string, byte?: string, octal?: string) =>
      characterOf(
        Number.parseInt(braced ?? unicode ?? byte ?? octal ?? '', octal === undefined ? 16 : 8),
        all,
      ),
    )
    .replace(UNSEEN, '')
    .normalize('NFKC');
}

function withoutBytes(text: string): string {
  return text
    .replace(HEX_BYTES, (run) => fromBytes(run.match(/[2-7][0-9a-f](?![0-9a-z])/gi) ?? [], 16))
    .replace(DECIMAL_BYTES, (run) => fromBytes(run.match(/\d+/g) ?? [], 10));
}

function fromBytes(bytes: readonly string[], radix: number): string {
  return String.fromCharCode(...bytes.map((byte) => Number.parseInt(byte, radix)));
}

function characterOf(code: number, otherwise: string): string {
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code).toWellFormed() : otherwise;
}

/** Of what is no UTF-8 the bytes that are characters by themselves. */
function fromPercent(run: string): string {
  try {
    return decodeURIComponent(run);
  } catch {
    return run.replace(/%([2-7][0-9a-f])/gi, (_, byte: string) =>
      String.fromCharCode(Number.parseInt(byte, 16)),
    );
  }
}

/** What may be a text in base64 (either alphabet) or in hexadecimal digits. */
const SHORTEST_RUN = 16;
const BLOBS = /(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{16,16384}={0,2})/g;
/** Shorter ones are no secret with anything that tells it. */
const SHORTEST_TEXT = 10;

/** The runs of a text that are a text themselves, encoded; what they say tells whether they are to be shown. */
export function replaceEncoded(text: string, isShown: (inside: string) => boolean, mark: string): string {
  if (traitsOf(text).run < SHORTEST_RUN) return text;
  return text.replace(BLOBS, (run) => (textsIn(run).every(isShown) ? run : mark));
}

function textsIn(run: string): string[] {
  // Words and paths are of the alphabet too; of what is encoded hardly anything lacks one of these.
  if (!/\d/.test(run) || !/[A-Za-z]/.test(run)) return [];
  const hex = run.length % 2 === 0 && /^(?:[0-9a-f]+|[0-9A-F]+)$/.test(run) ? [Buffer.from(run, 'hex')] : [];
  if (hex.length === 0 && !(/[a-z]/.test(run) && /[A-Z]/.test(run))) return [];
  // Another beginning than the encoder's: what stands before it may be of the alphabet too.
  const base64 = [0, 1, 2, 3].map((skip) => Buffer.from(run.slice(skip), 'base64'));
  return [...hex, ...base64].flatMap((bytes) => textOf(bytes) ?? []);
}

/** null where bytes are no text: UTF-8 without controls, or UTF-16 of plain characters (as PowerShell encodes). */
function textOf(bytes: Buffer): string | null {
  const text =
    bytes.length > 3 && bytes[1] === 0 && bytes[3] === 0 ? bytes.toString('utf16le') : bytes.toString('utf8');
  return text.length >= SHORTEST_TEXT && !/[\p{Cn}\p{Co}\ufffd]|[^\P{Cc}\n\r\t]/u.test(text) ? text : null;
}
