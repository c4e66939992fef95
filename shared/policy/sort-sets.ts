/**
 * Sorts those members of a policy's document that are sets in Rego, as OPA shows them: null, false, true, numbers,
 * strings. False where a set has other members, whose order is not told here.
 */
export function sortSets(document: unknown, sets: readonly string[]): boolean {
  if (sets.length === 0 || typeof document !== 'object' || document === null) return true;
  const members = document as Record<string, unknown>;
  return sets.every((name) => {
    const set = members[name];
    if (!Array.isArray(set) || set.length === 0) return true;
    if (set.some((member) => typeof member === 'object' && member !== null)) return false;
    set.sort(compare);
    return true;
  });
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'string' && typeof b === 'string') return compareBytes(a, b);
  return rank(a) - rank(b) || Number(a) - Number(b);
}

function rank(value: unknown): number {
  if (value === null) return 0;
  return { boolean: 1, number: 2 }[typeof value as string] ?? 3;
}

/** Go compares UTF-8, JavaScript UTF-16: they differ where there are surrogates. */
function compareBytes(a: string, b: string): number {
  if (a === b) return 0;
  const surrogates = /[\ud800-\udfff]/;
  if (surrogates.test(a) || surrogates.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : 1;
}
