import * as z from 'zod';

/** Where a price or quota was read, and the date that the page gives itself; or that it was read nowhere. */
export const Source = z.union([
  z.literal('unverified'),
  z.strictObject({
    page: z.string().min(8),
    date: z.string().regex(/^(undated|\d{4}(-\d{2}){0,2})$/),
  }),
]);
export type Source = z.output<typeof Source>;

export function sourceText(source: Source): string {
  return source === 'unverified' ? '**unverified**' : `${source.page} (${source.date})`;
}

/** How many of these nobody looked up, and which; and of how many the page has no date. */
export function coverage(all: readonly { readonly name: string; readonly source: Source }[]): string {
  const missing = all.filter(({ source }) => source === 'unverified').map(({ name }) => name);
  const undated = all.filter(({ source }) => source !== 'unverified' && source.date === 'undated');
  const which = missing.length === 0 ? '' : ` (${missing.join('; ')})`;
  return `Of ${all.length} prices and quotas ${missing.length} are unverified${which}, and ${undated.length} were read on pages without a date.`;
}
