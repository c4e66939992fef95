import { FIRST_PASSWORD } from '#domain/account-passwords.ts';
import type { Attribution } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { ServiceError } from '#domain/errors.ts';
import { type AuditedChange, auditWrite } from './audit.ts';
import { sessionKey, userKey } from './keys.ts';
import { chunksOf, type Key, type Table, type Write } from './table.ts';
import { type Password, passwordsOf, stillHas, type UserRecord } from './users.ts';

/** Writes of one transaction, which DynamoDB bounds. */
const MAX_WRITES = 100;

export type SessionStore = ReturnType<typeof createSessionStore>;

/**
 * Sessions of users, and what their organizations' audit logs say of them. A session reaches every
 * organization of its user, so each of these (`orgIds`) has the entry.
 */
export function createSessionStore(table: Table) {
  return {
    /**
     * Opens the session of a user who was just verified, notes the login, and records it.
     * @throws ServiceError unauthorized where the user is gone or has another password by now
     */
    async open(
      session: {
        id: string;
        user: UserRecord;
        orgId: string | null;
        expiresAt: number;
        /** The one that was verified; the first where none is named. */
        password?: Password;
      },
      orgIds: readonly string[],
      attribution: Attribution,
    ): Promise<void> {
      const { id, user, orgId, password = passwordsOf(user)[0] } = session;
      const refused = () => new ServiceError('unauthorized', 'Wrong e-mail or password');
      if (!password) throw refused();
      const now = timestamp(attribution.at);
      const has = stillHas(password);
      await writeAll(
        [
          {
            Put: {
              Item: {
                ...sessionKey(user.id, id),
                user_id: user.id,
                org_id: orgId,
                generation: password.generation,
                ...(password.id !== FIRST_PASSWORD && { password: password.id }),
                created_at: now,
                expires_at: Math.ceil(session.expiresAt / 1000),
              },
            },
          },
          {
            Update: {
              Key: userKey(user.id),
              UpdateExpression: 'SET last_login_at = :now',
              ...has,
              ExpressionAttributeValues: { ...has.ExpressionAttributeValues, ':now': now },
            },
            otherwise: refused,
          },
        ],
        entries(orgIds, attribution, { action: 'session.create', target: { type: 'session', id } }),
      );
    },

    /** Ends a session; one that ended already stays ended, and is not recorded again. */
    async end(
      userId: string,
      sessionId: string,
      orgIds: readonly string[],
      attribution: Attribution,
    ): Promise<void> {
      const ended = new Error('The session has ended already');
      try {
        await writeAll(
          [
            {
              Delete: {
                Key: sessionKey(userId, sessionId),
                ConditionExpression: 'attribute_exists(pk)',
              },
              otherwise: () => ended,
            },
          ],
          entries(orgIds, attribution, {
            action: 'session.end',
            target: { type: 'session', id: sessionId },
          }),
        );
      } catch (error) {
        if (error !== ended) throw error;
      }
    },

    /** Records what was refused to a known user: no change but the entry. */
    async recordRefusal(
      orgIds: readonly string[],
      attribution: Attribution,
      refusal: { action: 'session.refused' | 'user.password_change_refused'; userId: string; reason: string },
    ): Promise<void> {
      await writeAll(
        [],
        entries(orgIds, attribution, {
          action: refusal.action,
          target: { type: 'user', id: refusal.userId },
          changes: { reason: { after: refusal.reason } },
        }),
      );
    },

    /**
     * Sets another password and ends every session that it opened. They end with the first transaction,
     * being of another generation than the password then is, so that neither a crash nor a login at the
     * same moment leaves one alive; what follows clears the items away.
     * @throws ServiceError conflict where the password was changed meanwhile
     */
    async changePassword(
      user: UserRecord,
      current: Password,
      hash: string,
      orgIds: readonly string[],
      attribution: Attribution,
    ): Promise<void> {
      const generation = current.generation + 1;
      const has = stillHas(current);
      const isFirst = current.id === FIRST_PASSWORD;
      await writeAll(
        [
          {
            Update: {
              Key: userKey(user.id),
              // Chosen by the user: from now on nobody else's.
              UpdateExpression: isFirst
                ? 'SET password_hash = :hash, session_generation = :generation REMOVE password_set_by'
                : 'SET passwords.#password.#hash = :hash, passwords.#password.generation = :generation',
              ...has,
              ExpressionAttributeValues: {
                ...has.ExpressionAttributeValues,
                ':hash': hash,
                ':generation': generation,
              },
            },
            otherwise: () => new ServiceError('conflict', 'The password was changed meanwhile'),
          },
        ],
        entries(orgIds, attribution, {
          action: 'user.password_change',
          target: { type: 'user', id: user.id },
        }),
      );
      const ended = (await listSessions(user.id)).filter(
        (session) => session.password === current.id && session.generation < generation,
      );
      await writeAll(
        [],
        ended.map(({ key }) => ({ Delete: { Key: key } })),
      );
    },
  };

  async function listSessions(userId: string): Promise<{ key: Key; generation: number; password: string }[]> {
    const items = await table.queryAll({
      KeyConditionExpression: 'pk = :user AND begins_with(sk, :prefix)',
      ExpressionAttributeValues: { ':user': userKey(userId).pk, ':prefix': 'SESSION#' },
      ConsistentRead: true,
    });
    return items.map((item) => ({
      key: { pk: String(item.pk), sk: String(item.sk) },
      generation: Number(item.generation ?? 0),
      password: String(item.password ?? FIRST_PASSWORD),
    }));
  }

  /** The first writes in one transaction with as many of the others as fit; the rest in bounded ones after it. */
  async function writeAll(together: readonly Write[], others: readonly Write[]): Promise<void> {
    const fitting = MAX_WRITES - together.length;
    const first = [...together, ...others.slice(0, fitting)];
    if (first.length > 0) await table.transact(first);
    for (const chunk of chunksOf(others.slice(fitting), MAX_WRITES)) await table.transact(chunk);
  }
}

/** Sessions that are handed to another organization side by side. */
const HANDED_AT_ONCE = 25;

/**
 * What becomes of a leaver's sessions that were opened in the organization: they go on in another one
 * of the user's, and end where there is none. In the one that was left they are of no more use: a token
 * is refused as soon as its user is no member of the organization that it names.
 */
export async function releaseSessions(table: Table, userId: string, leftOrgId: string): Promise<void> {
  const { pk } = userKey(userId);
  const own = (prefix: string) =>
    table.queryAll({
      KeyConditionExpression: 'pk = :user AND begins_with(sk, :prefix)',
      ExpressionAttributeValues: { ':user': pk, ':prefix': prefix },
      ConsistentRead: true,
    });
  const sessions = (await own('SESSION#')).filter(({ org_id }) => org_id === leftOrgId);
  const keys = sessions.map(({ sk }) => ({ pk, sk: String(sk) }));
  const home = (await own('ORG#')).find(({ org_id }) => org_id !== leftOrgId);
  if (!home) return table.deleteAll(keys);
  for (const chunk of chunksOf(keys, HANDED_AT_ONCE))
    await Promise.all(
      chunk.map((Key) =>
        table.update({
          Key,
          UpdateExpression: 'SET org_id = :home',
          // One that ended meanwhile stays ended.
          ConditionExpression: 'attribute_exists(pk)',
          ExpressionAttributeValues: { ':home': home.org_id },
        }),
      ),
    );
}

function entries(orgIds: readonly string[], attribution: Attribution, change: AuditedChange): Write[] {
  return orgIds.map((orgId) => auditWrite(orgId, attribution, change));
}
