import { isTerm, REDACTED } from '../secret-values.ts';
import json from './rules.json' with { type: 'json' };

/** A secret in a text: where it begins, and where it ends. */
export interface SecretRange {
  readonly start: number;
  readonly end: number;
}

interface Allowlist {
  readonly condition: string;
  readonly regexTarget: string;
  readonly regexes: readonly string[];
  readonly stopwords: readonly string[];
  readonly paths: readonly string[];
}

interface Rule {
  readonly id: string;
  readonly regex: string;
  readonly secretGroup: number;
  readonly entropy: number;
  readonly keywords: readonly string[];
  readonly allowlists: readonly Allowlist[];
}

const data: { readonly rules: readonly Rule[]; readonly allowlist: Allowlist } = json;

/** A rule that goes by names and assignments, which the names of rules and paths are full of. */
const GENERIC = 'generic-api-key';

/**
 * What the rules of Gitleaks find in a text, by the same steps: a keyword, the pattern, the entropy, and the lists of
 * what is none. Rules that look at the names of files too are asked whatever the name.
 * @param isName of a text that names something: without the generic rule
 */
export function secretsByRules(text: string, isName: boolean): SecretRange[] {
  const found: SecretRange[] = [];
  for (let from = 0; from === 0 || from + OVERLAP < text.length; from += WINDOW - OVERLAP) {
    const within = secretsWithin(text.slice(from, from + WINDOW), isName);
    found.push(...within.map(({ start, end }) => ({ start: start + from, end: end + from })));
  }
  return found;
}

/**
 * Some patterns take the square of what they look through, which Go's expressions don't: longer texts are looked
 * through in parts that overlap by more than a token is long. Key blocks and web tokens have patterns of our own.
 */
const WINDOW = 8 * 1024;
const OVERLAP = 2 * 1024;

function secretsWithin(text: string, isName: boolean): SecretRange[] {
  const found: SecretRange[] = [];
  for (const rule of rulesFor(text)) {
    if (isName && rule.id === GENERIC) continue;
    for (const match of text.matchAll(patternOf(rule.regex))) {
      const range = secretOf(rule, match);
      if (isFinding(rule, text, match, text.slice(range.start, range.end))) found.push(range);
    }
  }
  return found;
}

function isFinding(rule: Rule, text: string, match: RegExpExecArray, secret: string): boolean {
  if (secret === '' || secret.includes(REDACTED)) return false;
  // What it is made for is code: in a sentence about a secret a word with a number is none.
  if (rule.id === GENERIC && (isTerm(secret) || /^[A-Za-z]+\d{0,4}[a-z]*$/.test(secret))) return false;
  if (rule.entropy > 0 && entropyOf(secret) <= rule.entropy) return false;
  const targets = { secret, match: match[0], line: lineOf(text, match) };
  return ![data.allowlist, ...rule.allowlists].some((list) => isAllowed(list, targets));
}

/** In an address, some groups are but a part of the pattern's structure. */
const SHORTEST_SECRET = 6;

/** The group that the rule names, else the first that holds something, else all that was matched. */
function secretOf({ secretGroup }: Rule, match: RegExpExecArray): SecretRange {
  const groups = match.slice(1);
  const group = secretGroup > 0 ? groups[secretGroup - 1] : groups.find((one) => one);
  const isPart = group !== undefined && group.length < SHORTEST_SECRET && match[0].includes('://');
  const value = group === undefined || isPart ? match[0] : group;
  const start = match.index + match[0].indexOf(value);
  return { start, end: start + value.length };
}

interface Targets {
  readonly secret: string;
  readonly match: string;
  readonly line: string;
}

function isAllowed(list: Allowlist, targets: Targets): boolean {
  // Without the name of a file a list that asks for one too says nothing.
  if (list.condition === 'AND' && list.paths.length > 0) return false;
  const target = targets[list.regexTarget as keyof Targets];
  const byRegex = list.regexes.some((regex) => patternOf(regex).test(target));
  if (list.condition === 'AND' && list.stopwords.length > 0 && list.regexes.length > 0 && !byRegex)
    return false;
  const secret = targets.secret.toLowerCase();
  const byWord = list.stopwords.some((word) => secret.includes(word.toLowerCase()));
  return byRegex || byWord;
}

function lineOf(text: string, { index, 0: match }: RegExpExecArray): string {
  const start = text.lastIndexOf('\n', index) + 1;
  const end = text.indexOf('\n', index + match.length);
  return text.slice(start, end === -1 ? text.length : end);
}

/** Shannon's, in bits for each character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  let length = 0;
  for (const character of text) {
    counts.set(character, (counts.get(character) ?? 0) + 1);
    length += 1;
  }
  let bits = 0;
  for (const count of counts.values()) bits -= (count / length) * Math.log2(count / length);
  return bits;
}

const patterns = new Map<string, RegExp>();

/** Compiled when it is first asked for: most of them never are. */
function patternOf(source: string): RegExp {
  const held = patterns.get(source);
  if (held) {
    held.lastIndex = 0;
    return held;
  }
  const made = new RegExp(source, 'g');
  patterns.set(source, made);
  return made;
}

/** Letters in small, and nothing for what no keyword holds. */
const FOLDED = new Uint8Array(128);
for (let code = 1; code < 128; code += 1)
  FOLDED[code] = String.fromCharCode(code).toLowerCase().charCodeAt(0);

interface Keyword {
  readonly word: string;
  readonly rules: Rule[];
}

/** Keywords by their first three characters, those of two characters by these; and whether there are any. */
const KEYWORDS = new Map<number, Keyword[]>();
const PAIRS = new Uint8Array(1 << 14);
const TRIPLES = new Uint8Array(1 << 21);
for (const rule of data.rules) {
  for (const keyword of rule.keywords) {
    const word = keyword.toLowerCase();
    const [first = 0, second = 0, third = 0] = Array.from(word, (one) => one.charCodeAt(0));
    const beginning = (first << 14) | (second << 7) | third;
    if (third === 0) PAIRS[(first << 7) | second] = 1;
    else TRIPLES[beginning] = 1;
    const held = KEYWORDS.get(beginning) ?? [];
    KEYWORDS.set(beginning, held);
    const same = held.find((one) => one.word === word);
    if (same) same.rules.push(rule);
    else held.push({ word, rules: [rule] });
  }
}

/** The rules one of whose keywords the text holds, in one pass over it. */
function rulesFor(text: string): Set<Rule> {
  const wanted = new Set<Rule>();
  const take = (beginning: number, at: number) => {
    for (const { word, rules } of KEYWORDS.get(beginning) ?? [])
      if (word.length <= 3 || text.slice(at, at + word.length).toLowerCase() === word)
        for (const rule of rules) wanted.add(rule);
  };
  let [before, last] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const next = code < 128 ? (FOLDED[code] as number) : 0;
    const pair = (last << 7) | next;
    if (PAIRS[pair] === 1) take(pair << 7, at - 1);
    if (TRIPLES[(before << 14) | pair] === 1) take((before << 14) | pair, at - 2);
    before = last;
    last = next;
  }
  return wanted;
}
