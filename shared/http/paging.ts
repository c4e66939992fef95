/** One page of a list that is at hand whole: the slice, and the envelope's numbers. */
export function pageOf<T>(all: readonly T[], page: number, perPage: number) {
  return {
    slice: all.slice((page - 1) * perPage, page * perPage),
    pagination: { page, per_page: perPage, total: all.length },
  };
}

/** Family A's bare lists: complete, or the page that the caller asks for; never silently cut (design 2). */
export function wholeOrPage<T>(
  all: readonly T[],
  query: { readonly page?: number | undefined; readonly per_page?: number | undefined },
): readonly T[] {
  if (query.page === undefined && query.per_page === undefined) return all;
  return pageOf(all, query.page ?? 1, query.per_page ?? 20).slice;
}

/** Entries by `name`, `-name`, `created_at` or `-created_at`; ids make the order total. */
export function sortEntries<T extends { id: string; name: string; created_at: string }>(
  entries: readonly T[],
  sort: 'name' | '-name' | 'created_at' | '-created_at',
): T[] {
  const by = sort.endsWith('name') ? (entry: T) => entry.name.toLowerCase() : (entry: T) => entry.created_at;
  const direction = sort.startsWith('-') ? -1 : 1;
  return entries.toSorted((a, b) => direction * (compare(by(a), by(b)) || compare(a.id, b.id)));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
