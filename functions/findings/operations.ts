import type { findings } from '#contract/operations/findings.ts';
import { addCounts, summarize } from '#domain/cells.ts';
import type { Clock } from '#domain/clock.ts';
import { notFound } from '#domain/errors.ts';
import type { Implementations } from '#http/chain.ts';
import { pageOf } from '#http/paging.ts';
import { presentFindings } from '#shared/presenters/finding.ts';
import type { AssetStore } from '#store/assets.ts';
import type { CounterStore } from '#store/counters.ts';
import { type FindingFilter, type FindingStore, matchesFilter, sortFindings } from '#store/findings.ts';

export interface FindingDependencies {
  readonly findings: FindingStore;
  readonly assets: AssetStore;
  readonly counters: CounterStore;
  readonly clock: Clock;
}

interface ScopeQuery {
  readonly project_id?: string | undefined;
  readonly sub_project_id?: string | undefined;
  readonly asset_id?: string | undefined;
}

const DAY = 24 * 3600 * 1000;

export const findingOperations: Implementations<typeof findings.operations, FindingDependencies> = {
  async listFindings({ caller, query }, dependencies) {
    const { findings, clock } = dependencies;
    const now = clock.now();
    const filter: FindingFilter = {
      severity: query.severity,
      status: query.status,
      scanner: query.scanner,
      cveId: query.cve_id,
      assetIds: await assetsInScope(caller.orgId, query, dependencies),
      // A finding of age N was created between N and N + 1 days ago.
      createdFrom: query.age_max === undefined ? undefined : now - (query.age_max + 1) * DAY + 1,
      createdTo: query.age_min === undefined ? undefined : now - query.age_min * DAY,
    };
    if (query.id) {
      // A batch by id: missing ids are simply absent, the other filters narrow it further.
      const held = (await findings.getMany(caller.orgId, query.id)).filter((record) =>
        matchesFilter(record, filter),
      );
      const { slice, pagination } = pageOf(sortFindings(held, query.sort), query.page, query.per_page);
      return { data: presentFindings(await findings.readContext(caller.orgId, slice), now), pagination };
    }
    const skip = (query.page - 1) * query.per_page;
    const { total, ...page } = await findings.listPage(
      caller.orgId,
      filter,
      query.sort,
      skip,
      query.per_page,
    );
    return {
      data: presentFindings(page, now),
      pagination: { page: query.page, per_page: query.per_page, total },
    };
  },

  async getFindingSummary({ caller, query }, dependencies) {
    const { counters } = dependencies;
    const { orgId } = caller;
    if (query.asset_id) {
      const [inScope] = (await assetsInScope(orgId, query, dependencies)) ?? [];
      return summarize(addCounts(...(inScope ? await counters.readAssets(orgId, [inScope]) : [])));
    }
    // A sub-project that is not of the project has nothing in common with it.
    if (query.project_id && query.sub_project_id) {
      const assetIds = (await assetsInScope(orgId, query, dependencies)) ?? [];
      return summarize(addCounts(...(await counters.readAssets(orgId, assetIds))));
    }
    const projectId = query.sub_project_id ?? query.project_id;
    return summarize(
      projectId
        ? addCounts(...(await counters.readProjects(orgId, [projectId])))
        : await counters.readOrganization(orgId),
    );
  },

  async getFinding({ caller, params }, { findings, clock }) {
    const record = await findings.get(caller.orgId, params.finding_id);
    if (!record) throw notFound('finding');
    const [shown] = presentFindings(await findings.readContext(caller.orgId, [record]), clock.now());
    if (!shown) throw notFound('finding');
    return shown;
  },
};

/** The assets that project, sub-project and asset filters leave together; undefined where none is set. */
async function assetsInScope(
  orgId: string,
  query: ScopeQuery,
  { assets }: FindingDependencies,
): Promise<string[] | undefined> {
  const { project_id, sub_project_id, asset_id } = query;
  if (!project_id && !sub_project_id) return asset_id ? [asset_id] : undefined;
  const entries = await assets.listEntries(orgId);
  return entries
    .filter((entry) => !project_id || entry.project_id === project_id || entry.sub_project_id === project_id)
    .filter((entry) => !sub_project_id || entry.sub_project_id === sub_project_id)
    .filter((entry) => !asset_id || entry.id === asset_id)
    .map((entry) => entry.id);
}
