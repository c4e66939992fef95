/** The text can't be told here: the reactor has to. */
export const DEFERRED = Symbol('deferred');

const VERB = /%([-+0]*)(\d*)(?:\.(\d*))?(.)/gsu;

/**
 * Rego's `sprintf`, which is Go's `fmt.Sprintf`, for the verbs and values that policies use: `%s %v %d %f %%` with
 * strings, numbers, booleans and null. Arrays and objects are deferred, because sets have become arrays on their
 * way here; so is everything that Go formats by rules of its own, a wrong verb above all.
 */
export function goFormat(format: string, values: readonly unknown[]): string | typeof DEFERRED {
  let used = 0;
  let deferred = false;
  const give = () => {
    deferred = true;
    return '';
  };
  const text = format.replace(
    VERB,
    (whole, flags: string, width: string, precision: string | undefined, verb: string) => {
      if (whole === '%%') return '%';
      if (used >= values.length) return give();
      const value = values[used];
      used += 1;
      const shown = show(verb, precision, value);
      return shown === null
        ? give()
        : (pad(shown, flags, Number(width), typeof value === 'number') ?? give());
    },
  );
  // A lone % at the end, and values that no verb took, are told about by Go within the text.
  return deferred || used !== values.length || /%$/.test(format.replaceAll('%%', '')) ? DEFERRED : text;
}

function show(verb: string, precision: string | undefined, value: unknown): string | null {
  if (typeof value === 'number') return showNumber(verb, precision, value);
  if (precision !== undefined || (verb !== 's' && verb !== 'v')) return null;
  // To Go what is no number has become text before it is formatted.
  return typeof value === 'object' && value !== null ? null : String(value);
}

function showNumber(verb: string, precision: string | undefined, value: number): string | null {
  if (Number.isInteger(value)) {
    const exact = Number.isSafeInteger(value) && !Object.is(value, -0);
    return exact && precision === undefined && (verb === 'd' || verb === 'v') ? String(value) : null;
  }
  if (verb === 'v' && precision === undefined) return shortest(value);
  return verb === 'f' ? fixed(value, Number(precision ?? 6)) : null;
}

/** Both write the fewest digits that read back; Go's exponent starts earlier and has two digits. */
function shortest(value: number): string | null {
  return Math.abs(value) >= 1e-4 ? String(value) : null;
}

/** Both round exactly but for ties, which JavaScript takes up and Go to the even digit. */
function fixed(value: number, digits: number): string | null {
  if (digits > 20 || Math.abs(value) >= 1e15) return null;
  const rest = value.toFixed(100).split('.')[1]?.slice(digits) ?? '';
  return /^50*$/.test(rest) ? null : value.toFixed(digits);
}

function pad(text: string, flags: string, width: number, isNumber: boolean): string | null {
  if (flags === '' && width === 0) return text;
  if (flags !== '' && flags !== '-' && !(isNumber && flags === '0')) return null;
  // Widths are of code points.
  const missing = width - Array.from(text).length;
  if (missing <= 0) return text;
  if (flags === '-') return text + ' '.repeat(missing);
  if (flags === '') return ' '.repeat(missing) + text;
  const sign = text.startsWith('-') ? '-' : '';
  return sign + '0'.repeat(missing) + text.slice(sign.length);
}
