/** What a CVE identifier is by the CVE record format: at most 19 digits. It is part of an index key, which is bounded. */
export const CVE_ID = /^CVE-\d{4}-\d{4,19}$/;

/** The first one that a text names, in capitals; null where it names none. */
export function findCve(text: string): string | null {
  return /CVE-\d{4}-\d{4,19}(?!\d)/i.exec(text)?.[0].toUpperCase() ?? null;
}
