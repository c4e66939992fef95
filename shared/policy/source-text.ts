import type { PolicySource } from './kinds.ts';
import { type PolicyError, policyError } from './problem.ts';

/** Longer sources are refused before they are parsed: a hundred times what policies are. */
const MAX_CHARACTERS = 100_000;
const HALF = 'Half of a character (a lone surrogate), which no text can hold';
/** Strings, raw strings and comments: what is a string can be told only beside the others. */
const STRINGS = /"(?:[^"\\\n]|\\.)*"|`[^`]*`|#[^\n]*/g;

/** What is wrong with a source as text: the engine would cut it off, or put something else in its place. */
export function textError({ rego }: PolicySource): PolicyError | null {
  if (rego.length > MAX_CHARACTERS)
    return refused(`The policy has ${rego.length} characters; at most ${MAX_CHARACTERS} are taken`, '');
  const half = rego.isWellFormed() ? escapedHalf(rego) : /\p{Surrogate}/u.exec(rego)?.index;
  return half === undefined ? null : refused(HALF, rego.slice(0, half));
}

/** Where the first string begins that has half of a character as `\ud800`: OPA reads U+FFFD instead. */
function escapedHalf(rego: string): number | undefined {
  if (!/\\u[dD][89a-fA-F]/.test(rego)) return undefined;
  return rego.matchAll(STRINGS).find(([text]) => text.startsWith('"') && !isWhole(text))?.index;
}

function isWhole(literal: string): boolean {
  try {
    return String(JSON.parse(literal)).isWellFormed();
  } catch {
    // The parser tells what is wrong with it.
    return true;
  }
}

/** @param before what of the source comes before the place */
function refused(message: string, before: string): PolicyError {
  const lines = before.split('\n');
  const col = Array.from(lines.at(-1) ?? '').length + 1;
  return policyError({ code: 'rego_parse_error', message, row: lines.length, col });
}
