import * as z from 'zod';
import { fromOpaque, ID_PREFIXES, type IdKind } from '#domain/ids.ts';
import { isShowable, isShowableProse } from '#domain/written-text.ts';

/** ISO 8601 UTC with milliseconds. */
export const Timestamp = z.iso.datetime({ precision: 3 });

/** An identifier as Family A shows it: lower case, in whatever case it was sent. */
export const Uuid = z.uuid().toLowerCase();

/** An identifier as Family B shows it, in a response. */
export function opaqueId(kind: IdKind): z.ZodString {
  return z.string().regex(new RegExp(`^${ID_PREFIXES[kind]}_[0-9a-f]{32}$`));
}

/**
 * An identifier of Family B in a request: answers the UUID behind it. A malformed one in a path
 * is a 404 (the chain sees to that), in a query or body an invalid value.
 */
export function opaqueIdInput(kind: IdKind) {
  return z
    .string()
    .transform((text, context) => {
      const id = fromOpaque(kind, text);
      if (id !== null) return id;
      context.issues.push({
        code: 'custom',
        input: text,
        message: `must be an identifier of the shape ${ID_PREFIXES[kind]}_<id>`,
      });
      return z.NEVER;
    })
    .meta({ example: `${ID_PREFIXES[kind]}_0199c0de5eed7000a0000000000000aa` });
}

/** Comma-separated values of a query parameter; each must be of the list. */
export function commaSeparated<const Values extends readonly [string, ...string[]]>(values: Values) {
  const allowed: ReadonlySet<string> = new Set(values);
  return z
    .string()
    .transform((text, context): Values[number][] => {
      const chosen = text.split(',').map((value) => value.trim());
      if (chosen.every((value): value is Values[number] => allowed.has(value))) return [...new Set(chosen)];
      context.issues.push({ code: 'custom', input: text, message: `must be one of ${values.join(', ')}` });
      return z.NEVER;
    })
    .meta({ description: `Comma-separated: ${values.join(', ')}`, example: values[0] });
}

/** Comma-separated identifiers of Family B; answers UUIDs. At most 100, a page's worth. */
export function commaSeparatedIds(kind: IdKind) {
  return z
    .string()
    .transform((text, context): string[] => {
      const ids = text.split(',').map((value) => fromOpaque(kind, value.trim()));
      const known = ids.filter((id) => id !== null);
      if (known.length === ids.length && known.length <= 100) return [...new Set(known)];
      const message =
        known.length > 100
          ? 'must name at most 100 identifiers'
          : `must be identifiers of the shape ${ID_PREFIXES[kind]}_<id>`;
      context.issues.push({ code: 'custom', input: text, message });
      return z.NEVER;
    })
    .meta({ description: `Comma-separated identifiers of the shape ${ID_PREFIXES[kind]}_<id>, at most 100` });
}

/** A whole number in a query parameter, where every value arrives as text. */
export function queryInteger(minimum: number, maximum: number) {
  const bounds =
    maximum === Number.MAX_SAFE_INTEGER ? `at least ${minimum}` : `from ${minimum} to ${maximum}`;
  return z
    .string()
    .transform((text, context) => {
      const value = Number(text);
      if (/^\d{1,15}$/.test(text) && value >= minimum && value <= maximum) return value;
      context.issues.push({ code: 'custom', input: text, message: `must be a whole number ${bounds}` });
      return z.NEVER;
    })
    .meta({
      // As clients see it: the text of a query parameter is an integer to them.
      type: 'integer',
      description: `A whole number ${bounds}`,
      minimum,
      ...(maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
    });
}

/** `true` or `false` in a query parameter. */
export function queryBoolean() {
  return z
    .enum(['true', 'false'])
    .transform((value) => value === 'true')
    .meta({ type: 'boolean' });
}

/** `page` and `per_page` of every list: an out-of-range value is refused, never clamped (design 2). */
export const pageQuery = {
  page: queryInteger(1, 1_000_000).default(1).meta({ default: 1 }),
  per_page: queryInteger(1, 100).default(20).meta({ default: 20 }),
};

/** The same two of Family A's lists, which are complete where neither is sent (design 2). */
export const optionalPageQuery = {
  page: pageQuery.page.unwrap().optional(),
  per_page: pageQuery.per_page.unwrap().optional(),
};

const Pagination = z.object({
  page: z.int().min(1),
  per_page: z.int().min(1).max(100),
  total: z.int().min(0),
});

/** Of lists that can also be gone through by `cursor`; null on the last page. */
const CursorPagination = z.object({ ...Pagination.shape, next_cursor: z.string().nullable() });

/** Family B's list envelope, of lists that can also be gone through by `cursor`. */
export function cursorListOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), pagination: CursorPagination });
}

/** Family B's list envelope. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), pagination: Pagination });
}

/** Family B's answer to a delete. */
export function deletedOf(kind: IdKind) {
  return z.object({ id: opaqueId(kind), deleted: z.literal(true) });
}

/** Family A's answer to a delete. */
export const Deleted = z.object({ id: Uuid, deleted: z.literal(true) });

/** A name, or any text of one line that people write: trimmed, never empty, and nothing hidden in it. */
export function text(maximum: number) {
  return z
    .string()
    .trim()
    .min(1)
    .max(maximum)
    .refine(isShowable, 'must be one line without control characters or overrides of the writing direction');
}

/** Prose that people may also leave out or take away: with null, or with nothing but spaces. */
export function clearableText(maximum: number) {
  return z
    .string()
    .trim()
    .max(maximum)
    .refine(
      isShowableProse,
      'must not contain control characters, or characters that override the writing direction',
    )
    .transform((value) => (value === '' ? null : value))
    .nullish();
}

/** An organization's name in addresses. */
export const Slug = z
  .string()
  .min(2)
  .max(63)
  .regex(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/, 'must be lower-case letters, digits and inner hyphens');

/** A branch's name as git takes it (git-check-ref-format): above all no dash at its start, which a program could read as an option. */
export const BranchName = z
  .string()
  .min(1)
  .max(255)
  .regex(
    /^(?![-/])(?!.*(?:\.\.|\/\/|@\{))[^\s~^:?*[\\]*(?<![/.])(?<!\.lock)$/,
    'must be the name of a branch',
  )
  .refine(isShowable, 'must be the name of a branch');
