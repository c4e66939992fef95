/** Secrets that words around them give away: quoted in a sentence, or an argument of a command. Linear in the text too. */

import { isSecret, isTerm, NO_SECRET, PLACEHOLDER, REDACTED } from './secret-values.ts';

const SECRET_NAME =
  '(?:pass(?:word|wd|phrase)|pwd|secret|token|credential|(?:api|access|account|private|signing|encryption|secret)[ _-]?key)';

/** A word for a secret, perhaps what the sentence says of it, and the quote that begins its value. */
const QUOTED = new RegExp(
  `${SECRET_NAME}s?(?:(?: (?:is|was|value|literal|string|of|set to|with value)){0,2}:? {1,3}|(\\() {0,2})(\\\\?["'\`])`,
  'gi',
);
const HARD_CODED = /hard[- ]?coded[\w -]{0,30}$/i;
/** `getSecret("a1")` asks for one by its name. */
const LOOKED_UP = /(?<![a-z])(?:get|find|read|load|fetch|lookup|resolve|describe|delete|has)\w{0,20}$/i;
/** What a sentence shows behind a colon, without quotes. */
const SHOWN = new RegExp(
  `(hard[- ]?coded [\\w -]{0,30}${SECRET_NAME}s?(?: (?:is|was|value|literal|string|detected|found)){0,3}: {1,3})([^\\s"'\`<>]{6,4096})`,
  'gi',
);
const LONGEST_VALUE = 200;

/** Whatever a sentence quotes as a hard-coded password; of other secrets what does not look like a name. */
export function withoutQuoted(text: string): string {
  const quoted = new RegExp(QUOTED);
  let clean = '';
  let copied = 0;
  for (let found = quoted.exec(text); found; found = quoted.exec(text)) {
    const start = quoted.lastIndex;
    const [, call, quote = ''] = found;
    const value = quotation(text, start, quote);
    // `ann:password "…"` is an argument, and the next one.
    if (value === null || text[found.index - 1] === ':') continue;
    const before = text.slice(Math.max(0, found.index - 40), found.index);
    if (call && LOOKED_UP.test(before)) continue;
    const certain = HARD_CODED.test(before) && !PLACEHOLDER.test(value) && !NO_SECRET.test(value);
    if (!certain && !looksGenerated(value)) continue;
    clean += text.slice(copied, start) + REDACTED;
    copied = start + value.length;
    quoted.lastIndex = copied;
  }
  return (clean + text.slice(copied)).replace(SHOWN, (all, words: string, value: string) =>
    looksGenerated(value.replace(/[.,;:!?)]{1,8}$/, '')) ? words + REDACTED : all,
  );
}

/** What stands between the quotes, on one line; null where nothing does. */
function quotation(text: string, start: number, quote: string): string | null {
  const near = text.slice(start, start + LONGEST_VALUE);
  const end = near.indexOf(quote);
  const value = end === -1 ? '' : near.slice(0, end);
  return value === '' || value.includes('\n') ? null : value;
}

/** Words with a number behind them, settings and algorithms: `db-secret-2`, `API_KEY_1`, `sha256`. */
const NAME =
  /^(?:[A-Za-z]+(?:[-_./:][A-Za-z]+)*(?:[-_.]v?\d{1,4})?|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|(?:oauth|sha|md|[HRE]S|aes|rsa|base|utf|ed|x|p|v)[-_]?\d{1,5}(?:[-_][a-z]+)*)$/;

/** What a shell puts in, an argument with a name of its own, and a mail address. */
const REFERENCE = /^(?:\$[({\w]|[a-z_-]{1,40}=|[^@]{1,200}@[\w.-]{1,200}[;,:]?$)/i;

/** One word of letters and digits, or of many digits, that is no name. */
function looksGenerated(value: string): boolean {
  if (/\s/.test(value) || value.length < 6 || NAME.test(value) || REFERENCE.test(value)) return false;
  if (isTerm(value)) return false;
  return /\d/.test(value) && isSecret(value);
}

/** The commands that take a secret as an argument, and how: the option, a quote, perhaps a name, and the value. */
const COMMANDS: readonly (readonly [RegExp, RegExp])[] = [
  [
    /\bcurl\s/,
    /(\s(?:-[A-Za-z]{0,8}[uU] {0,3}|--(?:proxy-)?user[= ]{1,3})["']?[^\s:"'`]{1,256}:)([^\s"'`]{1,4096})/g,
  ],
  [
    /\b(?:mysql(?:dump|admin|import|check)?|mariadb(?:-dump|-admin)?)\s/,
    /(\s-p["']?)([^\s"'`-][^\s"'`]{0,4096})/g,
  ],
  [/\bsshpass\s/, /(\s-p {0,3}["']?)([^\s"'`]{1,4096})/g],
  [
    /\b(?:docker|podman|nerdctl|buildah|skopeo|crane|helm registry|oc|az) login\s/,
    /(\s(?:-p|--password) {1,3}["']?)([^\s"'`-][^\s"'`]{0,4096})/g,
  ],
  [/\bredis-cli\s/, /(\s(?:-a|--pass) {1,3}["']?)([^\s"'`-][^\s"'`]{0,4096})/g],
  [
    /\b(?:keytool|jarsigner|apksigner)\s/,
    /(\s-(?:src|dest|ks-|key-)?(?:store|key)?pass {1,3}["']?)([^\s"'`-][^\s"'`]{0,4096})/g,
  ],
  [/\bldap(?:search|modify|add|delete|passwd)\s/, /(\s-w {0,3}["']?)([^\s"'`-][^\s"'`]{0,4096})/g],
  [/\b(?:zip|unzip)\s/, /(\s-P {0,3}["']?)([^\s"'`-][^\s"'`]{0,4096})/g],
  [/\bnet use\s/i, /(\s\/user:[^\s]{1,256} {1,3}["']?)([^\s"'`/][^\s"'`]{0,4096})/gi],
  [/\bopenssl\s/, /(\spass:)([^\s"'`]{1,4096})/g],
];
/** Most texts hold none of them: one look tells. */
const ANY_COMMAND =
  /\b(?:ldap|zip|unzip|[nN][eE][tT] [uU][sS][eE]|curl|mysql|mariadb|sshpass|login|redis-cli|openssl|keytool|jarsigner|apksigner)/;
const SEPARATORS = /(\n| \| |; | && )/;
const OPTION = new RegExp(`(--(?:[\\w-]{0,40}-)?${SECRET_NAME} {1,3}["']?)([^\\s"'\`]{6,4096})`, 'gi');

/** What commands are given as a password, and what looks like one behind any `--password`. */
export function withoutCommandSecrets(text: string): string {
  const clean = ANY_COMMAND.test(text) ? text.split(SEPARATORS).map(withoutArguments).join('') : text;
  if (!clean.includes('--')) return clean;
  return clean.replace(OPTION, (all, option: string, value: string) =>
    looksGenerated(value) ? option + REDACTED : all,
  );
}

function withoutArguments(line: string): string {
  for (const [command, argument] of COMMANDS) {
    const at = line.search(command);
    if (at === -1) continue;
    const masked = line
      .slice(at)
      .replace(argument, (all, option: string, value: string) => (isPlain(value) ? all : option + REDACTED));
    return line.slice(0, at) + masked;
  }
  return line;
}

function isPlain(value: string): boolean {
  return PLACEHOLDER.test(value) || /^\$[({\w]/.test(value) || value.startsWith(REDACTED);
}
