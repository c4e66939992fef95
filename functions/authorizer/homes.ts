/** Where a bearer's user is found, and the organization that they joined first; null where they are in none. */
export interface Home {
  readonly userId: string;
  readonly orgId: string | null;
}

export type Homes = ReturnType<typeof createHomes>;

/** Enough for the people of a day; the oldest makes room. */
const MOST = 1000;

/**
 * Remembers where the user of an identity is found, so that a second request need not look again. A hint
 * and no more: user, identity and membership are read on every request, and a hint that does not hold is
 * forgotten. What a slug names is remembered for as long: an issuer's few.
 */
export function createHomes() {
  const homes = new Map<string, Home>();
  const slugs = new Map<string, string>();
  return {
    find: (identity: string): Home | null => homes.get(identity) ?? null,
    remember(identity: string, home: Home): void {
      const oldest = homes.size >= MOST ? homes.keys().next().value : undefined;
      if (oldest !== undefined) homes.delete(oldest);
      homes.set(identity, home);
    },
    forget(identity: string): void {
      homes.delete(identity);
    },
    /** The organization of a slug, asked for until there is one. */
    async ofSlug(slug: string, ask: (slug: string) => Promise<string | null>): Promise<string | null> {
      const orgId = slugs.get(slug) ?? (await ask(slug));
      if (orgId !== null) slugs.set(slug, orgId);
      return orgId;
    },
  };
}
