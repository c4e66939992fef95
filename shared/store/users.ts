import * as z from 'zod';
import { FIRST_PASSWORD, type Opened } from '#domain/account-passwords.ts';
import { ServiceError } from '#domain/errors.ts';
import { emailKey, userKey } from './keys.ts';
import type { Write } from './table.ts';

const ChosenPassword = z.object({ hash: z.string(), generation: z.int() });

export const UserRecord = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  /** PHC string of argon2id; null where the identity provider signs the user in. */
  password_hash: z.string().nullable(),
  created_at: z.string(),
  last_login_at: z.string().nullable(),
  /** Counts changes of the password; absent before the first. A session of another generation is over. */
  session_generation: z.int().optional(),
  /** Who chose the password, where that was somebody else and the user has not chosen another one since. */
  password_set_by: z.string().optional(),
  /** Since when a password that somebody else chose is void. */
  password_void_since: z.string().optional(),
  /** Passwords that were chosen with invitations, by id: each reaches what was accepted with it. */
  passwords: z.record(z.string(), ChosenPassword).optional(),
  /** The one identity that signs the user in, whatever e-mail its provider tells. */
  identity: z.object({ issuer: z.string(), subject: z.string() }).optional(),
  organizations_made: z.int().optional(),
});
export type UserRecord = z.infer<typeof UserRecord>;

/** One of the passwords of an account. */
export interface Password {
  readonly id: string;
  readonly hash: string;
  readonly generation: number;
}

/** The passwords that an account has now: the one that it was made with, then the others as they were chosen. */
export function passwordsOf(user: UserRecord): Password[] {
  const { password_hash: hash, session_generation: generation = 0 } = user;
  // The store keeps a map in no order; ids are of their time.
  const chosen = Object.entries(user.passwords ?? {})
    .map(([id, password]) => ({ id, ...password }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  return [...(hash === null ? [] : [{ id: FIRST_PASSWORD, hash, generation }]), ...chosen];
}

/** That an account still has this very password: for the condition of a write to its item. */
export function stillHas({ id, hash }: Pick<Password, 'id' | 'hash'>) {
  if (id === FIRST_PASSWORD)
    return {
      ConditionExpression: 'password_hash = :verified',
      ExpressionAttributeNames: undefined,
      ExpressionAttributeValues: { ':verified': hash },
    };
  return {
    ConditionExpression: 'passwords.#password.#hash = :verified',
    ExpressionAttributeNames: { '#password': id, '#hash': 'hash' },
    ExpressionAttributeValues: { ':verified': hash },
  };
}

/**
 * A member whose password is gone: nobody can choose the same one anew, but an invitation of the same
 * organization lets them in with another one.
 */
export function isShutOut({ password = FIRST_PASSWORD }: Opened, user: UserRecord): boolean {
  if (password === FIRST_PASSWORD) return user.password_void_since !== undefined;
  return password !== null && user.passwords?.[password] === undefined;
}

/** What voids a password that somebody else chose, in a write to its user: every session of it ends too. */
export function voiding(user: UserRecord, now: string) {
  return {
    set: 'password_hash = :none, session_generation = :next, password_void_since = :now',
    remove: 'password_set_by',
    condition: 'password_hash = :held AND attribute_exists(password_set_by)',
    values: {
      ':none': null,
      ':next': (user.session_generation ?? 0) + 1,
      ':now': now,
      ':held': user.password_hash,
    },
  };
}

/** Whether somebody else chose the first password, and the user has not confirmed it by choosing another one. */
export function isUnconfirmed(user: UserRecord): boolean {
  return user.password_set_by !== undefined && user.password_hash !== null;
}

export function userWrites(user: UserRecord): Write[] {
  return [
    {
      Put: {
        Item: { ...emailKey(user.email), user_id: user.id },
        ConditionExpression: 'attribute_not_exists(pk)',
      },
      otherwise: () => new ServiceError('already_exists', 'A user with this e-mail exists'),
    },
    { Put: { Item: { ...userKey(user.id), ...user }, ConditionExpression: 'attribute_not_exists(pk)' } },
  ];
}
