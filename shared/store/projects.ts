import * as z from 'zod';
import type { Attribution } from '#domain/actor.ts';
import { timestamp, timestampAfter } from '#domain/clock.ts';
import { notFound, ServiceError, UnknownReference } from '#domain/errors.ts';
import { readId } from '#domain/ids.ts';
import type { Placement } from '#domain/placement.ts';
import { auditWrite } from './audit.ts';
import type { CounterStore } from './counters.ts';
import { foldName, projectKey, projectNameKey, projectNamesPartition, teamKey } from './keys.ts';
import { reevaluationWrite } from './reevaluations.ts';
import type { Table, Write } from './table.ts';

const ProjectRecord = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  parent_id: z.string().nullable(),
  team_id: z.string().nullable(),
  /** Assets in the project itself and in its sub-projects. */
  asset_count: z.number(),
  sub_project_count: z.number(),
  created_at: z.string(),
  updated_at: z.string(),
});
export type ProjectRecord = z.infer<typeof ProjectRecord>;

/** What lists are filtered, sorted and cut by: the slim entry that also keeps the name unique. */
const ProjectEntry = z.object({
  id: z.string(),
  name: z.string(),
  // Entries that are older than teams have none.
  team_id: z.string().nullable().default(null),
  created_at: z.string(),
});
export type ProjectEntry = z.infer<typeof ProjectEntry>;

interface Consequences {
  /** Whether findings are to be judged anew: by policies that see projects, or name them. The sweep takes it up. */
  readonly judge?: boolean;
}

export type ProjectStore = ReturnType<typeof createProjectStore>;

/** Projects and their one level of sub-projects. */
export function createProjectStore(table: Table, counters: CounterStore) {
  async function get(orgId: string, projectId: string): Promise<ProjectRecord | null> {
    const item = await table.get(projectKey(orgId, projectId));
    return item && ProjectRecord.parse(item);
  }

  async function findByName(orgId: string, parentId: string | null, name: string): Promise<string | null> {
    if (foldName(name) === '') return null;
    const item = await table.get(projectNameKey(orgId, parentId, name));
    return item && ProjectEntry.parse(item).id;
  }

  return {
    get,

    /** @throws ServiceError not_found */
    async require(orgId: string, projectId: string): Promise<ProjectRecord> {
      const project = await get(orgId, projectId);
      if (!project) throw notFound('project');
      return project;
    },

    async getMany(orgId: string, projectIds: readonly string[]): Promise<ProjectRecord[]> {
      const items = await table.batchGet(projectIds.map((id) => projectKey(orgId, id)));
      return items.filter((item) => item !== null).map((item) => ProjectRecord.parse(item));
    },

    /**
     * Where a project is, by id (of either family) or name, a sub-project as `project/sub-project`; null where there is
     * none. One or two requests, and as many for each `/`.
     */
    async find(orgId: string, nameOrId: string): Promise<Placement | null> {
      const id = readId(nameOrId);
      const byId = id === null ? null : await get(orgId, id);
      if (byId) return placementIn(byId);
      const project_id = await findByName(orgId, null, nameOrId);
      if (project_id !== null) return { project_id, sub_project_id: null };
      for (const { index } of nameOrId.matchAll(/\//g)) {
        const parent = await findByName(orgId, null, nameOrId.slice(0, index));
        const child = parent && (await findByName(orgId, parent, nameOrId.slice(index + 1)));
        if (child) return { project_id: parent, sub_project_id: child };
      }
      return null;
    },

    /** Entries under a parent, or the top-level ones; about 100 bytes each, so 10,000 a request. */
    async listEntries(orgId: string, parentId: string | null): Promise<ProjectEntry[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :partition',
        ExpressionAttributeValues: { ':partition': projectNamesPartition(orgId, parentId) },
        ConsistentRead: true,
      });
      return items.map((item) => ProjectEntry.parse(item));
    },

    /**
     * @throws ServiceError already_exists, not_found (the team, or a parent deleted meanwhile),
     * conflict (a parent that is a sub-project itself)
     */
    async create(
      orgId: string,
      project: {
        id: string;
        name: string;
        description: string | null;
        team_id: string | null;
        parent: ProjectRecord | null;
      },
      attribution: Attribution,
      { judge = false }: Consequences = {},
    ): Promise<ProjectRecord> {
      const now = timestamp(attribution.at);
      const { parent, ...own } = project;
      if (parent?.parent_id)
        throw new ServiceError('conflict', 'A sub-project cannot have sub-projects of its own');
      const record: ProjectRecord = {
        ...own,
        parent_id: parent?.id ?? null,
        asset_count: 0,
        sub_project_count: 0,
        created_at: now,
        updated_at: now,
      };
      await table.transact([
        nameWrite(orgId, record),
        {
          Put: {
            Item: { ...projectKey(orgId, record.id), ...record },
            ConditionExpression: 'attribute_not_exists(pk)',
          },
        },
        ...(parent ? [countWrite(orgId, parent.id, 'sub_project_count', 1)] : []),
        ...teamCount(orgId, record.team_id, 1),
        ...(judge ? [reevaluationWrite({ orgId, assetId: null }, attribution.at)] : []),
        auditWrite(orgId, attribution, {
          action: 'project.create',
          target: { type: 'project', id: record.id },
          changes: {
            name: { after: record.name },
            ...(record.description !== null && { description: { after: record.description } }),
            ...(record.parent_id !== null && { parent_id: { after: record.parent_id } }),
            ...(record.team_id !== null && { team_id: { after: record.team_id } }),
          },
        }),
      ]);
      return record;
    },

    /** @throws ServiceError already_exists, not_found (the team), conflict (changed by someone else meanwhile) */
    async update(
      orgId: string,
      held: ProjectRecord,
      change: {
        name?: string | undefined;
        description?: string | null | undefined;
        team_id?: string | null | undefined;
      },
      attribution: Attribution,
      { judge = false }: Consequences = {},
    ): Promise<ProjectRecord> {
      const next: ProjectRecord = {
        ...held,
        name: change.name ?? held.name,
        description: change.description === undefined ? held.description : change.description,
        team_id: change.team_id === undefined ? held.team_id : change.team_id,
        updated_at: timestampAfter(held.updated_at, attribution.at),
      };
      const changed = (['name', 'description', 'team_id'] as const).filter(
        (field) => next[field] !== held[field],
      );
      if (changed.length === 0) return held;
      await table.transact([
        ...entryWrites(orgId, held, next),
        {
          Update: {
            Key: projectKey(orgId, held.id),
            UpdateExpression:
              'SET #name = :name, description = :description, team_id = :team, updated_at = :now',
            ConditionExpression: 'updated_at = :held',
            ExpressionAttributeNames: { '#name': 'name' },
            ExpressionAttributeValues: {
              ':name': next.name,
              ':description': next.description,
              ':team': next.team_id,
              ':now': next.updated_at,
              ':held': held.updated_at,
            },
          },
          otherwise: () => new ServiceError('conflict', 'The project was changed by someone else meanwhile'),
        },
        ...(changed.includes('team_id')
          ? [...teamCount(orgId, held.team_id, -1), ...teamCount(orgId, next.team_id, 1)]
          : []),
        ...(judge ? [reevaluationWrite({ orgId, assetId: null }, attribution.at)] : []),
        auditWrite(orgId, attribution, {
          action: 'project.update',
          target: { type: 'project', id: held.id },
          changes: Object.fromEntries(
            changed.map((field) => [field, { before: held[field], after: next[field] }]),
          ),
        }),
      ]);
      return next;
    },

    /** @throws ServiceError cannot_delete while assets or sub-projects remain */
    async delete(orgId: string, held: ProjectRecord, attribution: Attribution): Promise<void> {
      const removal = await counters.removeProjectWrites(orgId, held.id, hasFindings);
      // An asset's findings are no reason of their own.
      if (!removal) throw held.asset_count === 0 ? hasFindings() : hasAssets();
      await table.transact([
        {
          Delete: {
            Key: projectKey(orgId, held.id),
            ConditionExpression:
              'asset_count = :none AND sub_project_count = :none AND #name = :name AND team_id = :team',
            ExpressionAttributeNames: { '#name': 'name' },
            ExpressionAttributeValues: { ':none': 0, ':name': held.name, ':team': held.team_id },
          },
          otherwise: hasAssets,
        },
        { Delete: { Key: projectNameKey(orgId, held.parent_id, held.name) } },
        ...(held.parent_id ? [countWrite(orgId, held.parent_id, 'sub_project_count', -1)] : []),
        ...teamCount(orgId, held.team_id, -1),
        ...removal,
        auditWrite(orgId, attribution, {
          action: 'project.delete',
          target: { type: 'project', id: held.id },
          changes: { name: { before: held.name } },
        }),
      ]);
    },
  };
}

const hasAssets = () => new ServiceError('cannot_delete', 'The project still has assets or sub-projects');
const hasFindings = () =>
  new ServiceError('cannot_delete', 'The project still has findings that policies put there');

export function placementIn(project: ProjectRecord): Placement {
  return project.parent_id
    ? { project_id: project.parent_id, sub_project_id: project.id }
    : { project_id: project.id, sub_project_id: null };
}

/** Moves a count on a project; the project must exist. */
export function countWrite(
  orgId: string,
  projectId: string,
  attribute: 'asset_count' | 'sub_project_count',
  by: number,
): Write {
  return {
    Update: {
      Key: projectKey(orgId, projectId),
      UpdateExpression: 'ADD #count :by',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeNames: { '#count': attribute },
      ExpressionAttributeValues: { ':by': by },
    },
    otherwise: () => notFound('project'),
  };
}

/** A team counts its projects, which keep it from being deleted; it must exist when it is given one. */
function teamCount(orgId: string, teamId: string | null, by: 1 | -1): Write[] {
  if (teamId === null) return [];
  return [
    {
      Update: {
        Key: teamKey(orgId, teamId),
        UpdateExpression: 'ADD project_count :by',
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeValues: { ':by': by },
      },
      otherwise: () => new UnknownReference('team_id', 'team'),
    },
  ];
}

function entryItem(orgId: string, project: ProjectRecord) {
  return {
    ...projectNameKey(orgId, project.parent_id, project.name),
    ...ProjectEntry.parse(project),
  };
}

function nameWrite(orgId: string, project: ProjectRecord): Write {
  return {
    Put: { Item: entryItem(orgId, project), ConditionExpression: 'attribute_not_exists(pk)' },
    otherwise: () => new ServiceError('already_exists', `A project with the name ${project.name} exists`),
  };
}

/** Keeps the entry in step. A change of case alone keeps the key, and two writes of one item are not allowed in a transaction. */
function entryWrites(orgId: string, held: ProjectRecord, next: ProjectRecord): Write[] {
  if (next.name === held.name && next.team_id === held.team_id) return [];
  const from = projectNameKey(orgId, held.parent_id, held.name);
  const to = projectNameKey(orgId, next.parent_id, next.name);
  if (from.sk === to.sk) return [{ Put: { Item: entryItem(orgId, next) } }];
  return [{ Delete: { Key: from } }, nameWrite(orgId, next)];
}
