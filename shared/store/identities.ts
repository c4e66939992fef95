import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Attribution } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { auditWrite } from './audit.ts';
import { identityKey, slugKey, userKey } from './keys.ts';
import { applied, NotApplied, type Table, type Write } from './table.ts';
import { isUnconfirmed, type UserRecord, voiding } from './users.ts';

/** Who a token of an identity provider is about: its subject, whatever else the provider says of it. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

/** Identities of providers, and the users whom they sign in. */
export function createIdentityStore(table: Table) {
  return {
    /** The user whom an identity was bound to; one request. */
    async findIdentityUser(identity: Identity): Promise<string | null> {
      const item = z.object({ user_id: z.string() }).safeParse(await table.get(keyOf(identity)));
      return item.success ? item.data.user_id : null;
    },

    /**
     * Binds an identity and a user to each other, once for all. A password that somebody else chose for
     * the user is void with it.
     * @param orgId whose audit log tells of it
     * @returns false where one of them is bound already, or the user was changed meanwhile
     */
    async bindIdentity(
      user: UserRecord,
      identity: Identity,
      orgId: string | null,
      attribution: Attribution,
    ): Promise<boolean> {
      const now = timestamp(attribution.at);
      const told = auditWrite(orgId ?? '', attribution, {
        action: 'user.bind_identity',
        target: { type: 'user', id: user.id },
        changes: { issuer: { after: identity.issuer } },
      });
      return applied(
        table.transact([
          {
            Put: {
              Item: { ...keyOf(identity), ...identity, user_id: user.id, created_at: now },
              ConditionExpression: 'attribute_not_exists(pk)',
            },
            otherwise: () => new NotApplied('The identity is bound'),
          },
          bindWrite(user, identity, now),
          ...(orgId === null ? [] : [told]),
        ]),
      );
    },

    /** The organization that a slug names now; one request. */
    async findOrganizationId(slug: string): Promise<string | null> {
      const item = z.object({ org_id: z.string() }).safeParse(await table.get(slugKey(slug)));
      return item.success ? item.data.org_id : null;
    },
  };
}

function bindWrite(user: UserRecord, identity: Identity, now: string): Write {
  const { set, remove, condition, values } = isUnconfirmed(user)
    ? voiding(user, now)
    : { set: null, remove: null, condition: 'attribute_not_exists(password_set_by)', values: {} };
  return {
    Update: {
      Key: userKey(user.id),
      UpdateExpression: `SET ${['#identity = :identity', ...(set ? [set] : [])].join(', ')}${remove ? ` REMOVE ${remove}` : ''}`,
      ConditionExpression: `attribute_exists(pk) AND attribute_not_exists(#identity) AND ${condition}`,
      ExpressionAttributeNames: { '#identity': 'identity' },
      ExpressionAttributeValues: { ...values, ':identity': identity },
    },
    otherwise: () => new NotApplied('The user is bound, or was changed meanwhile'),
  };
}

/** Subjects are as long as their providers like; the key is not. */
function keyOf({ issuer, subject }: Identity) {
  return identityKey(
    createHash('sha256')
      .update(JSON.stringify([issuer, subject]))
      .digest('hex'),
  );
}
