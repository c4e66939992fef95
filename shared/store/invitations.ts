import * as z from 'zod';
import type { Attribution } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { notFound, ServiceError } from '#domain/errors.ts';
import { MEMBER_ROLES, type MemberRole } from '#domain/vocabulary.ts';
import { type Acceptance, accountWrite, changedMeanwhile } from './acceptance.ts';
import { auditWrite } from './audit.ts';
import { invitationKey, invitationsPartition, invitationTokenKey, memberKey, userKey } from './keys.ts';
import { adminCountWrite, MembershipRecord, membershipWrites } from './memberships.ts';
import type { Table, Write } from './table.ts';
import { isShutOut, isUnconfirmed, UserRecord, voiding } from './users.ts';

/** Seconds: until when an invitation can be accepted. Compared on every read, because TTL deletes late. */
const INVITATION_SECONDS = 7 * 24 * 3600;

const InvitationRecord = z.object({
  id: z.string(),
  org_id: z.string(),
  user_id: z.string(),
  /** As the inviter typed it; null where they named the user by the id. */
  email: z.string().nullable(),
  role: z.enum(MEMBER_ROLES),
  created_at: z.string(),
  created_by: z.string(),
  /** SHA-256 of the token; the token itself is nowhere. */
  token_hash: z.string(),
  /** In seconds, as TTL reads it. */
  expires_at: z.int(),
});
export type InvitationRecord = z.infer<typeof InvitationRecord>;

type NewInvitation = Omit<InvitationRecord, 'expires_at' | 'created_at' | 'created_by'>;

const ATTEMPTS = 3;

export type InvitationStore = ReturnType<typeof createInvitationStore>;

/** Invitations of users who are known: nobody becomes a member without having accepted one. */
export function createInvitationStore(table: Table) {
  /** One attempt on what the account is now. */
  async function attempt(
    invitation: NewInvitation,
    tellsOf: readonly string[],
    attribution: Attribution,
  ): Promise<InvitationRecord> {
    const { org_id: orgId, user_id: userId } = invitation;
    const [held, membership] = await table.batchGet([userKey(userId), memberKey(orgId, userId)]);
    if (!held) throw notFound('user');
    const user = UserRecord.parse(held);
    if (membership && !isShutOut(MembershipRecord.parse(membership), user)) throw isMember();
    const record: InvitationRecord = {
      ...invitation,
      created_at: timestamp(attribution.at),
      created_by: attribution.actor.name,
      expires_at: Math.ceil(attribution.at / 1000) + INVITATION_SECONDS,
    };
    const { token_hash, expires_at } = record;
    await table.transact([
      { Put: { Item: { ...invitationKey(orgId, userId), ...record } } },
      {
        Put: {
          Item: { ...invitationTokenKey(token_hash), org_id: orgId, user_id: userId, expires_at },
          ConditionExpression: 'attribute_not_exists(pk)',
        },
      },
      {
        ConditionCheck: {
          Key: memberKey(orgId, userId),
          ConditionExpression: membership ? 'attribute_exists(pk)' : 'attribute_not_exists(pk)',
        },
        otherwise: isMember,
      },
      ...voidWrites(user, tellsOf, attribution),
      auditWrite(orgId, attribution, {
        action: 'invitation.create',
        target: { type: 'invitation', id: record.id },
        changes: {
          ...(record.email === null ? { user_id: { after: userId } } : { email: { after: record.email } }),
          role: { after: record.role },
        },
      }),
    ]);
    return record;
  }

  return {
    /**
     * Invites a user; an earlier invitation of the same organization serves no more. What password
     * somebody else chose for the user is void with it. Where the account is changed at that moment, by
     * another invitation say, it is looked at anew.
     * @param tellsOf organizations whose logs tell of a void password, and no word of who invited
     * @throws ServiceError not_found, already_exists (a member), conflict (changed again and again)
     */
    async create(
      invitation: NewInvitation,
      tellsOf: readonly string[],
      attribution: Attribution,
    ): Promise<InvitationRecord> {
      for (let left = ATTEMPTS - 1; ; left -= 1) {
        try {
          return await attempt(invitation, tellsOf, attribution);
        } catch (error) {
          if (left === 0 || !(error instanceof ServiceError) || error.code !== 'conflict') throw error;
        }
      }
    },

    /** The invitation that a token is of, where it can still be accepted; two requests. */
    async findByToken(tokenHash: string, now: number): Promise<InvitationRecord | null> {
      const pointer = z
        .object({ org_id: z.string(), user_id: z.string() })
        .safeParse(await table.get(invitationTokenKey(tokenHash)));
      if (!pointer.success) return null;
      const item = await table.get(invitationKey(pointer.data.org_id, pointer.data.user_id));
      const record = item && InvitationRecord.parse(item);
      // Another invitation may have taken its place.
      return record && record.token_hash === tokenHash && isOpen(record, now) ? record : null;
    },

    /** Those that can still be accepted, the newest first. */
    async list(orgId: string, now: number): Promise<InvitationRecord[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :partition',
        ExpressionAttributeValues: { ':partition': invitationsPartition(orgId) },
        ConsistentRead: true,
      });
      return items
        .map((item) => InvitationRecord.parse(item))
        .filter((record) => isOpen(record, now))
        .sort((a, b) => (a.id < b.id ? 1 : -1));
    },

    /** Takes an invitation back. @throws ServiceError not_found */
    async end(
      invitation: InvitationRecord,
      action: 'invitation.revoke' | 'invitation.decline',
      attribution: Attribution,
    ): Promise<void> {
      await table.transact([
        ...endWrites(invitation, attribution.at),
        auditWrite(invitation.org_id, attribution, {
          action,
          target: { type: 'invitation', id: invitation.id },
        }),
      ]);
    },

    /**
     * Makes the invited user a member, or lets a member in again whom a void password shut out: only with
     * the password, or the identity, that the invitation is accepted with.
     * @throws ServiceError not_found (ended meanwhile), conflict (the account was changed meanwhile)
     */
    async accept(
      invitation: InvitationRecord,
      acceptance: Acceptance,
      attribution: Attribution,
    ): Promise<MemberRole> {
      const { org_id: orgId, user_id: userId } = invitation;
      const [user, member] = await table.batchGet([userKey(userId), memberKey(orgId, userId)]);
      if (!user) throw gone();
      const account = UserRecord.parse(user);
      const held = member && MembershipRecord.parse(member);
      if (held && !isShutOut(held, account)) throw gone();
      const role = held?.role ?? invitation.role;
      const password = 'chosen' in acceptance ? acceptance.chosen.id : acceptance.password;
      await table.transact([
        ...endWrites(invitation, attribution.at),
        accountWrite(account, acceptance, held !== undefined),
        // Of an organization that is being deleted the token is as good as any other that can't be accepted.
        { ...adminCountWrite(orgId, !held && role === 'Admin' ? 1 : 0), otherwise: gone },
        ...(held
          ? [reopenWrite(held, password)]
          : membershipWrites(orgId, userId, role, attribution, password)),
        auditWrite(orgId, attribution, {
          action: 'invitation.accept',
          target: { type: 'invitation', id: invitation.id },
        }),
        auditWrite(orgId, attribution, {
          action: 'member.add',
          target: { type: 'user', id: userId },
          changes: { role: { after: role } },
        }),
      ]);
      return role;
    },
  };
}

function isOpen({ expires_at }: InvitationRecord, now: number): boolean {
  return now < expires_at * 1000;
}

function isMember(): ServiceError {
  return new ServiceError('already_exists', 'The user is a member of the organization');
}

function gone(): ServiceError {
  return notFound('invitation');
}

/** The invitation goes, and with it whatever else its token could do: once, however many try at once. */
function endWrites({ org_id, user_id, token_hash }: InvitationRecord, now: number): Write[] {
  return [
    {
      Delete: {
        Key: invitationKey(org_id, user_id),
        ConditionExpression: 'token_hash = :hash AND expires_at > :now',
        ExpressionAttributeValues: { ':hash': token_hash, ':now': Math.floor(now / 1000) },
      },
      otherwise: gone,
    },
    { Delete: { Key: invitationTokenKey(token_hash) } },
  ];
}

/** Voids what somebody else chose, and says so to those who relied on it: not who invited, nor from where. */
function voidWrites(user: UserRecord, tellsOf: readonly string[], { at }: Attribution): Write[] {
  if (!isUnconfirmed(user))
    return [
      {
        ConditionCheck: {
          Key: userKey(user.id),
          ConditionExpression: 'attribute_exists(pk) AND attribute_not_exists(password_set_by)',
        },
        otherwise: changedMeanwhile,
      },
    ];
  const { set, remove, condition, values } = voiding(user, timestamp(at));
  const actor = { type: 'system', id: null, name: 'accounts' } as const;
  return [
    {
      Update: {
        Key: userKey(user.id),
        UpdateExpression: `SET ${set} REMOVE ${remove}`,
        ConditionExpression: condition,
        ExpressionAttributeValues: values,
      },
      otherwise: changedMeanwhile,
    },
    ...tellsOf.map((orgId) =>
      auditWrite(
        orgId,
        { actor, requestId: null, ip: null, at },
        {
          action: 'user.password_void',
          target: { type: 'user', id: user.id },
          changes: { reason: { after: 'invited_elsewhere' } },
        },
      ),
    ),
  ];
}

/** A member again, who was one all the while: role and groups are as they were. */
function reopenWrite({ org_id, user_id }: MembershipRecord, password: string | null): Write {
  return {
    Update: {
      Key: memberKey(org_id, user_id),
      UpdateExpression: 'SET #password = :password',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeNames: { '#password': 'password' },
      ExpressionAttributeValues: { ':password': password },
    },
    otherwise: gone,
  };
}
