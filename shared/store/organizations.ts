import * as z from 'zod';
import { FIRST_PASSWORD } from '#domain/account-passwords.ts';
import type { Attribution } from '#domain/actor.ts';
import { timestamp, timestampAfter } from '#domain/clock.ts';

import { ServiceError } from '#domain/errors.ts';
import {
  type MemberRole,
  REPOSITORY_EXCLUSIONS,
  type RepositoryExclusions,
  SCANNERS,
  TIERS,
  type Tier,
} from '#domain/vocabulary.ts';

import { auditWrite } from './audit.ts';
import { emailKey, memberKey, orgKey, slugKey, userKey } from './keys.ts';
import { adminCountWrite, MembershipRecord, membershipWrites } from './memberships.ts';
import type { Table, Write } from './table.ts';
import { UserRecord, userWrites } from './users.ts';

const days = z.int().nullable();
/** Days from first detection to the due date, by severity; null: none. */
export const SlaDays = z.object({ critical: days, high: days, medium: days, low: days, info: days });

const OrganizationRecord = z.object({
  id: z.string(),
  name: z.string(),
  slug: z.string(),
  tier: z.enum(TIERS),
  settings: z.object({
    sla_days: SlaDays,
    scan_schedule: z.object({ cron: z.string(), scanners: z.array(z.enum(SCANNERS)) }).nullable(),
    auto_resolve: z.boolean(),
    // Without: made before there was such a setting.
    repository_exclusions: z.enum(REPOSITORY_EXCLUSIONS).default('overrule'),
  }),
  created_at: z.string(),
  updated_at: z.string(),
});
export type OrganizationRecord = z.infer<typeof OrganizationRecord>;

/** Spec silent: deadlines in days from first detection, by severity. */
const DEFAULT_SETTINGS: OrganizationRecord['settings'] = {
  sla_days: { critical: 7, high: 30, medium: 90, low: 180, info: null },
  scan_schedule: null,
  auto_resolve: true,
  repository_exclusions: 'overrule',
};

/** A user who makes an organization. */
interface Founder {
  readonly userId: string;
  /** Id of the password that they are signed in with; null: by an identity provider. */
  readonly password: string | null;
  /** How many organizations one user may make. */
  readonly most: number;
}

export type OrganizationStore = ReturnType<typeof createOrganizationStore>;

/** Organizations, their members, and the users behind these. */
export function createOrganizationStore(table: Table) {
  return {
    async getOrganization(orgId: string): Promise<OrganizationRecord | null> {
      const item = await table.get(orgKey(orgId));
      // Accepted for deletion: gone for everybody, while its records still go.
      return item && item.deleted_at === undefined ? OrganizationRecord.parse(item) : null;
    },

    /** The setting `auto_resolve`: whether what a scanner no longer reports is resolved. */
    async readAutoResolve(orgId: string): Promise<boolean> {
      const item = await table.get(orgKey(orgId));
      return item ? OrganizationRecord.parse(item).settings.auto_resolve : true;
    },

    /** The setting `repository_exclusions`: whether what a repository hides is hidden. */
    async readRepositoryExclusions(orgId: string): Promise<RepositoryExclusions> {
      const organization = await this.getOrganization(orgId);
      return organization?.settings.repository_exclusions ?? 'overrule';
    },

    async getUser(userId: string): Promise<UserRecord | null> {
      const item = await table.get(userKey(userId));
      return item && UserRecord.parse(item);
    },

    /** The user behind an e-mail: two reads. */
    async findUserByEmail(email: string): Promise<UserRecord | null> {
      const pointer = await table.get(emailKey(email));
      const userId = z.object({ user_id: z.string() }).safeParse(pointer);
      return userId.success ? this.getUser(userId.data.user_id) : null;
    },

    /** Memberships of a user with their organizations, the earliest joined first. */
    async listMemberships(
      userId: string,
    ): Promise<{ organization: OrganizationRecord; membership: MembershipRecord }[]> {
      const entries = await table.queryAll({
        KeyConditionExpression: 'pk = :user AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: { ':user': userKey(userId).pk, ':prefix': 'ORG#' },
        ConsistentRead: true,
      });
      const orgIds = entries.map((entry) => z.object({ org_id: z.string() }).parse(entry).org_id);
      const items = await table.batchGet([
        ...orgIds.map(orgKey),
        ...orgIds.map((orgId) => memberKey(orgId, userId)),
      ]);
      return orgIds
        .map((_, index) => ({ organization: items[index], membership: items[orgIds.length + index] }))
        .filter((pair) => pair.organization && !pair.organization.deleted_at && pair.membership)
        .map((pair) => ({
          organization: OrganizationRecord.parse(pair.organization),
          membership: MembershipRecord.parse(pair.membership),
        }))
        .sort((a, b) => a.membership.created_at.localeCompare(b.membership.created_at));
    },

    /** A new user, with a membership where `membership` is given. @throws ServiceError already_exists */
    async createUser(
      user: UserRecord,
      membership: { orgId: string; role: MemberRole } | null,
      attribution: Attribution,
    ): Promise<void> {
      const writes = userWrites(user);
      if (membership) {
        writes.push(
          ...membershipWrites(membership.orgId, user.id, membership.role, attribution, FIRST_PASSWORD),
        );
        if (membership.role === 'Admin') writes.push(adminCountWrite(membership.orgId, 1));
        writes.push(
          auditWrite(membership.orgId, attribution, {
            action: 'user.create',
            target: { type: 'user', id: user.id },
            changes: {
              email: { after: user.email },
              name: { after: user.name },
              role: { after: membership.role },
            },
          }),
        );
      }
      await table.transact(writes);
    },

    /**
     * An organization with its first admin, who may be new too.
     * @throws ServiceError already_exists, or conflict where the user has made as many as they may
     */
    async createOrganization(
      organization: { id: string; name: string; slug: string; tier: Tier },
      admin: Founder | { newUser: UserRecord },
      attribution: Attribution,
    ): Promise<OrganizationRecord> {
      const now = timestamp(attribution.at);
      const record: OrganizationRecord = {
        ...organization,
        settings: DEFAULT_SETTINGS,
        created_at: now,
        updated_at: now,
      };
      const userId = 'userId' in admin ? admin.userId : admin.newUser.id;
      await table.transact([
        {
          Put: {
            Item: { ...orgKey(record.id), ...record, admin_count: 1 },
            ConditionExpression: 'attribute_not_exists(pk)',
          },
        },
        {
          Put: {
            Item: { ...slugKey(record.slug), org_id: record.id },
            ConditionExpression: 'attribute_not_exists(pk)',
          },
          otherwise: () =>
            new ServiceError('already_exists', `An organization with the slug ${record.slug} exists`),
        },
        ...('newUser' in admin ? userWrites(admin.newUser) : [founderWrite(admin)]),
        ...membershipWrites(
          record.id,
          userId,
          'Admin',
          attribution,
          'newUser' in admin ? FIRST_PASSWORD : admin.password,
        ),
        auditWrite(record.id, attribution, {
          action: 'organization.create',
          target: { type: 'organization', id: record.id },
          changes: {
            name: { after: record.name },
            slug: { after: record.slug },
            tier: { after: record.tier },
          },
        }),
      ]);
      return record;
    },

    /** The organization of a slug; two reads. */
    async findBySlug(slug: string): Promise<OrganizationRecord | null> {
      const pointer = z.object({ org_id: z.string() }).safeParse(await table.get(slugKey(slug)));
      return pointer.success ? this.getOrganization(pointer.data.org_id) : null;
    },

    /** The operator's alone: no operation of the API does it (design 3). */
    async setTier(held: OrganizationRecord, tier: Tier, attribution: Attribution): Promise<void> {
      if (held.tier === tier) return;
      await table.transact([
        {
          Update: {
            Key: orgKey(held.id),
            UpdateExpression: 'SET tier = :tier, updated_at = :now',
            ConditionExpression: 'tier = :before',
            ExpressionAttributeValues: {
              ':tier': tier,
              ':before': held.tier,
              ':now': timestamp(attribution.at),
            },
          },
          otherwise: () => new ServiceError('conflict', 'The tier was changed by someone else meanwhile'),
        },
        auditWrite(held.id, attribution, {
          action: 'organization.set_tier',
          target: { type: 'organization', id: held.id },
          changes: { tier: { before: held.tier, after: tier } },
        }),
      ]);
    },

    /** @throws ServiceError conflict (changed by someone else meanwhile) */
    async updateOrganization(
      held: OrganizationRecord,
      change: Partial<Pick<OrganizationRecord, 'name' | 'settings'>>,
      attribution: Attribution,
    ): Promise<OrganizationRecord> {
      const next: OrganizationRecord = {
        ...held,
        ...change,
        updated_at: timestampAfter(held.updated_at, attribution.at),
      };
      const changes = Object.fromEntries(
        (['name', 'settings'] as const)
          .filter((field) => JSON.stringify(next[field]) !== JSON.stringify(held[field]))
          .map((field) => [field, { before: held[field], after: next[field] }]),
      );
      if (Object.keys(changes).length === 0) return held;
      await table.transact([
        {
          Update: {
            Key: orgKey(held.id),
            UpdateExpression: 'SET #name = :name, settings = :settings, updated_at = :now',
            ConditionExpression: 'updated_at = :held',
            ExpressionAttributeNames: { '#name': 'name' },
            ExpressionAttributeValues: {
              ':name': next.name,
              ':settings': next.settings,
              ':now': next.updated_at,
              ':held': held.updated_at,
            },
          },
          otherwise: () =>
            new ServiceError('conflict', 'The organization was changed by someone else meanwhile'),
        },
        auditWrite(held.id, attribution, {
          action: 'organization.update',
          target: { type: 'organization', id: held.id },
          changes,
        }),
      ]);
      return next;
    },
  };
}

/**
 * Counts an organization on the user who makes it. The counter is the cap, however many are made at once; a
 * password that somebody else chose makes none, or that somebody would be an admin of it too. Nor does one that was
 * chosen with an invitation, where the user has another proof: it may be the inviter's, who would use up the cap.
 */
function founderWrite({ userId, password, most }: Founder): Write {
  const own =
    password === null
      ? ''
      : password === FIRST_PASSWORD
        ? ' AND attribute_not_exists(password_set_by)'
        : ' AND attribute_not_exists(#identity) AND (attribute_exists(password_set_by) OR NOT attribute_type(password_hash, :text))';
  const isChosen = password !== null && password !== FIRST_PASSWORD;
  return {
    Update: {
      Key: userKey(userId),
      UpdateExpression: 'ADD organizations_made :one',
      ConditionExpression: `attribute_exists(pk) AND (attribute_not_exists(organizations_made) OR organizations_made < :most)${own}`,
      ...(isChosen && { ExpressionAttributeNames: { '#identity': 'identity' } }),
      ExpressionAttributeValues: { ':one': 1, ':most': most, ...(isChosen && { ':text': 'S' }) },
    },
    otherwise: () =>
      new ServiceError(
        'conflict',
        `A user may make at most ${most} organizations, signed in with a password that they chose for the account itself, or by its identity provider`,
      ),
  };
}
