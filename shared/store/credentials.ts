import * as z from 'zod';
import type { Attribution } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { notFound } from '#domain/errors.ts';
import { PERMISSIONS, ROLES } from '#domain/vocabulary.ts';
import { auditWrite } from './audit.ts';
import { apiKeyKey, keyHandleKey, memberKey, orgKey, sessionKey, userKey } from './keys.ts';
import type { Table } from './table.ts';

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

const KeyHandleItem = ApiKeyRecord.extend({ secret_hash: z.string() });

const SessionItem = z.object({ user_id: z.string(), org_id: z.string().nullable() });
const MemberItem = z.object({ org_id: z.string(), role: z.enum(ROLES) });
const UserItem = z.object({ id: z.string(), email: z.string(), name: z.string() });

export type CredentialStore = ReturnType<typeof createCredentialStore>;

/** What a credential stands for: sessions and API keys, as the authorizer and auth read them. */
export function createCredentialStore(table: Table) {
  return {
    async createSession(session: {
      id: string;
      userId: string;
      orgId: string | null;
      at: number;
      expiresAt: number;
    }): Promise<void> {
      await table.transact([
        {
          Put: {
            Item: {
              ...sessionKey(session.userId, session.id),
              user_id: session.userId,
              org_id: session.orgId,
              created_at: timestamp(session.at),
              expires_at: Math.ceil(session.expiresAt / 1000),
            },
          },
        },
      ]);
    },

    async endSession(userId: string, sessionId: string): Promise<void> {
      await table.transact([{ Delete: { Key: sessionKey(userId, sessionId) } }]);
    },

    /**
     * Everything that a token's bearer is, in one request: the session, the user, and the
     * memberships of the organizations asked for. Null where the session has ended.
     */
    async readSession(userId: string, sessionId: string, orgIds: readonly string[]) {
      const [session, user, ...members] = await table.batchGet([
        sessionKey(userId, sessionId),
        userKey(userId),
        ...orgIds.map((orgId) => memberKey(orgId, userId)),
      ]);
      if (!session || !user) return null;
      return {
        session: SessionItem.parse(session),
        user: UserItem.parse(user),
        memberships: members.filter((member) => member !== null).map((member) => MemberItem.parse(member)),
      };
    },

    /** The key that 16 characters name, with the hash of its secret; one request. */
    async findApiKey(handle: string): Promise<(ApiKeyRecord & { secret_hash: string }) | null> {
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
        auditWrite(orgId, attribution, { action: 'api_key.revoke', target: { type: 'api_key', id: keyId } }),
      ]);
      return { ...held, revoked_at };
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
