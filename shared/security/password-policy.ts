import { ServiceError } from '#domain/errors.ts';

/**
 * What a password must be when it is chosen, by NIST SP 800-63B-4, 3.1.1: long, not to be expected,
 * and nothing else. No rule of composition, no truncation, every character welcome, pasted or typed.
 * Signing in never asks this: a password that was accepted once goes on working.
 */
export const PASSWORD_LENGTH = {
  /** The guidance's minimum where the password is the only factor. */
  minimum: 15,
  /** Spec silent: twice the guidance's least maximum; long enough for every password manager. */
  maximum: 128,
} as const;

/** Whom the password is for: their own words are the first that anybody tries. */
export interface PasswordOwner {
  readonly email: string;
  readonly name: string;
}

/** What has to remain of a password when everything that is to be expected is taken away. */
const LEAST_REMAINDER = 6;

/**
 * What is wrong with a password that somebody wants to have, to be read after the field's name; empty
 * where nothing is. Characters are counted as Unicode code points after NFKC, the form that is hashed.
 * The password as a whole is judged, never a word that it happens to contain.
 */
export function passwordProblems(password: string, owner: PasswordOwner): string[] {
  // Half a surrogate pair has no bytes of its own: different passwords would become the same one.
  if (!password.isWellFormed()) return ['must be well-formed Unicode text'];
  const normal = password.normalize('NFKC');
  const length = [...normal].length;
  if (length < PASSWORD_LENGTH.minimum) return [`must have at least ${PASSWORD_LENGTH.minimum} characters`];
  if (length > PASSWORD_LENGTH.maximum) return [`must have at most ${PASSWORD_LENGTH.maximum} characters`];
  const folded = fold(normal);
  if (COMMON.has(folded)) return ['must not be one of the passwords that many people use'];
  if ([...remainder(folded, owner)].length < LEAST_REMAINDER)
    return [
      'must be more than an e-mail address, a name, the name of the service, common words, or repeated or sequential characters',
    ];
  return [];
}

/** Lower case, without spaces and punctuation; those alone make nothing less expected. */
function fold(text: string): string {
  const letters = text.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}]/gu, '');
  // Nothing but punctuation and emoji: then these are what it is made of.
  return letters === '' ? text : letters;
}

/** What is left without repetition, runs, the owner's words and the commonest ones. */
function remainder(folded: string, owner: PasswordOwner): string {
  const words = [...ownWords(owner), ...EXPECTED].sort((a, b) => b.length - a.length);
  let left = repeatedUnit(folded);
  for (const word of words) left = left.replaceAll(word, '');
  return repeatedUnit(withoutRuns(left));
}

function ownWords({ email, name }: PasswordOwner): string[] {
  const parts = [email, ...email.split(/[@.+_-]/), ...name.split(/\s+/), name];
  return [...new Set(parts.map((part) => fold(part.normalize('NFKC'))))].filter((word) => word.length >= 3);
}

/** `abcabcab` is `abc`: the shortest text whose repetition it is, the last one cut off or not. */
function repeatedUnit(text: string): string {
  const characters = [...text];
  for (let size = 1; size <= characters.length / 2; size += 1) {
    if (characters.every((character, index) => character === characters[index % size]))
      return characters.slice(0, size).join('');
  }
  return text;
}

/** Runs of at least three (`aaa`, `345`, `cba`, `qwert`) count as their first character. */
function withoutRuns(text: string): string {
  const characters = [...text];
  const kept: string[] = [];
  for (let index = 0; index < characters.length; ) {
    const length = runLength(characters, index);
    kept.push(...characters.slice(index, index + (length >= 3 ? 1 : length)));
    index += length;
  }
  return kept.join('');
}

function runLength(characters: readonly string[], start: number): number {
  const longest = STEPS.map((step) => {
    let end = start + 1;
    while (end < characters.length && step(characters[end - 1] ?? '', characters[end] ?? '')) end += 1;
    return end - start;
  });
  return Math.max(...longest);
}

/** Rows of a keyboard; the digits go round. */
const ROWS = ['qwertyuiop', 'qwertzuiop', 'asdfghjkl', 'zxcvbnm', 'yxcvbnm', '1234567890'];

/** Ways in which a character follows from the one before. */
const STEPS: readonly ((a: string, b: string) => boolean)[] = [
  (a, b) => a === b,
  (a, b) => b.codePointAt(0) === (a.codePointAt(0) ?? 0) + 1,
  (a, b) => b.codePointAt(0) === (a.codePointAt(0) ?? 0) - 1,
  (a, b) => ROWS.some((row) => row.includes(a + b)),
  (a, b) => ROWS.some((row) => row.includes(b + a)),
];

/** Words of the service and of passwords as such. */
const EXPECTED = [
  'applicationsecurityposturemanagement',
  'security',
  'aspm',
  'administrator',
  'admin',
  'passphrase',
  'password',
  'passwort',
  'passwd',
  'changeme',
  'default',
  'welcome',
  'letmein',
  'iloveyou',
  'secret',
  'login',
  'master',
  'qazwsx',
];

/**
 * Passwords of at least 15 characters, folded, that lists of leaked ones have most often, and those
 * that every text about passwords has made famous. What repetition, runs and common words explain
 * is refused without being named here.
 */
const COMMON: ReadonlySet<string> = new Set([
  '1q2w3e4r5t6y7u8i',
  '1q2w3e4r5t6y7u8i9o',
  '1q2w3e4r5t6y7u8i9o0p',
  '1qaz2wsx3edc4rfv',
  '1qaz2wsx3edc4rfv5tgb',
  '1qaz2wsx3edc4rfv5tgb6yhn',
  '1qazxsw23edcvfr4',
  'a1b2c3d4e5f6g7h8',
  'qazwsxedcrfvtgb',
  'qazwsxedcrfvtgbyhnujm',
  'q1w2e3r4t5y6u7i8',
  'q1w2e3r4t5y6u7i8o9p0',
  'zaq12wsxcde34rfv',
  'zaq1xsw2cde3vfr4',
  'correcthorsebatterystaple',
  'trustno1trustno1',
  'thequickbrownfox',
  'thequickbrownfoxjumpsoverthelazydog',
  'loremipsumdolorsitamet',
  'tobeornottobethatisthequestion',
  'maytheforcebewithyou',
  'onceuponatimeinaland',
  'iloveyousomuch1',
  'ilovemyboyfriend',
  'ilovemygirlfriend',
  'iloveyouforever',
  'ihatepasswords1',
  'mynameisinigomontoya',
  'openthedoorplease',
  'idontknowmypassword',
  'thisisapassword',
  'thisismypassword',
  'thisisnotapassword',
  'pleaseletmeinnow',
  'jesuslovesmeyes',
  'jesuschristislord',
  'liverpoolfootballclub',
  'manchesterunited',
  'manchesterunited1',
  'glasgowrangers1',
  'princessprincess1',
  'sunshinesunshine1',
  'dragonballzdragonballz',
  'harrypotterharrypotter',
  'winteriscoming1',
  'summer2024summer',
  'p4ssw0rdp4ssw0rd',
  'passw0rdpassw0rd',
]);

/** @throws ServiceError validation_error listing all that is wrong with the password */
export function refuseWeakPassword(field: string, password: string, owner: PasswordOwner): void {
  const details = passwordProblems(password, owner).map((problem) => ({
    field,
    message: `${field} ${problem}`,
  }));
  const [first] = details;
  if (first) throw new ServiceError('validation_error', first.message, { details });
}
