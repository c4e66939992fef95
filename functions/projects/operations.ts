import type { projects } from '#contract/operations/projects.ts';
import { notFound } from '#domain/errors.ts';
import { toOpaque } from '#domain/ids.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { pageOf, sortEntries, wholeOrPage } from '#http/paging.ts';
import { presentAsset } from '#shared/presenters/asset.ts';
import { presentProject, presentProjectRead } from '#shared/presenters/project.ts';
import type { AssetRecord, AssetStore } from '#store/assets.ts';
import { placementIn } from '#store/projects.ts';
import {
  addProject,
  addSubProject,
  changeProject,
  chooseEntries,
  NO_FINDINGS,
  type ProjectDependencies,
  readProject,
  readRows,
  removeProject,
} from './projects.ts';

/** Both families, over the same records: what they mean is in `projects.ts`, here is how each shows it. */
export const projectOperations: Implementations<typeof projects.operations, ProjectDependencies> = {
  async listOrgProjects({ caller, query }, dependencies) {
    const entries = await chooseEntries(caller.orgId, null, query.team_id, dependencies);
    const page = wholeOrPage(sortEntries(entries, 'name'), query);
    const rows = await readRows(caller.orgId, page, dependencies);
    return rows.map(({ record, counts }) => presentProjectRead(record, counts));
  },

  async createOrgProject(input, dependencies) {
    return presentProjectRead(await addProject(input, null, dependencies), NO_FINDINGS);
  },

  async getOrgProject({ caller, params }, dependencies) {
    const { record, counts } = await readProject(caller.orgId, params.project_id, dependencies);
    return presentProjectRead(record, counts);
  },

  async updateOrgProject(input, dependencies) {
    const { record, counts } = await changeProject(input, dependencies);
    return presentProjectRead(record, counts);
  },

  async deleteOrgProject(input, dependencies) {
    return { id: await removeProject(input, dependencies), deleted: true };
  },

  async listOrgSubProjects({ caller, params, query }, dependencies) {
    const entries = await chooseEntries(caller.orgId, params.project_id, undefined, dependencies);
    const page = wholeOrPage(sortEntries(entries, 'name'), query);
    const rows = await readRows(caller.orgId, page, dependencies);
    return rows.map(({ record, counts }) => presentProjectRead(record, counts));
  },

  async createOrgSubProject(input, dependencies) {
    return presentProjectRead(await addSubProject(input, dependencies), NO_FINDINGS);
  },

  async listProjects({ caller, query }, dependencies) {
    return listPage(caller.orgId, null, query, dependencies);
  },

  async createProject(input, dependencies) {
    return presentProject(await addProject(input, null, dependencies), NO_FINDINGS);
  },

  async getProject({ caller, params }, dependencies) {
    const { record, counts } = await readProject(caller.orgId, params.project_id, dependencies);
    return presentProject(record, counts);
  },

  async updateProject(input, dependencies) {
    const { record, counts } = await changeProject(input, dependencies);
    return presentProject(record, counts);
  },

  async deleteProject(input, dependencies) {
    return { id: toOpaque('project', await removeProject(input, dependencies)), deleted: true };
  },

  async listSubProjects({ caller, params, query }, dependencies) {
    return listPage(caller.orgId, params.project_id, query, dependencies);
  },

  async createSubProject(input, dependencies) {
    return presentProject(await addSubProject(input, dependencies), NO_FINDINGS);
  },

  async listProjectAssets({ caller, params, query }, { projects, assets }) {
    const entries = await assets.listEntries(caller.orgId);
    const inside = entries.filter(
      (entry) => entry.project_id === params.project_id || entry.sub_project_id === params.project_id,
    );
    // Assets prove their project: it can't be deleted before they leave it.
    if (inside.length === 0) await projects.require(caller.orgId, params.project_id);
    const { slice, pagination } = pageOf(sortEntries(inside, query.sort), query.page, query.per_page);
    const ids = slice.map((entry) => entry.id);
    return { data: await presentAssets(caller.orgId, ids, assets), pagination };
  },

  async assignProjectAssets(input, { projects, assets, clock }) {
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
      moved.push(await assets.place(caller.orgId, asset, placementIn(project), attributionOf(input, clock)));
    const ids = moved.map((asset) => asset.id);
    const data = await presentAssets(caller.orgId, ids, assets);
    return { data, pagination: { page: 1, per_page: 100, total: data.length } };
  },
};

interface ListQuery {
  readonly page: number;
  readonly per_page: number;
  readonly sort: 'name' | '-name' | 'created_at' | '-created_at';
  readonly team_id?: string | undefined;
}

/** Family B's list of the projects under a parent, or of the top-level ones. */
async function listPage(
  orgId: string,
  parentId: string | null,
  query: ListQuery,
  dependencies: ProjectDependencies,
) {
  const entries = await chooseEntries(orgId, parentId, query.team_id, dependencies);
  const { slice, pagination } = pageOf(sortEntries(entries, query.sort), query.page, query.per_page);
  const rows = await readRows(orgId, slice, dependencies);
  return { data: rows.map(({ record, counts }) => presentProject(record, counts)), pagination };
}

async function presentAssets(orgId: string, ids: readonly string[], assets: AssetStore) {
  const rows = await assets.getManyWithCounts(orgId, ids);
  return rows.map(({ record, counts }) => presentAsset(record, counts));
}
