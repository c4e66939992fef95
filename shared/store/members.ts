import type { Attribution } from '#domain/actor.ts';
import { ServiceError } from '#domain/errors.ts';
import type { MemberRole } from '#domain/vocabulary.ts';
import { auditWrite } from './audit.ts';
import type { GroupMemberStore } from './group-members.ts';
import { invitationKey, memberKey, orgKey, userKey, userOrgKey } from './keys.ts';
import { adminCountWrite, MembershipRecord } from './memberships.ts';
import { releaseSessions } from './sessions.ts';
import type { Table, Write } from './table.ts';
import { UserRecord } from './users.ts';

/** A membership with the user behind it. */
export interface Member {
  readonly membership: MembershipRecord;
  readonly user: UserRecord;
}

export type MemberStore = ReturnType<typeof createMemberStore>;

/** Members of an organization. */
export function createMemberStore(table: Table, groups: GroupMemberStore) {
  async function get(orgId: string, userId: string): Promise<Member | null> {
    const [membership, user] = await table.batchGet([memberKey(orgId, userId), userKey(userId)]);
    if (!membership || !user) return null;
    return { membership: MembershipRecord.parse(membership), user: UserRecord.parse(user) };
  }

  return {
    /** One request. */
    get,

    /** All members; one request for each 1 MB of memberships and each 100 users. */
    async list(orgId: string): Promise<Member[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :org AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: { ':org': orgKey(orgId).pk, ':prefix': 'MEMBER#' },
        ConsistentRead: true,
      });
      const memberships = items.map((item) => MembershipRecord.parse(item));
      const users = await table.batchGet(memberships.map(({ user_id }) => userKey(user_id)));
      return memberships.flatMap((membership, index) => {
        const user = users[index];
        return user ? [{ membership, user: UserRecord.parse(user) }] : [];
      });
    },

    /** @throws ServiceError conflict (the last admin, or changed by someone else meanwhile) */
    async changeRole(
      orgId: string,
      held: Member,
      role: MemberRole,
      attribution: Attribution,
    ): Promise<Member> {
      const before = held.membership.role;
      if (before === role) return held;
      const userId = held.user.id;
      await table.transact([
        {
          Update: {
            Key: memberKey(orgId, userId),
            UpdateExpression: 'SET #role = :role',
            ConditionExpression: '#role = :before',
            ExpressionAttributeNames: { '#role': 'role' },
            ExpressionAttributeValues: { ':role': role, ':before': before },
          },
          otherwise: changedMeanwhile,
        },
        ...adminChange(orgId, before, role),
        auditWrite(orgId, attribution, {
          action: 'member.change_role',
          target: { type: 'user', id: userId },
          changes: { role: { before, after: role } },
        }),
      ]);
      return { ...held, membership: { ...held.membership, role } };
    },

    /**
     * Removes a member: the membership first, which ends all access, then what hung on it: teams and
     * projects, and the sessions that were opened in the organization.
     * @throws ServiceError conflict (the last admin)
     */
    async remove(orgId: string, held: Member, attribution: Attribution): Promise<void> {
      const { user, membership } = held;
      await table.transact([
        {
          Delete: {
            Key: memberKey(orgId, user.id),
            ConditionExpression: '#role = :role',
            ExpressionAttributeNames: { '#role': 'role' },
            ExpressionAttributeValues: { ':role': membership.role },
          },
          otherwise: changedMeanwhile,
        },
        { Delete: { Key: userOrgKey(user.id, orgId) } },
        // Nothing of theirs can be accepted afterwards.
        { Delete: { Key: invitationKey(orgId, user.id) } },
        ...(membership.role === 'Admin' ? [adminCountWrite(orgId, -1)] : []),
        auditWrite(orgId, attribution, {
          action: 'member.remove',
          target: { type: 'user', id: user.id },
          changes: { role: { before: membership.role } },
        }),
      ]);
      await groups.removeUser(orgId, user.id);
      await releaseSessions(table, user.id, orgId);
    },
  };
}

function adminChange(orgId: string, before: MemberRole, after: MemberRole): Write[] {
  if (before === 'Admin') return [adminCountWrite(orgId, -1)];
  return after === 'Admin' ? [adminCountWrite(orgId, 1)] : [];
}

function changedMeanwhile(): ServiceError {
  return new ServiceError('conflict', 'The membership was changed by someone else meanwhile');
}
