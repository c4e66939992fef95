import { createHmac } from 'node:crypto';
import { KnownValues } from './known-values.ts';
import { normaliseCode, shortened, textWithoutSecrets } from './normalise.ts';
import { nameWithoutSecrets, REDACTED } from './secret-shapes.ts';

/** Shorter values would blot out words at random, and are no secrets worth the name. */
const SHORTEST_SECRET = 6;
/** A line of a key block: enough of it to identify the key. */
const SHORTEST_LINE = 16;

/** Hashes that the sanitiser itself writes: a secret that happens to occur in their hex is not in them. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['code_hash', 'secret_hmac', 'match_hmac']);

/** Fields that name something: see `nameWithoutSecrets`. */
const NAMES: ReadonlySet<string> = new Set(
  'check_id RuleID id ID VulnerabilityID path Path PkgPath File Target name Name PkgName purl PURL'.split(
    ' ',
  ),
);

/**
 * Every secret that a raw Gitleaks report holds. A secret of several lines counts line by line too: other
 * scanners quote single lines.
 */
export function secretsIn(gitleaksReport: unknown): Set<string> {
  const secrets = new Set<string>();
  for (const leak of Array.isArray(gitleaksReport) ? gitleaksReport : []) {
    const value: unknown = isRecord(leak) ? leak.Secret : null;
    if (typeof value !== 'string' || isBlot(value)) continue;
    secrets.add(value);
    const lines = value.split(/\r?\n/).map((line) => line.trim());
    if (lines.length === 1) continue;
    for (const line of lines)
      if (line.length >= SHORTEST_LINE && !line.startsWith('-----')) secrets.add(line);
  }
  return secrets;
}

/** Longer texts of a report are cut before they are searched; none that is shown is half as long. */
const LONGEST_TEXT = 16 * 1024;

/** Replaces known secrets in texts. */
export class Redactor {
  readonly #values: KnownValues;

  constructor(secrets: Iterable<string>) {
    const values = [...new Set(secrets)].filter((value) => value.length >= SHORTEST_SECRET && !isBlot(value));
    this.#values = new KnownValues(values, SHORTEST_SECRET);
  }

  text(text: string): string {
    if (this.#values.isEmpty || text.length < SHORTEST_SECRET) return text;
    let clean = '';
    let copied = 0;
    for (let at = 0; at + SHORTEST_SECRET <= text.length; ) {
      const length = this.#values.longestAt(text, at);
      if (length === 0) {
        at += 1;
        continue;
      }
      clean += text.slice(copied, at) + REDACTED;
      at += length;
      copied = at;
    }
    return clean + text.slice(copied);
  }

  /**
   * The same JSON value with every string in it, names of fields included, free of the secrets and of what
   * looks like one.
   */
  json(value: unknown, field = ''): unknown {
    if (typeof value === 'string')
      return NAMES.has(field)
        ? nameWithoutSecrets(this.text(shortened(value, LONGEST_TEXT)))
        : textWithoutSecrets(this.text(value), LONGEST_TEXT);
    if (Array.isArray(value)) return value.map((item) => this.json(item, field));
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        this.text(name),
        OWN_FIELDS.has(name) ? item : this.json(item, name),
      ]),
    );
  }
}

/**
 * Takes out of a rule's message what it quotes of the code's string literals (Semgrep fills metavariables
 * in): a hard-coded password that Gitleaks does not know would travel in it. Plain words may stay.
 */
export function withoutLiterals(message: string, code: string): string {
  const literals = literalsIn(code).filter(
    (literal) => literal.length >= SHORTEST_SECRET && !/^[a-z][a-z_.-]*$/i.test(literal),
  );
  return new Redactor(literals).text(message);
}

/** What stands between quotes, in one pass: a quote that nothing closes is looked after once. */
function literalsIn(code: string): string[] {
  const literals: string[] = [];
  const unclosed = new Set<string>();
  for (let at = 0; at < code.length; at += 1) {
    const quote = code[at] ?? '';
    if (!`"'\``.includes(quote) || unclosed.has(quote)) continue;
    const end = closingQuote(code, at, quote);
    if (end === -1) {
      unclosed.add(quote);
      continue;
    }
    literals.push(code.slice(at + 1, end));
    at = end;
  }
  return literals;
}

function closingQuote(code: string, start: number, quote: string): number {
  for (let at = start + 1; at < code.length; at += 1) {
    if (code[at] === quote) return at;
    if (code[at] === '\\') at += 1;
  }
  return -1;
}

export function hmac(key: string, value: string): string {
  return createHmac('sha256', key).update(value).digest('hex');
}

/** Keyed, so that nobody without the organization's key can confirm a guess at a line that holds a secret. */
export function hmacOfCode(key: string, lines: readonly string[]): string {
  return hmac(key, normaliseCode(lines.join('\n')));
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What Gitleaks' `--redact` leaves of a secret: nothing, or with a percentage its beginning. */
export function isMasked(secret: string): boolean {
  return secret === REDACTED || secret.endsWith('...');
}

function isBlot(value: string): boolean {
  return value.trim() === '' || REDACTED.includes(value) || /^\**$/.test(value);
}
