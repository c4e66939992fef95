import * as z from 'zod';
import { FIRST_PASSWORD, isOpenTo } from '#domain/account-passwords.ts';
import type { Attribution } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { notFound } from '#domain/errors.ts';
import { MEMBER_ROLES, PERMISSIONS } from '#domain/vocabulary.ts';
import { auditWrite } from './audit.ts';
import { createIdentityStore } from './identities.ts';
import { apiKeyKey, emailKey, keyHandleKey, memberKey, orgKey, sessionKey, userKey } from './keys.ts';
import type { Item, Table } from './table.ts';
import { passwordsOf, UserRecord } from './users.ts';

const ApiKeyRecord = z.object({
  id: z.string(),
  org_id: z.string(),
  name: z.string(),
  /** The 16 characters of the key that name it. */
  handle: z.string(),
  scopes: z.array(z.enum(PERMISSIONS)),
  created_at: z.string(),
  created_by: z.string(),
  expires_at: z.string().nullable(),
  last_used_at: z.string().nullable(),
  revoked_at: z.string().nullable(),
});
export type ApiKeyRecord = z.infer<typeof ApiKeyRecord>;

const KeyHandleItem = ApiKeyRecord.extend({
  secret_hash: z.string(),
  /** When a use of the key was last recorded as refused. */
  last_refused_at: z.string().optional(),
});
export type HeldApiKey = z.infer<typeof KeyHandleItem>;

const SessionItem = z.object({
  user_id: z.string(),
  org_id: z.string().nullable(),
  generation: z.int().default(0),
  password: z.string().default(FIRST_PASSWORD),
});
const MemberItem = z.object({
  org_id: z.string(),
  role: z.enum(MEMBER_ROLES),
  created_at: z.string(),
  password: z.string().nullable().optional(),
});

/** A user as a member of one organization. */
export interface Bearer {
  readonly user: UserRecord;
  readonly membership: z.infer<typeof MemberItem> | null;
}

export type CredentialStore = ReturnType<typeof createCredentialStore>;

/** What a credential stands for: sessions, API keys and identities, as the authorizer and auth read them. */
export function createCredentialStore(table: Table) {
  return {
    ...createIdentityStore(table),

    /**
     * Everything that a token's bearer is, in one request: the session, the user, and the memberships of
     * the organizations asked for, as far as they are open to the password of the session. Null where the
     * session has ended, or is from before a change of its password.
     */
    async readSession(userId: string, sessionId: string, orgIds: readonly string[]) {
      const [session, user, ...members] = await table.batchGet([
        sessionKey(userId, sessionId),
        userKey(userId),
        ...orgIds.map((orgId) => memberKey(orgId, userId)),
      ]);
      if (!session || !user) return null;
      const { generation, password, ...openSession } = SessionItem.parse(session);
      const { id, email, name, ...account } = UserRecord.parse(user);
      const opened = passwordsOf({ id, email, name, ...account }).find((held) => held.id === password);
      if (opened?.generation !== generation) return null;
      return {
        session: openSession,
        user: { id, email, name },
        memberships: members
          .filter((member) => member !== null)
          .map((member) => MemberItem.parse(member))
          .filter((member) => isOpenTo(member, password))
          .map(({ org_id, role }) => ({ org_id, role })),
        ...(password !== FIRST_PASSWORD && { password }),
      };
    },

    /** The user of an e-mail; one request. */
    async findUserId(email: string): Promise<string | null> {
      const pointer = z.object({ user_id: z.string() }).safeParse(await table.get(emailKey(email)));
      return pointer.success ? pointer.data.user_id : null;
    },

    /** A user, and the membership in one organization; one request. */
    async readMember(userId: string, orgId: string): Promise<Bearer | null> {
      return bearerOf(await table.batchGet([userKey(userId), memberKey(orgId, userId)]));
    },

    /**
     * A user, and the membership that began first; two requests.
     * @param reach the organizations that count; null: all
     */
    async readFirstMember(userId: string, reach: ReadonlySet<string> | null = null): Promise<Bearer | null> {
      const pointers = await table.queryAll({
        KeyConditionExpression: 'pk = :user AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: { ':user': userKey(userId).pk, ':prefix': 'ORG#' },
        ConsistentRead: true,
      });
      const orgIds = pointers
        .map((pointer) => z.object({ org_id: z.string() }).parse(pointer).org_id)
        .filter((orgId) => reach === null || reach.has(orgId));
      return bearerOf(
        await table.batchGet([userKey(userId), ...orgIds.map((orgId) => memberKey(orgId, userId))]),
      );
    },

    /** The key that 16 characters name, with the hash of its secret; one request. */
    async findApiKey(handle: string): Promise<HeldApiKey | null> {
      const item = await table.get(keyHandleKey(handle));
      return item && KeyHandleItem.parse(item);
    },

    async createApiKey(record: ApiKeyRecord, secretHash: string, attribution: Attribution): Promise<void> {
      const pointer = apiKeyKey(record.org_id, record.id);
      await table.transact([
        {
          Put: {
            Item: { ...keyHandleKey(record.handle), ...record, secret_hash: secretHash },
            ConditionExpression: 'attribute_not_exists(pk)',
          },
        },
        {
          Put: {
            Item: { ...pointer, handle: record.handle },
            ConditionExpression: 'attribute_not_exists(pk)',
          },
        },
        {
          ConditionCheck: { Key: orgKey(record.org_id), ConditionExpression: 'attribute_exists(pk)' },
          otherwise: () => notFound('organization'),
        },
        auditWrite(record.org_id, attribution, {
          action: 'api_key.create',
          target: { type: 'api_key', id: record.id },
          changes: {
            name: { after: record.name },
            scopes: { after: record.scopes },
            expires_at: { after: record.expires_at },
          },
        }),
      ]);
    },

    /** Keys of the organization, revoked ones included, the oldest first. */
    async listApiKeys(orgId: string): Promise<ApiKeyRecord[]> {
      const pointers = await table.queryAll({
        KeyConditionExpression: 'pk = :org AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: { ':org': orgKey(orgId).pk, ':prefix': 'APIKEY#' },
        ConsistentRead: true,
      });
      const handles = pointers.map((pointer) => z.object({ handle: z.string() }).parse(pointer).handle);
      const items = await table.batchGet(handles.map(keyHandleKey));
      return items.filter((item) => item !== null).map((item) => ApiKeyRecord.parse(item));
    },

    /** Revokes a key; revoking it again changes nothing. Null where the organization has no such key. */
    async revokeApiKey(orgId: string, keyId: string, attribution: Attribution): Promise<ApiKeyRecord | null> {
      const pointer = await table.get(apiKeyKey(orgId, keyId));
      if (!pointer) return null;
      const key = keyHandleKey(z.object({ handle: z.string() }).parse(pointer).handle);
      const held = ApiKeyRecord.parse(await table.get(key));
      if (held.revoked_at !== null) return held;
      const revoked_at = timestamp(attribution.at);
      await table.transact([
        {
          Update: {
            Key: key,
            UpdateExpression: 'SET revoked_at = :at',
            ConditionExpression: 'org_id = :org',
            ExpressionAttributeValues: { ':at': revoked_at, ':org': orgId },
          },
        },
        auditWrite(orgId, attribution, {
          action: 'api_key.revoke',
          target: { type: 'api_key', id: keyId },
          changes: { name: { before: held.name }, revoked_at: { before: null, after: revoked_at } },
        }),
      ]);
      return { ...held, revoked_at };
    },

    /**
     * Records in the audit log that a key was refused: one entry a minute for each key, however often
     * and however many at once it is tried, so that nobody can flood the log.
     */
    async recordKeyRefusal(key: HeldApiKey, reason: string, attribution: Attribution): Promise<void> {
      const before = timestamp(attribution.at - 60_000);
      if (key.last_refused_at !== undefined && key.last_refused_at > before) return;
      const recorded = new Error('The refusal was recorded a moment ago');
      try {
        await table.transact([
          {
            Update: {
              Key: keyHandleKey(key.handle),
              UpdateExpression: 'SET last_refused_at = :at',
              ConditionExpression:
                'org_id = :org AND (attribute_not_exists(last_refused_at) OR last_refused_at <= :before)',
              ExpressionAttributeValues: {
                ':at': timestamp(attribution.at),
                ':before': before,
                ':org': key.org_id,
              },
            },
            otherwise: () => recorded,
          },
          auditWrite(key.org_id, attribution, {
            action: 'api_key.refused',
            target: { type: 'api_key', id: key.id },
            changes: { reason: { after: reason } },
          }),
        ]);
      } catch (error) {
        if (error !== recorded) throw error;
      }
    },

    /** Notes the use of a key; the condition keeps it to one write a minute, however many race. */
    async recordKeyUse(handle: string, at: number): Promise<void> {
      await table.update({
        Key: keyHandleKey(handle),
        UpdateExpression: 'SET last_used_at = :at',
        ConditionExpression:
          'attribute_exists(pk) AND (attribute_not_exists(last_used_at) OR attribute_type(last_used_at, :null) OR last_used_at < :before)',
        ExpressionAttributeValues: {
          ':at': timestamp(at),
          ':before': timestamp(at - 60_000),
          ':null': 'NULL',
        },
      });
    },
  };
}

/** A user's item, and those of memberships: the one that began first counts. */
function bearerOf([user, ...members]: readonly (Item | null)[]): Bearer | null {
  if (!user) return null;
  const [membership = null] = members
    .filter((member) => member !== null)
    .map((member) => MemberItem.parse(member))
    .sort((a, b) => a.created_at.localeCompare(b.created_at));
  return { user: UserRecord.parse(user), membership };
}
