/**
 * Secrets that a sentence or a structure gives away: what is said of a password, in the languages that people write
 * in, elements and pairs of name and value. Linear in the text, as all of these.
 */

import { isSecret, isWords, looksGiven, PLACEHOLDER, REDACTED } from './secret-values.ts';
import { traitsOf } from './text-traits.ts';

/** Password, secret key and their like; with and without the marks that are left out where keyboards lack them. */
const WORDS = [
  'pass ?-?(?:word|phrase|code)s?',
  'passwd|pwd|(?:secret|private|access|api|encryption|signing|account)[ _-]?key|secret|api[ _-]?token|(?:access|auth|bearer|refresh)[ _-]?token|credentials?',
  // Spanish, Portuguese, French, Italian, German, Dutch, Swedish, Danish, Norwegian, Finnish
  'contrase[nñ]a|clave(?: secreta)?|senha|palavra-passe|mot de passe|mdp|parola(?: d.ordine)?|pa(?:ss|ß)wort|kennwort|wachtwoord|l[oö]senord|adgangskode|passord|salasana',
  // Polish, Czech, Hungarian, Romanian, Turkish, Vietnamese, Indonesian
  'has[lł]o|heslo|jelsz[oó]|parol[aă]|[sş]ifre(?:si)?|m[aậ]t kh[aẩ]u|kata sandi',
  // Russian, Ukrainian, Greek, Hebrew, Arabic, Persian, Hindi, Thai
  'парол[ьяюем]{1,2}|κωδικ[οό]ς|סיסמ[הא]|كلمة (?:المرور|السر)|رمز عبور|गुप्तशब्द|पासवर्ड|รหัสผ่าน',
  // Chinese, Japanese, Korean
  '密码|密碼|口令|密钥|密鑰|パスワード|暗証番号|비밀번호|암호',
].join('|');
const BEFORE = '(?<![\\p{L}\\p{N}])';
/** What stands between the word and its value: whose it is, and the word or sign for "is". */
const FILLER =
  '(?: (?:for|of|to|de|für|von|del|du|pour|для)(?: (?:the|a|our|my|your))?(?: [\\p{L}\\p{N}@._-]{1,40}){1,3})?';
const IS =
  '(?: ?(?::|=|=>|->|→|—|–|は|是|为|為|：) ?| (?:is|was|are|will be|set to|equals|ist|lautet|war|es|est|era|était|è|é|jest|je|är|er|on|это|είναι|है|คือ|la)(?: (?:now|still|currently|set to|just|only|simply))?:? )';
const SAID = new RegExp(
  `(?:${BEFORE}|(?<=[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}]))(?:${WORDS})${FILLER}${IS}["'\`«“„]?([^\\s"'\`«»“”„<>,;]{6,256})`,
  'giu',
);

/** Of these more is a name: `token: oauth2-client`, `secret: rotation90days`. */
const WEAK =
  /^(?:.?)(?:secret|token|credential|(?:api|access|account|auth|bearer|refresh|private|signing|encryption)[ _-]?(?:key|token))/iu;

/** What sentences are shown to say. */
export function withoutSaid(text: string): string {
  return text.replace(SAID, (all, value: string) => {
    const given = value.replace(/[.,:!?)\]}。、…]{1,8}$/u, '');
    if (!isGiven(given) || (WEAK.test(all) && isName(given))) return all;
    return all.slice(0, all.length - value.length) + REDACTED + value.slice(given.length);
  });
}

/** One word with a letter and a digit in it that is no term, no code and no place. */
function isGiven(value: string): boolean {
  if (value.startsWith(REDACTED) || !isSecret(value) || !looksGiven(value, 6)) return false;
  if (/[()[\]{}\\]|^[/.~@$%]|:\/\//.test(value)) return false;
  return (
    !/^[A-Za-z]+(?:[-_.:/][A-Za-z]+)+(?:[-_.]?v?\d{1,3})?$/.test(value) &&
    !/^[A-Z0-9]+(?:_[A-Z0-9]+)+$/.test(value)
  );
}

/** Words with numbers in or behind them. */
function isName(value: string): boolean {
  return isWords(value) || /^[a-z]{1,24}\d{1,4}(?:[a-z]{0,12}|(?:[-_.][a-z]+\d{0,4})+)$/i.test(value);
}

const SECRET_NAME =
  '(?:pass ?-?(?:word|phrase|code)|passwd|pwd|secret|token|credential|(?:api|access|account|private|signing|encryption)[._ -]?key)';

/** `<db:password type="x">…</`, also in CDATA; the value up to what closes it. */
const ELEMENT = new RegExp(
  `(<[\\w.:-]{0,40}${SECRET_NAME}([\\w.:-]{0,20})(?:\\s[^<>]{0,400})?>\\s{0,20}(?:<!\\[CDATA\\[)?)([^<>\\]]{4,4096})(?=\\]\\]>|<)`,
  'gi',
);
/** `name="db.password" value="…"`, `{"key": "API_KEY", "value": "…"}`, `<param name="password">…<`. */
const PAIR = new RegExp(
  `((?:name|key|id|param(?:eter)?|property)["']?\\s{0,4}[=:]\\s{0,4}["'][\\w.:/ -]{0,80}${SECRET_NAME}([\\w.-]{0,20})["'](?:\\s{0,8}>|\\s{0,8},?\\s{0,8}["']?(?:value|val|default|content|data)["']?\\s{0,4}[=:]\\s{0,4}["']))([^"'<>]{4,4096})`,
  'gi',
);

/** What elements and pairs of a name and a value hold. */
export function withoutElements(text: string): string {
  const mask = (all: string, before: string, ending: string, value: string): string => {
    const trimmed = value.trim();
    // `passwordPolicy` is `strict`, `tokenType` is `Bearer`.
    if (ending !== '' && isWords(trimmed)) return all;
    return isSecret(trimmed) && !PLACEHOLDER.test(trimmed) && !/^(?:\$\{|\{\{|#\{|%\(|\$\()/.test(trimmed)
      ? before + REDACTED
      : all;
  };
  const clean = text.includes('<') ? text.replace(ELEMENT, mask) : text;
  return clean.replace(PAIR, mask);
}

/** The secret half of a pair of AWS keys has no beginning to know it by: forty characters of its alphabet. */
const AWS_LENGTH = 40;
const AWS_SECRET = /(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/_-])/g;
const AWS_CONTEXT = /aws|amazon|akia|asia|secret|access.?key|credential|\biam\b|\bs3\b|密|秘/i;

/** Where the text around it speaks of such keys. */
export function withoutAwsSecrets(text: string): string {
  if (traitsOf(text).run < AWS_LENGTH) return text;
  return text.replace(AWS_SECRET, (value, at: number) => {
    const around = text.slice(Math.max(0, at - 160), at) + text.slice(at + 40, at + 100);
    return looksRandom(value) && AWS_CONTEXT.test(around) ? REDACTED : value;
  });
}

/** Paths of words are of the same alphabet. */
function looksRandom(value: string): boolean {
  const digits = value.replace(/\D/g, '').length;
  if (digits < 2 || !/[a-z]/.test(value) || !/[A-Z]/.test(value)) return false;
  return new Set(value).size >= 18 && !/[a-z]{8}/.test(value);
}
