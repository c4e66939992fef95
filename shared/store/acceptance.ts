import { FIRST_PASSWORD } from '#domain/account-passwords.ts';
import { ServiceError } from '#domain/errors.ts';
import { userKey } from './keys.ts';
import type { Write } from './table.ts';
import type { UserRecord } from './users.ts';

/**
 * Passwords of one account beside its first: they are part of what every request reads of its user. Strangers can
 * add some, by inviting the person and accepting themselves: a member whom a void password shut out comes in again
 * whatever their number.
 */
const MOST_PASSWORDS = 100;

/** What an invitation is accepted with: the account's item must still be so when it is. */
export type Acceptance =
  /** What the caller is signed in with: id of a password of the account; null: an identity provider. */
  | { readonly password: string | null }
  /** A new password; `kept`: those of the account's that open any membership, beside the first. */
  | { readonly chosen: { readonly id: string; readonly hash: string }; readonly kept: readonly string[] };

/** What the account has to be when it accepts; a password chosen with the invitation is added to it. */
export function accountWrite(user: UserRecord, acceptance: Acceptance, isMember: boolean): Write {
  const Key = userKey(user.id);
  if ('chosen' in acceptance)
    return { Update: { Key, ...choosing(user, acceptance, isMember) }, otherwise: changedMeanwhile };
  const { password } = acceptance;
  return { ConditionCheck: { Key, ...signedInWith(password) }, otherwise: changedMeanwhile };
}

/** What opens nothing any more makes room. */
function choosing(
  user: UserRecord,
  { chosen, kept }: Extract<Acceptance, { chosen: object }>,
  isMember: boolean,
) {
  const left = Object.entries(user.passwords ?? {}).filter(([id]) => kept.includes(id));
  if (left.length >= MOST_PASSWORDS && !isMember)
    throw new ServiceError('conflict', 'The account has as many passwords as it may: accept signed in');
  const { id, hash } = chosen;
  const passwords = { ...Object.fromEntries(left), [id]: { hash, generation: 0 } };
  return {
    UpdateExpression: 'SET passwords = :passwords',
    ConditionExpression: `attribute_exists(pk) AND ${user.passwords ? 'passwords = :before' : 'attribute_not_exists(passwords)'}`,
    ExpressionAttributeValues: {
      ':passwords': passwords,
      ...(user.passwords && { ':before': user.passwords }),
    },
  };
}

/** The account has that password still, and nobody else chose it; or an identity signs it in. */
function signedInWith(password: string | null) {
  if (password === null)
    return {
      ConditionExpression: 'attribute_exists(#identity)',
      ExpressionAttributeNames: { '#identity': 'identity' },
    };
  if (password === FIRST_PASSWORD)
    return {
      ConditionExpression: 'attribute_type(password_hash, :text) AND attribute_not_exists(password_set_by)',
      ExpressionAttributeValues: { ':text': 'S' },
    };
  return {
    ConditionExpression: 'attribute_exists(passwords.#id)',
    ExpressionAttributeNames: { '#id': password },
  };
}

export function changedMeanwhile(): ServiceError {
  return new ServiceError('conflict', 'The account was changed meanwhile');
}
