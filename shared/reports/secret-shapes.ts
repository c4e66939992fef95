/**
 * Secrets that a text gives away by their looks alone: where a scanner's words quote one that Gitleaks
 * does not know, or Gitleaks was not there. Every pass is linear in the text, which can be as long as a
 * report: no pattern has a repetition that a later part of it could make it take back.
 */

import { hash } from 'node:crypto';
import { type SecretRange, secretsByRules } from './gitleaks-rules/secrets-by-rules.ts';
import { decoded, replaceEncoded } from './secret-encodings.ts';
import { withoutAwsSecrets, withoutElements, withoutSaid } from './secret-prose.ts';
import { isSecret, isTerm, isWords, looksGiven, PLACEHOLDER, REDACTED } from './secret-values.ts';
import { withoutCommandSecrets, withoutQuoted } from './secret-words.ts';

export { REDACTED } from './secret-values.ts';

/**
 * Tokens with a well-known beginning; nothing follows the repetition, so that a match takes all that it
 * looked at. Bounded far above what there is, because the regex engine's stack is.
 */
const TOKENS = new RegExp(
  [
    '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,4096}',
    'gh[opusr]_[A-Za-z0-9]{16,4096}',
    'github_pat_\\w{16,4096}',
    'gl(?:pat|ptt|dt|rt|cbt|soat|agent|oas|ft)-[\\w-]{16,4096}',
    'xox[abeprs]-[\\w-]{8,4096}',
    'xapp-[\\w-]{16,4096}',
    '[rs]k_(?:live|test)_\\w{8,4096}',
    'svc_[as]k_\\w{8,4096}',
    'whsec_[\\w+/=-]{8,4096}',
    'AIza[\\w-]{30,4096}',
    'npm_[A-Za-z0-9]{20,4096}',
    'pypi-[A-Za-z0-9_]{16}[\\w-]{0,4096}',
    // A JSON web token, or any other JSON in base64 that is long enough to tell something.
    '(?<![A-Za-z0-9])eyJ[\\w-]{14,16384}(?:\\.[\\w-]{1,16384}){0,4}',
    '(?<![A-Za-z0-9])sk-(?:(?:ant|proj|svcacct|or)-[\\w-]{16,4096}|[A-Za-z0-9]{32,4096})',
    '(?<![A-Za-z0-9])hf_[A-Za-z0-9]{24,4096}',
    'SG\\.[\\w-]{16,64}\\.[\\w-]{16,4096}',
    'dop_v1_[a-f0-9]{32,4096}',
    'shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{24,4096}',
    'AGE-SECRET-KEY-1[A-Z0-9]{20,4096}',
    'ya29\\.[\\w-]{16,4096}',
    'hvs\\.[\\w-]{16,4096}',
    'hooks\\.slack\\.com/services/[\\w/-]{16,4096}',
    'discord(?:app)?\\.com/api/(?:v\\d{1,2}/)?webhooks/\\d{1,30}/[\\w-]{16,4096}',
    // Of a Telegram bot.
    '(?<![\\d.])\\d{8,10}:A[\\w-]{34,4096}',
    'GOCSPX-[\\w-]{16,4096}',
    'dckr_[po]at_[\\w-]{16,4096}',
    'ATATT3[\\w=-]{16,4096}',
    'figd_[\\w-]{16,4096}',
    'lin_api_[A-Za-z0-9]{16,4096}',
    '(?<![A-Za-z0-9])dapi[a-f0-9]{32,4096}',
    'NRAK-[A-Z0-9]{16,4096}',
    'rubygems_[a-f0-9]{32,4096}',
    'pscale_(?:tkn|pw|oauth)_[\\w.-]{16,4096}',
  ].join('|'),
  'g',
);

const KEY_BLOCK = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** A line of a block whose end was cut off, with whatever breaks it from the one before. */
const KEY_LINE = /[^A-Za-z0-9+/=]{0,8}[A-Za-z0-9+/=]{24,4096}/y;

/** Of an address with a scheme, or of one that begins with two slashes where a text or a word does. */
const USER_INFO = /(?:(\b[a-z][a-z0-9+.-]{0,30})?:|(?<![^\s"'`(<=,]))\/{2,8}([^\s/?#"'<>]{1,4096})@/gi;
const CREDENTIALS = /\b(Bearer|Basic) {1,4}([\w.~+/-]{16,16384}={0,2})/gi;
/** Behind the header's own name less is enough. */
const AUTHORIZATION =
  /(\bAuthorization\\?["'`]? {0,3}(?:=>|[:=,]) {0,3}\\?["'`]?)((?:Bearer|Basic|token|ApiKey|AWS4-HMAC-SHA256) {1,4})?([^\s"'`,;<>\\]{8,4096})/gi;
/** Without a scheme it has to look like a token. */
const BARE = /^(?=.{0,200}[\d=])[\w.~+/-]{16,4096}={0,2}$/;
const ORACLE = /(jdbc:oracle:[a-z]{1,10}:[^\s/@"'`]{1,128}\/)([^\s@"'`]{1,128})(?=@)/gi;
const SIGNATURES = /([?&;](?:sig|signature|x-amz-signature|auth|jwt)=)([^\s&"'<>;#]{1,4096})/gi;

/** What a browser or a client is known by for as long as it is signed in. */
const SESSIONS = /(\b(?:[a-z]{0,20}_?sess(?:ion)?(?:_?id)?|sid|connect\.sid)=)([^\s;,&"'<>]{12,4096})/gi;

/** The end of a name that says what its value is, an assignment, and the value's quote. */
const ASSIGNMENT = new RegExp(
  [
    '(pass(?:word|wd|phrase|code)|(?:store|key)?pass|pwd?|secret|token|credential|(?:api|access|account|private|signing|encryption)[ _-]?key)',
    '(s?)(?:[_-]?(?:key|id|value|text|string|hash|data|b64|base64))?\\d{0,3}(?:[_-]?id)?',
    '(\\\\?["\'`]?)( {0,3})(={1,3}>?|:=|:)( {0,3})(\\\\?["\'`]?)',
  ].join(''),
  'gi',
);
const UNQUOTED = /[^\s"'`&;<>]*/y;
/** How templates, code and other names begin that stand in a value's place. */
const NO_VALUE =
  /^(?:\$\{|\$\(|\$[a-z_]+(?![\w$])|\{\{|\{\w{0,20}\}(?!\w)|\[[\w ]{0,20}\]|%[sd(]|%\w{1,30}%|:|\/\/|REDACTED|(?:process|os|config|settings|req|request|params|this|self|secrets|env|vars?)[.[]|[a-z_$][\w$.]{0,60}\()/i;

const MAX_PASSES = 4;

/**
 * What is looked through. Callers cut their texts far below it; what comes behind it all the same is left out rather
 * than shown unseen.
 */
const LONGEST = 64 * 1024;

/** The text without the secrets in it. Twice is the same as once. */
export function withoutSecrets(text: string): string {
  return settled(text.slice(0, LONGEST), true);
}

/**
 * The same for what names something (rules, paths, packages), where a colon separates parts of the name:
 * `secrets:S6290` is a rule.
 */
export function nameWithoutSecrets(name: string): string {
  if (name.length <= LONGEST) return settled(name, false);
  // What is left out still tells one from the other.
  return `${settled(name.slice(0, LONGEST), false)}~${hash('sha256', name, 'hex').slice(0, 16)}`;
}

/** Layers of encodings that are looked through: an entity within an entity, base64 within base64. */
const MAX_LAYERS = 3;

/**
 * A text is looked through as it is, and as it reads without its encodings. It is shown as it is, unless only
 * the other reading shows a secret: then that one is, without it.
 */
function settled(text: string, colons: boolean, layer = 0): string {
  const clean = afterPasses(text, colons);
  if (layer === MAX_LAYERS) return clean;
  const isShown = (inside: string) => settled(inside, true, layer + 1) === inside;
  const shown = replaceEncoded(clean, isShown, REDACTED);
  const reading = decoded(shown);
  if (reading === shown) return shown;
  const read = settled(reading, colons, layer + 1);
  return read === reading ? shown : read;
}

/** What one pass takes away may show what stood beside it; texts without secrets are gone through once. */
function afterPasses(text: string, colons: boolean): string {
  let clean = cleaned(text, colons);
  for (let before = text, passes = 1; clean !== before && passes < MAX_PASSES; passes += 1) {
    before = clean;
    clean = cleaned(before, colons);
  }
  return clean;
}

function cleaned(text: string, colons: boolean): string {
  if (text.length < 8) return text;
  // The halves of a pair of AWS keys tell each other: before either of them is gone.
  const keys = withoutAwsSecrets(withoutKeyBlocks(text));
  const tokens = withoutRanges(withoutUsers(keys).replace(TOKENS, REDACTED), secretsByRules, !colons);
  // Once more: a token with a slash in it hides the user that it is part of.
  const clean = withoutAssigned(withoutHeaders(withoutUsers(tokens)), colons);
  const words = withoutElements(clean);
  return colons ? withoutSaid(withoutCommandSecrets(withoutQuoted(words))) : words;
}

function withoutRanges(
  text: string,
  find: (text: string, isName: boolean) => readonly SecretRange[],
  isName: boolean,
): string {
  let clean = '';
  let copied = 0;
  for (const { start, end } of find(text, isName).toSorted((a, b) => a.start - b.start)) {
    if (end <= copied) continue;
    // Two that overlap are one.
    clean += start < copied ? '' : text.slice(copied, start) + REDACTED;
    copied = end;
  }
  return clean + text.slice(copied);
}

function withoutHeaders(text: string): string {
  return text
    .replace(CREDENTIALS, (all, scheme: string, value: string) =>
      /[\d=]/.test(value) && !isWords(value) ? `${scheme} ${REDACTED}` : all,
    )
    .replace(AUTHORIZATION, (all, header: string, scheme: string | undefined, value: string) =>
      isPlain(value) || isWords(value) || (scheme === undefined && !BARE.test(value))
        ? all
        : header + (scheme ?? '') + REDACTED,
    )
    .replace(ORACLE, (all, user: string, value: string) => (isPlain(value) ? all : user + REDACTED))
    .replace(SESSIONS, (all, name: string, value: string) =>
      looksGiven(value, 12) && !isPlain(value) && !isWords(value) ? name + REDACTED : all,
    )
    .replace(SIGNATURES, (all, name: string, value: string) => (isSecret(value) ? name + REDACTED : all));
}

function withoutKeyBlocks(text: string): string {
  if (!text.includes('-----BEGIN ')) return text;
  const head = new RegExp(KEY_BLOCK);
  let clean = '';
  let copied = 0;
  let ended = true;
  for (let found = head.exec(text); found; found = head.exec(text)) {
    const end: number = ended ? text.indexOf('-----END ', head.lastIndex) : -1;
    // Searched for once in vain is enough: each further head would look through all the rest again.
    ended = end !== -1;
    head.lastIndex = ended ? endOfLine(text, end) : endOfKeyLines(text, head.lastIndex);
    clean += text.slice(copied, found.index) + REDACTED;
    copied = head.lastIndex;
  }
  return clean + text.slice(copied);
}

function endOfLine(text: string, end: number): number {
  const dashes = text.indexOf('-----', end + '-----END '.length);
  return dashes === -1 || dashes - end > 60 ? end + '-----END '.length : dashes + 5;
}

function endOfKeyLines(text: string, from: number): number {
  let end = from;
  KEY_LINE.lastIndex = from;
  while (KEY_LINE.test(text)) end = KEY_LINE.lastIndex;
  return end;
}

function withoutUsers(text: string): string {
  return text.includes('@') ? text.replace(USER_INFO, withoutUserInfo) : text;
}

/** In the middle of a text only a colon tells `//ann:pw@host` from the remark `//ann@host`. */
function withoutUserInfo(
  all: string,
  scheme: string | undefined,
  user: string,
  at: number,
  text: string,
): string {
  const colon = user.indexOf(':');
  const end = at + all.length;
  const bare = all.startsWith('/');
  if (colon === -1 && (bare ? at > 0 : VERSION.test(text.slice(end, end + 40)))) return all;
  const clean = colon === -1 ? cleanName(user, scheme ?? '') : cleanPair(user, colon);
  return `${all.slice(0, all.length - user.length - 1)}${clean}@`;
}

/** `docker://alpine@sha256:…`, `npm://lodash@4.17.21`: no host. */
const VERSION = /^(?:sha\d{3}:|v?\d+(?:\.\d+){0,2}(?![\d.]))/;

/** Over SSH a name tells who asks, and `git` does so everywhere; elsewhere it is a token as well as a name. */
function cleanName(user: string, scheme: string): string {
  return user === 'git' || /^(?:.*\+)?(?:ssh|sftp|scp)$/i.test(scheme) || PLACEHOLDER.test(user)
    ? user
    : REDACTED;
}

function cleanPair(user: string, colon: number): string {
  const [name, password] = [user.slice(0, colon), user.slice(colon + 1)];
  // A token stands in the name's place, with nothing or the word that a host wants for a password.
  const token = colon >= 20 || ((password === '' || password === 'x-oauth-basic') && name !== 'git');
  const shown = token && !PLACEHOLDER.test(name) ? REDACTED : name;
  return `${shown}:${password === '' || PLACEHOLDER.test(password) ? password : REDACTED}`;
}

function withoutAssigned(text: string, colons: boolean): string {
  const assignment = new RegExp(ASSIGNMENT);
  let clean = '';
  let copied = 0;
  for (let found = assignment.exec(text); found; found = assignment.exec(text)) {
    const [, name = '', plural, closing, before = '', sign = '', after = '', quote = ''] = found;
    const start = assignment.lastIndex;
    // `secrets:read` and `arn:…:secret:name` are names.
    if (sign === ':' && (!colons || plural || text[found.index - 1] === ':')) continue;
    if (quote !== '' && closing === '' && endsQuotation(text, found.index, start, quote)) continue;
    if (SHORT_NAME.test(name) && !isName(text, found.index)) continue;
    const end = endOfValue(text, start, quote);
    const value = text.slice(start, end);
    if (!isSecret(value)) continue;
    // `password: must be changed` is a sentence: where there is space, the value has to look the part.
    const written = before + after !== '' && !(quote !== '' && (sign !== ':' || closing !== ''));
    if (quote === '' && isWord(text, found.index, name, value, written && sign === ':')) continue;
    if (written && !looksGiven(value, /^p/i.test(name) ? 6 : 10)) continue;
    // `secret: rotation90days is on` too.
    if (
      written &&
      quote === '' &&
      SENTENCE.test(text.slice(end, end + 3)) &&
      /^[a-z]+\d{1,4}[a-z]*$/i.test(value)
    )
      continue;
    clean += text.slice(copied, start) + REDACTED;
    copied = end;
    assignment.lastIndex = end;
  }
  return clean + text.slice(copied);
}

/** Such a name is also the end of `bypass` and `compass`. */
const SHORT_NAME = /^p(?:ass|w)$/i;
/** A word goes on, and so does the sentence. */
const SENTENCE = /^ [a-z]/;

function isName(text: string, at: number): boolean {
  const before = text[at - 1] ?? ' ';
  return !/[a-z\d]/i.test(before) || (/[a-z\d]/.test(before) && text[at] === 'P');
}

/**
 * `passwordHash=BCrypt.hash` is code, `pass=always` says how, and `PASS: TestLog4j` is a test's; but `DB_PASS=`
 * and `&pass=` are settings.
 */
function isWord(text: string, at: number, name: string, value: string, listed: boolean): boolean {
  // A longer one, looked at again for each name in it, would take its time.
  if (value.length > 80) return false;
  if (/^[A-Z][A-Za-z]{0,60}(?:\.[a-z][A-Za-z_]{0,60}){1,8}$/.test(value)) return true;
  return SHORT_NAME.test(name) && (listed || !/\d/.test(value)) && !/[_?&;-]/.test(text[at - 1] ?? ' ');
}

function isPlain(value: string): boolean {
  return PLACEHOLDER.test(value) || NO_VALUE.test(value) || isTerm(value);
}

/** Whether it is the sentence that goes on behind the quote: set "token=" to nothing. */
function endsQuotation(text: string, name: number, start: number, quote: string): boolean {
  let at = name - 1;
  while (at >= 0 && name - at < 40 && /[\w.?&-]/.test(text[at] ?? '')) at -= 1;
  return text[at] === quote.at(-1) || /[\s.,:;!?)\]}]/.test(text[start] ?? ' ');
}

/** Where the value that begins at `start` ends; `start` itself where there is none. */
function endOfValue(text: string, start: number, quote: string): number {
  // Before it is looked at as a whole, which might be a lot and come again for each name in it.
  if (NO_VALUE.test(text.slice(start, start + 80))) return start;
  const mark = quote.at(-1);
  if (mark === undefined) {
    UNQUOTED.lastIndex = start;
    return start + withoutEnding(UNQUOTED.exec(text)?.[0] ?? '');
  }
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === '\n' || character === mark) return at;
    if (character !== '\\') continue;
    // In JSON that is a text of JSON itself, the quotes are escaped.
    if (quote.length > 1 && text[at + 1] === mark) return at;
    at += 1;
  }
  return text.length;
}

/** Length of a value without the punctuation of the sentence that it ends. */
function withoutEnding(value: string): number {
  let length = value.length;
  while (length > 0 && '.,:!?)]}|\\…'.includes(value[length - 1] ?? '')) length -= 1;
  return length;
}
