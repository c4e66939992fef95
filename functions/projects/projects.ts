import type { CellCounts } from '#domain/cells.ts';
import type { Clock } from '#domain/clock.ts';
import type { Ids } from '#domain/ids.ts';
import { attributionOf } from '#http/attribution.ts';
import type { OrgCaller } from '#http/caller.ts';
import type { AssetStore } from '#store/assets.ts';
import type { CounterStore } from '#store/counters.ts';
import type { GroupMemberStore } from '#store/group-members.ts';
import type { PolicyStore } from '#store/policies.ts';
import type { ProjectEntry, ProjectRecord, ProjectStore } from '#store/projects.ts';

/** What the operations on projects mean, whichever family asks: ids are UUIDs here. */
export interface ProjectDependencies {
  readonly projects: ProjectStore;
  readonly assets: AssetStore;
  readonly policies: Pick<PolicyStore, 'listActive'>;
  readonly counters: CounterStore;
  readonly groups: GroupMemberStore;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** A project with the counts of its findings. */
interface ProjectRow {
  readonly record: ProjectRecord;
  readonly counts: CellCounts;
}

interface Request {
  readonly caller: OrgCaller;
  readonly requestId: string;
  readonly ip: string;
}

interface ProjectFields {
  readonly description?: string | null | undefined;
  readonly team_id?: string | null | undefined;
}

type CreateInput = Request & { readonly body: ProjectFields & { readonly name: string } };
type UpdateInput = Request & {
  readonly params: { readonly project_id: string };
  readonly body: ProjectFields & { readonly name?: string | undefined };
};

export const NO_FINDINGS: CellCounts = new Map<string, number>();

export async function addProject(
  input: CreateInput,
  parent: ProjectRecord | null,
  { projects, policies, clock, ids }: ProjectDependencies,
): Promise<ProjectRecord> {
  const { caller, body } = input;
  // It may be the one that a policy names.
  const judge = (await policies.listActive(caller.orgId)).some(({ kind }) => kind === 'project');
  return projects.create(
    caller.orgId,
    {
      id: ids.next(),
      name: body.name,
      description: body.description ?? null,
      team_id: body.team_id ?? null,
      parent,
    },
    attributionOf(input, clock),
    { judge },
  );
}

export async function addSubProject(
  input: CreateInput & { readonly params: { readonly project_id: string } },
  dependencies: ProjectDependencies,
): Promise<ProjectRecord> {
  const parent = await dependencies.projects.require(input.caller.orgId, input.params.project_id);
  return addProject(input, parent, dependencies);
}

export async function readProject(
  orgId: string,
  projectId: string,
  { projects, counters }: ProjectDependencies,
): Promise<ProjectRow> {
  const [record, [counts = NO_FINDINGS]] = await Promise.all([
    projects.require(orgId, projectId),
    counters.readProjects(orgId, [projectId]),
  ]);
  return { record, counts };
}

export async function changeProject(
  input: UpdateInput,
  { projects, policies, counters, clock }: ProjectDependencies,
): Promise<ProjectRow> {
  const { caller, params, body } = input;
  const [held, active] = await Promise.all([
    projects.require(caller.orgId, params.project_id),
    policies.listActive(caller.orgId),
  ]);
  // Policies see it.
  const judge = active.length > 0;
  const record = await projects.update(caller.orgId, held, body, attributionOf(input, clock), { judge });
  const [counts = NO_FINDINGS] = await counters.readProjects(caller.orgId, [record.id]);
  return { record, counts };
}

/** Answers the id of what is gone. */
export async function removeProject(
  input: Request & { readonly params: { readonly project_id: string } },
  { projects, groups, clock }: ProjectDependencies,
): Promise<string> {
  const { caller, params } = input;
  const held = await projects.require(caller.orgId, params.project_id);
  await projects.delete(caller.orgId, held, attributionOf(input, clock));
  await groups.removeEverybody(caller.orgId, { kind: 'project', id: held.id });
  return held.id;
}

/** Slim entries under a parent (which must exist), or the top-level ones; of one team where it is named. */
export async function chooseEntries(
  orgId: string,
  parentId: string | null,
  teamId: string | undefined,
  { projects }: ProjectDependencies,
): Promise<ProjectEntry[]> {
  const entries = await projects.listEntries(orgId, parentId);
  // Entries prove their parent: it can't be deleted before them.
  if (parentId !== null && entries.length === 0) await projects.require(orgId, parentId);
  return teamId === undefined ? entries : entries.filter((entry) => entry.team_id === teamId);
}

/** The records behind entries, in their order, with their counts. */
export async function readRows(
  orgId: string,
  entries: readonly ProjectEntry[],
  { projects, counters }: ProjectDependencies,
): Promise<ProjectRow[]> {
  const ids = entries.map((entry) => entry.id);
  const [records, counts] = await Promise.all([
    projects.getMany(orgId, ids),
    counters.readProjects(orgId, ids),
  ]);
  const countsOf = new Map(ids.map((id, index) => [id, counts[index] ?? NO_FINDINGS]));
  return records.map((record) => ({ record, counts: countsOf.get(record.id) ?? NO_FINDINGS }));
}
