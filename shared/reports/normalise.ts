import { hash } from 'node:crypto';
import * as z from 'zod';
import { CVE_ID } from '#domain/cve.ts';
import { cleanTexts } from './clean-texts.ts';
import { nameWithoutSecrets, withoutSecrets } from './secret-shapes.ts';

/** Spec silent: how long the texts of a finding get. A list shows the title; the description is shown alone. */
const TITLE_LENGTH = 200;
const DESCRIPTION_LENGTH = 4000;
const NAME_LENGTH = 500;
const PATH_LENGTH = 4096;
/**
 * Of longer texts only the beginning is looked through for secrets, which costs far more than to read them. It is
 * more than is kept, because what is masked gets shorter.
 */
const LONGEST_TITLE = 2048;
const LONGEST_DESCRIPTION = 8 * 1024;
const LONGEST_NAME = 8 * 1024;

/** What the reports have in common, as zod sees it. Absent, null and odd optional values are all "not told". */
export const told = {
  text: z.string().nullish().catch(null),
  number: z.number().nullish().catch(null),
  line: z.number().int().min(1).nullish().catch(null),
  list: z.array(z.unknown()).nullish().catch(null),
  texts: z.array(z.string()).nullish().catch(null),
} as const;

/** What names a rule or a package: one line, with a digest of the whole in place of what is too long. */
const namedText = z.string().transform((text) => {
  if (text.length > LONGEST_NAME)
    return withDigest(
      nameWithoutSecrets(withoutControls(text.slice(0, LONGEST_NAME), '').toWellFormed()),
      NAME_LENGTH,
      text,
    );
  const plain = nameWithoutSecrets(withoutControls(text, '').toWellFormed());
  return plain.length <= NAME_LENGTH ? plain : withDigest(plain, NAME_LENGTH, plain);
});
export const ruleId = namedText.pipe(z.string().min(1));
export const packageName = namedText.pipe(z.string().min(1));

export const reportedPath = z.string().transform((path) => {
  if (path.length > LONGEST_NAME)
    return withDigest(relative(nameWithoutSecrets(slashed(path.slice(0, LONGEST_NAME)))), PATH_LENGTH, path);
  const plain = relative(nameWithoutSecrets(slashed(path)));
  return plain.length <= PATH_LENGTH ? plain : withDigest(plain, PATH_LENGTH, plain);
});

/**
 * Relative to the repository's root, with `/` between its parts: Grype writes `/package.json`, others
 * `./package.json` or `src\\app.cs`. What would lead out of the repository stays in it.
 */
export function normalisePath(path: string): string {
  return relative(slashed(path));
}

function slashed(path: string): string {
  return withoutControls(path, '').toWellFormed().replaceAll('\\', '/');
}

function relative(path: string): string {
  const scheme = /^[a-z][a-z0-9+.-]{1,30}:\/\//i.exec(path)?.[0] ?? '';
  const parts: string[] = [];
  for (const part of path.slice(scheme.length).split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return scheme + parts.join('/') || '.';
}

/** A readable beginning and a digest of the whole: two that differ only at their ends stay two. */
function withDigest(text: string, length: number, whole: string): string {
  return `${text.slice(0, length - 17).toWellFormed()}~${hash('sha256', whole, 'hex').slice(0, 16)}`;
}

/** A name of any length in at most so many characters; two that differ only at their ends stay two. */
export function shortened(name: string, length: number): string {
  return name.length <= length ? name : withDigest(name, length, name);
}

/** What a secret that was cut through could leave of itself at the end of a text. */
const LONGEST_REST = 3072;
const REST = 256;

/**
 * The text without secrets, as far as it is looked through: of one that goes on, the end is left out, where a
 * secret may begin whose rest would have given it away.
 */
export function textWithoutSecrets(text: string, length: number): string {
  if (text.length <= length) return withoutSecrets(text);
  const clean = withoutSecrets(text.slice(0, length));
  const end = Math.max(0, clean.length - REST);
  const space = clean.lastIndexOf(' ', end);
  return `${clean.slice(0, space > end - LONGEST_REST ? Math.max(0, space) : Math.max(0, end - LONGEST_REST))}…`;
}

export function titleOf(text: string): string {
  const clean = textWithoutSecrets(withoutControls(text.slice(0, LONGEST_TITLE + 1), ' '), LONGEST_TITLE);
  return cut(clean.replace(/\s+/g, ' ').trim(), TITLE_LENGTH);
}

export function descriptionOf(...paragraphs: readonly (string | null | undefined)[]): string {
  const texts = paragraphs.filter((text) => typeof text === 'string').map((text) => text.trim());
  const distinct = [...new Set(texts)].filter((text) => text !== '');
  const beginning = distinct.join('\n\n').slice(0, LONGEST_DESCRIPTION + 1);
  return cut(
    textWithoutSecrets(beginning.replace(/[^\P{Cc}\n\t]/gu, '').replace(OVERRIDES, ''), LONGEST_DESCRIPTION),
    DESCRIPTION_LENGTH,
  );
}

/** Names that read wrong in small letters, of those that occur in the scanners' rule ids. */
const SPELLINGS = new Map(
  [
    'API AWS GCP JWT PAT SSH SQL XSS XXE SSRF CSRF LDAP XML YAML HTML HTTP URL TLS SSL DES MD5 SHA1 RSA ECB',
    'JNDI NoSQL OAuth GitHub GitLab OpenAI PyPI SendGrid DigitalOcean NPM CORS DOM JSON IV ID OS',
  ]
    .join(' ')
    .split(' ')
    .map((name) => [name.toLowerCase(), name] as const),
);

/** `python.lang.sql-injection` → `SQL injection`: a rule without a title still reads as words. */
export function titleOfRule(rule: string): string {
  const last = rule.split('.').findLast((part) => part !== '') ?? rule;
  const words = last.split(/[-_\s]+/).filter((word) => word !== '');
  const spelled = words.map((word) => SPELLINGS.get(word.toLowerCase()) ?? word).join(' ');
  return titleOf(spelled.charAt(0).toUpperCase() + spelled.slice(1));
}

/** `CWE-89` from `CWE-89: SQL Injection`, `cwe-89` or a list of such; ascending, each once. */
export function cweIds(...values: readonly unknown[]): string[] {
  const numbers = values
    .flat()
    .filter((value) => typeof value === 'string')
    .map((value) => /\bCWE-(\d{1,6})\b/i.exec(value)?.[1])
    .filter((digits) => digits !== undefined);
  return [...new Set(numbers.map(Number))].sort((a, b) => a - b).map((number) => `CWE-${number}`);
}

/** The first CVE id by number, so that an advisory with several always gets the same one. */
export function cveOf(ids: readonly (string | null | undefined)[]): string | null {
  const cves = ids
    .filter((id) => typeof id === 'string')
    .map((id) => id.toUpperCase())
    .filter((id) => CVE_ID.test(id))
    .sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  return cves[0] ?? null;
}

/** `pkg:npm/lodash@4.17.15?x=y#z` → `pkg:npm/lodash`: the package, whatever its version or where it came from. */
export function purlWithoutVersion(purl: string): string {
  const bare = nameWithoutSecrets(purl.split(/[?#]/, 1)[0] ?? purl);
  const at = bare.lastIndexOf('@');
  return at > bare.lastIndexOf('/') ? bare.slice(0, at) : bare;
}

/** `Upgrade lodash to 4.17.19`; several fixed versions are one for each release line. */
export function upgradeTo(name: string, versions: string | null): string | null {
  return versions === null ? null : titleOf(`Upgrade ${name} to ${versions.split(/,\s*/).join(' or ')}`);
}

/** The highest of the scores within their range; null where there is none. */
export function highest(scores: readonly (number | null | undefined)[], limit: number): number | null {
  const valid = scores.filter(
    (score) => typeof score === 'number' && score >= 0 && score <= limit,
  ) as number[];
  return valid.length === 0 ? null : Math.max(...valid);
}

/** A comment that tells a scanner to pass over its line, to the end of the comment or of the line. */
const HIDING_COMMENT =
  /(?:#|\/\/|\/\*|--|;|%)[ \t:#/*!-]{0,8}(?:nosem(?:grep)?\b|gitleaks:allow|(?:trivy|tfsec):\S{0,200}?ignore)[^\n]*?(?:\*\/|-->|$)/gim;

/**
 * Code as it counts for an identity: neither indentation nor line breaks do, nor does a comment that is meant to
 * hide it: with it, the finding would be another one, and the one that was known would be gone.
 */
export function normaliseCode(code: string): string {
  return code.replace(HIDING_COMMENT, '').replace(/\s+/g, ' ').trim();
}

/**
 * Embeddings, overrides and isolates: a text would read otherwise than it is (and so would the list that it is in).
 * Tags: letters that nobody sees.
 */
const OVERRIDES = /[\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;

/** Control characters would steer the terminal of who lists the findings. */
function withoutControls(text: string, replacement: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, replacement).replace(OVERRIDES, '');
}

function cut(text: string, length: number): string {
  if (text.length <= length) return cleanTexts.remember(text.toWellFormed());
  // Half a surrogate pair, cut through or brought along, is no text that a store takes.
  return `${text
    .slice(0, length - 1)
    .toWellFormed()
    .trimEnd()}…`;
}
