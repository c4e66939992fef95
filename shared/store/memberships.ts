import * as z from 'zod';
import { FIRST_PASSWORD } from '#domain/account-passwords.ts';
import type { Attribution } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { notFound, ServiceError } from '#domain/errors.ts';
import { MEMBER_ROLES, type MemberRole } from '#domain/vocabulary.ts';
import { memberKey, orgKey, userOrgKey } from './keys.ts';
import type { Write } from './table.ts';

export const MembershipRecord = z.object({
  org_id: z.string(),
  user_id: z.string(),
  role: z.enum(MEMBER_ROLES),
  created_at: z.string(),
  /** Id of the password that opens it: absent the first one of the account; null: none, an identity provider alone. */
  password: z.string().nullable().optional(),
});
export type MembershipRecord = z.infer<typeof MembershipRecord>;

/** Admins are counted, so that the last one can be neither removed nor demoted. */
export function adminCountWrite(orgId: string, by: 1 | 0 | -1): Write {
  return {
    Update: {
      Key: orgKey(orgId),
      UpdateExpression: 'ADD admin_count :by',
      ConditionExpression:
        by === -1 ? 'admin_count > :one' : 'attribute_exists(pk) AND attribute_not_exists(deleted_at)',
      ExpressionAttributeValues: { ':by': by, ...(by === -1 && { ':one': 1 }) },
    },
    otherwise: () =>
      by === -1
        ? new ServiceError('conflict', 'The last admin of an organization can be neither removed nor demoted')
        : notFound('organization'),
  };
}

/** @param password id of the password that opens the membership; null: none, an identity provider alone */
export function membershipWrites(
  orgId: string,
  userId: string,
  role: MemberRole,
  attribution: Attribution,
  password: string | null,
): Write[] {
  const created_at = timestamp(attribution.at);
  const opened = password === FIRST_PASSWORD ? {} : { password };
  return [
    {
      Put: {
        Item: { ...memberKey(orgId, userId), org_id: orgId, user_id: userId, role, created_at, ...opened },
        ConditionExpression: 'attribute_not_exists(pk)',
      },
      otherwise: () => new ServiceError('already_exists', 'The user is a member of the organization'),
    },
    { Put: { Item: { ...userOrgKey(userId, orgId), org_id: orgId } } },
  ];
}
