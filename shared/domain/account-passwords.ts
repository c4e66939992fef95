/** Names the password that an account was made with; those chosen with invitations have ids of their own. */
export const FIRST_PASSWORD = 'first';

/** Of a membership: id of the password that opens it. Absent: the first; null: none, an identity provider alone. */
export interface Opened {
  readonly password?: string | null | undefined;
}

/**
 * Whether a membership is open to who signed in like this. A password opens what was accepted with it and
 * nothing else, so that whoever chose one for an account never gets into another organization by it.
 * @param password null: an identity provider signed in, which has bounds of its own
 */
export function isOpenTo({ password: needed = FIRST_PASSWORD }: Opened, password: string | null): boolean {
  return password === null || needed === password;
}
