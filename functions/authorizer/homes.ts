/** Where a bearer's user is found, and the organization that they joined first; null where they are in none. */
export interface Home {
  readonly userId: string;
  readonly orgId: string | null;
}

export type Homes = ReturnType<typeof createHomes>;

/** Enough for the people of a day; the oldest makes room. */
const MOST = 1000;

/**
 * Remembers where the user of a verified e-mail is found, so that a second request need not look
 * again. A hint and no more: user, e-mail and membership are read on every request, and a hint that
 * does not hold is forgotten.
 */
export function createHomes() {
  const homes = new Map<string, Home>();
  return {
    find: (email: string): Home | null => homes.get(email.toLowerCase()) ?? null,
    remember(email: string, home: Home): void {
      const oldest = homes.size >= MOST ? homes.keys().next().value : undefined;
      if (oldest !== undefined) homes.delete(oldest);
      homes.set(email.toLowerCase(), home);
    },
    forget(email: string): void {
      homes.delete(email.toLowerCase());
    },
  };
}
