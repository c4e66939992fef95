import { pageOf } from '#http/paging.ts';

/** Family A's lists are complete, or by page where the caller asks for one: never silently cut (design 2). */
export function chosenPage<T>(
  all: readonly T[],
  query: { page?: number | undefined; per_page?: number | undefined },
): readonly T[] {
  if (query.page === undefined && query.per_page === undefined) return all;
  return pageOf(all, query.page ?? 1, query.per_page ?? 20).slice;
}
