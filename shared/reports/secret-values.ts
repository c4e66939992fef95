/** What stands in place of a secret. */
export const REDACTED = 'REDACTED';

/** What stands for a value that the reader is to put in, as a whole. */
export const PLACEHOLDER =
  /^(?:<[\w .-]{1,60}>|\$\{[\w.:-]{1,60}\}|\$\w{1,60}|\{\{? ?[\w.]{0,60} ?\}?\}|%\w{1,60}%|%[sd]|[x*.]{1,60}|REDACTED|your[_-][\w-]{1,60})$/i;
/** Words that say that there is none, or of which kind it is. */
export const NO_SECRET =
  /^(?:true|false|null|nil|none|undefined|required|optional|string|str|value|x{1,40}|\d{1,5})$/i;

/** Whether what was assigned to a secret's name is one. */
export function isSecret(value: string): boolean {
  // The mark itself, also where it was cut through, is none.
  if (value.length < 4 || value.startsWith(REDACTED) || REDACTED.startsWith(value.replace('…', '')))
    return false;
  if (PLACEHOLDER.test(value)) return false;
  return value.length > 40 || (/[\p{L}\p{N}]/u.test(value) && !NO_SECRET.test(value));
}
