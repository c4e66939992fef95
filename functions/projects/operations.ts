import type { projects } from '#contract/operations/projects.ts';
import type { Clock } from '#domain/clock.ts';
import { notFound } from '#domain/errors.ts';
import { type Ids, toOpaque } from '#domain/ids.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { pageOf, sortEntries } from '#http/paging.ts';
import { presentAsset } from '#shared/presenters/asset.ts';
import { presentProject } from '#shared/presenters/project.ts';
import type { AssetRecord, AssetStore } from '#store/assets.ts';
import type { CounterStore } from '#store/counters.ts';
import type { ProjectStore } from '#store/projects.ts';

export interface ProjectDependencies {
  readonly projects: ProjectStore;
  readonly assets: AssetStore;
  readonly counters: CounterStore;
  readonly clock: Clock;
  readonly ids: Ids;
}

const NO_FINDINGS = new Map<string, number>();

export const projectOperations: Implementations<typeof projects.operations, ProjectDependencies> = {
  async listProjects({ caller, query }, dependencies) {
    return listProjects(caller.orgId, null, query, dependencies);
  },

  async createProject(input, { projects, clock, ids }) {
    const { caller, body } = input;
    const record = await projects.create(
      caller.orgId,
      { id: ids.next(), name: body.name, description: body.description ?? null, parent: null },
      attributionOf(input, clock),
    );
    return presentProject(record, NO_FINDINGS);
  },

  async getProject({ caller, params }, { projects, counters }) {
    const [record, [counts = NO_FINDINGS]] = await Promise.all([
      projects.require(caller.orgId, params.project_id),
      counters.readProjects(caller.orgId, [params.project_id]),
    ]);
    return presentProject(record, counts);
  },

  async updateProject(input, { projects, counters, clock }) {
    const { caller, params, body } = input;
    const held = await projects.require(caller.orgId, params.project_id);
    const record = await projects.update(caller.orgId, held, body, attributionOf(input, clock));
    const [counts = NO_FINDINGS] = await counters.readProjects(caller.orgId, [record.id]);
    return presentProject(record, counts);
  },

  async deleteProject(input, { projects, clock }) {
    const { caller, params } = input;
    const held = await projects.require(caller.orgId, params.project_id);
    await projects.delete(caller.orgId, held, attributionOf(input, clock));
    return { id: toOpaque('project', held.id), deleted: true };
  },

  async listSubProjects({ caller, params, query }, dependencies) {
    await dependencies.projects.require(caller.orgId, params.project_id);
    return listProjects(caller.orgId, params.project_id, query, dependencies);
  },

  async createSubProject(input, { projects, clock, ids }) {
    const { caller, params, body } = input;
    const parent = await projects.require(caller.orgId, params.project_id);
    const record = await projects.create(
      caller.orgId,
      { id: ids.next(), name: body.name, description: body.description ?? null, parent },
      attributionOf(input, clock),
    );
    return presentProject(record, NO_FINDINGS);
  },

  async listProjectAssets({ caller, params, query }, { projects, assets, counters }) {
    const [, entries] = await Promise.all([
      projects.require(caller.orgId, params.project_id),
      assets.listEntries(caller.orgId),
    ]);
    const inside = entries.filter(
      (entry) => entry.project_id === params.project_id || entry.sub_project_id === params.project_id,
    );
    const { slice, pagination } = pageOf(sortEntries(inside, query.sort), query.page, query.per_page);
    const ids = slice.map((entry) => entry.id);
    return { data: await presentAssets(caller.orgId, ids, { assets, counters }), pagination };
  },

  async assignProjectAssets(input, { projects, assets, counters, clock }) {
    const { caller, params, body } = input;
    const wanted = [...new Set(body.asset_ids)];
    const [project, held] = await Promise.all([
      projects.require(caller.orgId, params.project_id),
      assets.getMany(caller.orgId, wanted),
    ]);
    // All or none are known before the first is moved; each move is one transaction of its own.
    if (held.length < wanted.length) throw notFound('asset');
    const moved: AssetRecord[] = [];
    for (const asset of held)
      moved.push(await assets.assign(caller.orgId, asset, project, attributionOf(input, clock)));
    const ids = moved.map((asset) => asset.id);
    const data = await presentAssets(caller.orgId, ids, { assets, counters });
    return { data, pagination: { page: 1, per_page: 100, total: data.length } };
  },
};

async function listProjects(
  orgId: string,
  parentId: string | null,
  query: { page: number; per_page: number; sort: 'name' | '-name' | 'created_at' | '-created_at' },
  { projects, counters }: ProjectDependencies,
) {
  const entries = sortEntries(await projects.listEntries(orgId, parentId), query.sort);
  const { slice, pagination } = pageOf(entries, query.page, query.per_page);
  const ids = slice.map((entry) => entry.id);
  const [records, counts] = await Promise.all([
    projects.getMany(orgId, ids),
    counters.readProjects(orgId, ids),
  ]);
  const countsOf = new Map(ids.map((id, index) => [id, counts[index] ?? NO_FINDINGS]));
  return {
    data: records.map((record) => presentProject(record, countsOf.get(record.id) ?? NO_FINDINGS)),
    pagination,
  };
}

async function presentAssets(
  orgId: string,
  ids: readonly string[],
  { assets, counters }: Pick<ProjectDependencies, 'assets' | 'counters'>,
) {
  const [records, counts] = await Promise.all([assets.getMany(orgId, ids), counters.readAssets(orgId, ids)]);
  const countsOf = new Map(ids.map((id, index) => [id, counts[index] ?? NO_FINDINGS]));
  return records.map((record) => presentAsset(record, countsOf.get(record.id) ?? NO_FINDINGS));
}
