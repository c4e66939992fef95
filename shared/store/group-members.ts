import * as z from 'zod';
import type { Attribution } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { notFound, ServiceError } from '#domain/errors.ts';
import { MEMBER_ROLES, type MemberRole } from '#domain/vocabulary.ts';
import { auditWrite } from './audit.ts';
import {
  type GroupKind,
  groupMemberKey,
  groupMembersPartition,
  memberGroupKey,
  memberGroupsPartition,
  memberKey,
  projectKey,
  teamKey,
  userKey,
} from './keys.ts';
import { chunksOf, type Key, type Table, type Write } from './table.ts';

const GroupMember = z.object({ user_id: z.string(), role: z.enum(MEMBER_ROLES), added_at: z.string() });

/** A member of a team or project, with what lists show of the user. */
export interface GroupMemberShown extends z.infer<typeof GroupMember> {
  readonly email: string;
  readonly name: string;
}

interface Group {
  readonly kind: GroupKind;
  readonly id: string;
}

/** Both sides of a membership, and the group's count: three writes each. */
const MEMBERSHIPS_PER_TRANSACTION = 30;

export type GroupMemberStore = ReturnType<typeof createGroupMemberStore>;

/** Members of teams and of projects: only members of the organization can be. */
export function createGroupMemberStore(table: Table) {
  async function withUsers(items: readonly z.infer<typeof GroupMember>[]): Promise<GroupMemberShown[]> {
    const users = await table.batchGet(
      items.map(({ user_id }) => userKey(user_id)),
      ['email', 'name'],
    );
    return items.flatMap((item, index) => {
      const user = z.object({ email: z.string(), name: z.string() }).safeParse(users[index]);
      return user.success ? [{ ...item, ...user.data }] : [];
    });
  }

  async function removeAll(orgId: string, pairs: readonly { group: Group; userId: string }[]): Promise<void> {
    for (const chunk of chunksOf(pairs, MEMBERSHIPS_PER_TRANSACTION)) {
      const counts = Map.groupBy(chunk, ({ group }) => `${group.kind}#${group.id}`);
      await table.transact([
        ...chunk.flatMap(({ group, userId }): Write[] => [
          { Delete: { Key: groupMemberKey(orgId, group.kind, group.id, userId) } },
          { Delete: { Key: memberGroupKey(orgId, group.kind, group.id, userId) } },
        ]),
        ...[...counts.values()].flatMap((own) =>
          own[0] ? [countWrite(orgId, own[0].group, -own.length)] : [],
        ),
      ]);
    }
  }

  return {
    /** By e-mail; two requests. */
    async list(orgId: string, group: Group): Promise<GroupMemberShown[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :partition',
        ExpressionAttributeValues: { ':partition': groupMembersPartition(orgId, group.kind, group.id) },
        ConsistentRead: true,
      });
      const shown = await withUsers(items.map((item) => GroupMember.parse(item)));
      return shown.sort((a, b) => (a.email < b.email ? -1 : 1));
    },

    /**
     * Adds a member of the organization. Who is in the group already gets the role where one was named.
     * @throws ServiceError not_found (group or user), already_exists
     */
    async add(
      orgId: string,
      group: Group,
      userId: string,
      role: MemberRole | undefined,
      attribution: Attribution,
    ): Promise<GroupMemberShown> {
      const key = groupMemberKey(orgId, group.kind, group.id, userId);
      const held = await table.get(key);
      if (held && role === undefined)
        throw new ServiceError('already_exists', `The user is a member of the ${group.kind}`);
      const before = held && GroupMember.parse(held);
      const record = {
        user_id: userId,
        role: role ?? 'member',
        added_at: before?.added_at ?? timestamp(attribution.at),
      };
      await table.transact([
        {
          Put: {
            Item: { ...key, ...record },
            ConditionExpression: before ? 'attribute_exists(pk)' : 'attribute_not_exists(pk)',
          },
          otherwise: () => new ServiceError('already_exists', `The user is a member of the ${group.kind}`),
        },
        {
          Put: {
            Item: {
              ...memberGroupKey(orgId, group.kind, group.id, userId),
              kind: group.kind,
              group_id: group.id,
            },
          },
        },
        {
          ConditionCheck: { Key: memberKey(orgId, userId), ConditionExpression: 'attribute_exists(pk)' },
          otherwise: () => notFound('user'),
        },
        countWrite(orgId, group, before ? 0 : 1),
        auditWrite(orgId, attribution, {
          action: `${group.kind}_member.${before ? 'change_role' : 'add'}`,
          target: { type: group.kind, id: group.id },
          changes: {
            user_id: { after: userId },
            role: { ...(before && { before: before.role }), after: record.role },
          },
        }),
      ]);
      const [shown] = await withUsers([record]);
      if (!shown) throw notFound('user');
      return shown;
    },

    /** False where the user is no member of the group. */
    async remove(orgId: string, group: Group, userId: string, attribution: Attribution): Promise<boolean> {
      const key = groupMemberKey(orgId, group.kind, group.id, userId);
      if (!(await table.get(key))) return false;
      await table.transact([
        {
          Delete: { Key: key, ConditionExpression: 'attribute_exists(pk)' },
          otherwise: () => notFound('member'),
        },
        { Delete: { Key: memberGroupKey(orgId, group.kind, group.id, userId) } },
        countWrite(orgId, group, -1),
        auditWrite(orgId, attribution, {
          action: `${group.kind}_member.remove`,
          target: { type: group.kind, id: group.id },
          changes: { user_id: { before: userId } },
        }),
      ]);
      return true;
    },

    /** Takes a user out of every team and project of the organization. */
    async removeUser(orgId: string, userId: string): Promise<void> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :partition',
        ExpressionAttributeValues: { ':partition': memberGroupsPartition(orgId, userId) },
        ConsistentRead: true,
      });
      const groups = items.map((item) =>
        z.object({ kind: z.enum(['team', 'project']), group_id: z.string() }).parse(item),
      );
      await removeAll(
        orgId,
        groups.map(({ kind, group_id }) => ({ group: { kind, id: group_id }, userId })),
      );
    },

    /** Empties a group that is about to be deleted, or was. */
    async removeEverybody(orgId: string, group: Group): Promise<void> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :partition',
        ExpressionAttributeValues: { ':partition': groupMembersPartition(orgId, group.kind, group.id) },
        ConsistentRead: true,
      });
      for (const chunk of chunksOf(items, MEMBERSHIPS_PER_TRANSACTION))
        await table.transact(
          chunk.flatMap((item): Write[] => [
            { Delete: { Key: groupMemberKey(orgId, group.kind, group.id, String(item.sk)) } },
            { Delete: { Key: memberGroupKey(orgId, group.kind, group.id, String(item.sk)) } },
          ]),
        );
    },
  };
}

function groupKey(orgId: string, group: Group): Key {
  return group.kind === 'team' ? teamKey(orgId, group.id) : projectKey(orgId, group.id);
}

/** Counts members on the group, which must exist. */
function countWrite(orgId: string, group: Group, by: number): Write {
  return {
    Update: {
      Key: groupKey(orgId, group),
      UpdateExpression: 'ADD member_count :by',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeValues: { ':by': by },
    },
    otherwise: () => notFound(group.kind),
  };
}
