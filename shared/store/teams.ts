import * as z from 'zod';
import type { Attribution } from '#domain/actor.ts';
import { timestamp, timestampAfter } from '#domain/clock.ts';
import { notFound, ServiceError } from '#domain/errors.ts';
import { auditWrite } from './audit.ts';
import { orgKey, teamKey, teamNameKey } from './keys.ts';
import type { Table, Write } from './table.ts';

const TeamRecord = z.object({
  id: z.string(),
  org_id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  member_count: z.number(),
  /** Projects that belong to the team; they keep it from being deleted. */
  project_count: z.number().default(0),
  created_at: z.string(),
  updated_at: z.string(),
});
export type TeamRecord = z.infer<typeof TeamRecord>;

export type TeamStore = ReturnType<typeof createTeamStore>;

/** Teams of an organization. */
export function createTeamStore(table: Table) {
  return {
    /** @throws ServiceError not_found */
    async require(orgId: string, teamId: string): Promise<TeamRecord> {
      const item = await table.get(teamKey(orgId, teamId));
      if (!item) throw notFound('team');
      return TeamRecord.parse(item);
    },

    /** All teams; about 400 bytes each, so 2,500 a request. */
    async list(orgId: string): Promise<TeamRecord[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :org AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: { ':org': orgKey(orgId).pk, ':prefix': 'TEAM#' },
        ConsistentRead: true,
      });
      return items.map((item) => TeamRecord.parse(item));
    },

    /** @throws ServiceError already_exists */
    async create(
      orgId: string,
      team: { id: string; name: string; description: string | null },
      attribution: Attribution,
    ): Promise<TeamRecord> {
      const now = timestamp(attribution.at);
      const record: TeamRecord = {
        ...team,
        org_id: orgId,
        member_count: 0,
        project_count: 0,
        created_at: now,
        updated_at: now,
      };
      await table.transact([
        nameWrite(orgId, record),
        {
          Put: {
            Item: { ...teamKey(orgId, team.id), ...record },
            ConditionExpression: 'attribute_not_exists(pk)',
          },
        },
        auditWrite(orgId, attribution, {
          action: 'team.create',
          target: { type: 'team', id: team.id },
          changes: {
            name: { after: team.name },
            ...(team.description !== null && { description: { after: team.description } }),
          },
        }),
      ]);
      return record;
    },

    /** @throws ServiceError already_exists, conflict (changed by someone else meanwhile) */
    async update(
      orgId: string,
      held: TeamRecord,
      change: { name?: string | undefined; description?: string | null | undefined },
      attribution: Attribution,
    ): Promise<TeamRecord> {
      const name = change.name ?? held.name;
      const description = change.description === undefined ? held.description : change.description;
      if (name === held.name && description === held.description) return held;
      const next: TeamRecord = {
        ...held,
        name,
        description,
        updated_at: timestampAfter(held.updated_at, attribution.at),
      };
      const [from, to] = [teamNameKey(orgId, held.name), teamNameKey(orgId, name)];
      await table.transact([
        // A change of case alone keeps the key.
        ...(from.sk === to.sk ? [] : [{ Delete: { Key: from } }, nameWrite(orgId, next)]),
        {
          Update: {
            Key: teamKey(orgId, held.id),
            UpdateExpression: 'SET #name = :name, description = :description, updated_at = :now',
            ConditionExpression: 'updated_at = :held',
            ExpressionAttributeNames: { '#name': 'name' },
            ExpressionAttributeValues: {
              ':name': name,
              ':description': description,
              ':now': next.updated_at,
              ':held': held.updated_at,
            },
          },
          otherwise: () => new ServiceError('conflict', 'The team was changed by someone else meanwhile'),
        },
        auditWrite(orgId, attribution, {
          action: 'team.update',
          target: { type: 'team', id: held.id },
          changes: {
            ...(name !== held.name && { name: { before: held.name, after: name } }),
            ...(description !== held.description && {
              description: { before: held.description, after: description },
            }),
          },
        }),
      ]);
      return next;
    },

    /** @throws ServiceError cannot_delete while projects belong to it, conflict (renamed meanwhile) */
    async delete(orgId: string, held: TeamRecord, attribution: Attribution): Promise<void> {
      if (held.project_count > 0)
        throw new ServiceError('cannot_delete', 'Projects still belong to the team');
      await table.transact([
        {
          Delete: {
            Key: teamKey(orgId, held.id),
            ConditionExpression:
              '#name = :name AND (attribute_not_exists(project_count) OR project_count = :none)',
            ExpressionAttributeNames: { '#name': 'name' },
            ExpressionAttributeValues: { ':name': held.name, ':none': 0 },
          },
          otherwise: () => new ServiceError('conflict', 'The team was changed by someone else meanwhile'),
        },
        { Delete: { Key: teamNameKey(orgId, held.name) } },
        auditWrite(orgId, attribution, {
          action: 'team.delete',
          target: { type: 'team', id: held.id },
          changes: { name: { before: held.name } },
        }),
      ]);
    },
  };
}

function nameWrite(orgId: string, team: TeamRecord): Write {
  return {
    Put: {
      Item: { ...teamNameKey(orgId, team.name), team_id: team.id },
      ConditionExpression: 'attribute_not_exists(pk)',
    },
    otherwise: () => new ServiceError('already_exists', `A team with the name ${team.name} exists`),
  };
}
