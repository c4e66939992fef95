import type { assets } from '#contract/operations/assets.ts';
import type { AddressPolicy } from '#domain/addresses.ts';
import { type Clock, timestamp } from '#domain/clock.ts';
import { NOT_PUBLIC, readClonePlace } from '#domain/clone-url.ts';
import { toOpaque } from '#domain/ids.ts';
import { UNPLACED } from '#domain/placement.ts';
import type { Scanner } from '#domain/vocabulary.ts';
import type { DeletionRequested } from '#events/deletions.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { pageOf, sortEntries, wholeOrPage } from '#http/paging.ts';
import { HttpValidationError } from '#http/validation.ts';
import type { HostCheck } from '#shared/network/named-hosts.ts';
import { presentAsset, presentRepository } from '#shared/presenters/asset.ts';
import { presentScan } from '#shared/presenters/scan.ts';
import type { Queue } from '#shared/queue.ts';
import { requestDeletion } from '#shared/request-deletion.ts';
import { type SubmitDependencies, submitScan } from '#shared/scans/submit-scan.ts';
import type { AssetRecord } from '#store/assets.ts';
import type { CounterStore } from '#store/counters.ts';
import { placementIn } from '#store/projects.ts';
import type { RecordDeletions } from '#store/record-deletions.ts';

export interface AssetDependencies extends SubmitDependencies {
  readonly counters: CounterStore;
  readonly records: RecordDeletions;
  readonly deletions: Queue<DeletionRequested>;
  readonly clock: Clock;
  /** What the deployment has: the default of an asset's scan. */
  readonly scanners: readonly Scanner[];
  readonly allowLocal: boolean;
  readonly reachable: AddressPolicy;
  readonly mayUseHost: HostCheck;
}

const NO_FINDINGS = new Map<string, number>();

export const assetOperations: Implementations<typeof assets.operations, AssetDependencies> = {
  async listRepositories({ caller, query }, dependencies) {
    const entries = await dependencies.assets.listEntries(caller.orgId);
    const chosen = sortEntries(entries, 'name').filter((entry) => inProject(entry, query.project_id));
    const rows = await dependencies.assets.getManyWithCounts(
      caller.orgId,
      wholeOrPage(chosen, query).map((entry) => entry.id),
    );
    return rows.map(({ record, counts }) => presentRepository(record, counts));
  },

  async addRepository(input, dependencies) {
    const { caller, body } = input;
    const { assets, projects, clock, ids } = dependencies;
    const attribution = attributionOf(input, clock);
    const place = await readPlace(body, dependencies);
    const project = body.project_id ? await projects.require(caller.orgId, body.project_id) : null;
    const now = timestamp(attribution.at);
    const record: AssetRecord = {
      id: ids.next(),
      name: body.name,
      full_name: place.fullName,
      type: body.type,
      provider: place.provider,
      clone_url: place.cloneUrl,
      default_branch: body.default_branch ?? null,
      ...(project ? placementIn(project) : UNPLACED),
      integration_id: null,
      criticality: 'medium',
      tags: [],
      last_scan_at: null,
      created_at: now,
      updated_at: now,
    };
    await assets.create(caller.orgId, record, attribution);
    return presentRepository(record, NO_FINDINGS);
  },

  async linkRepository(input, { assets, projects, counters, clock }) {
    const { caller, params, body } = input;
    const [held, project, sub] = await Promise.all([
      assets.require(caller.orgId, params.repo_id),
      projects.require(caller.orgId, body.project_id),
      body.sub_project_id ? projects.get(caller.orgId, body.sub_project_id) : null,
    ]);
    if (body.sub_project_id && sub?.parent_id !== project.id)
      throw wrongField('sub_project_id', 'must be a sub-project of the project');
    const placement = placementIn(sub ?? project);
    const record = await assets.place(caller.orgId, held, placement, attributionOf(input, clock));
    const [counts = NO_FINDINGS] = await counters.readAssets(caller.orgId, [record.id]);
    return presentRepository(record, counts);
  },

  async unlinkRepository(input, { assets, counters, clock }) {
    const { caller, params } = input;
    const held = await assets.require(caller.orgId, params.repo_id);
    const record = await assets.place(caller.orgId, held, UNPLACED, attributionOf(input, clock));
    const [counts = NO_FINDINGS] = await counters.readAssets(caller.orgId, [record.id]);
    return presentRepository(record, counts);
  },

  async listAssets({ caller, query }, dependencies) {
    const entries = await dependencies.assets.listEntries(caller.orgId);
    const chosen = entries.filter(
      (entry) => inProject(entry, query.project_id) && (!query.type || entry.type === query.type),
    );
    const { slice, pagination } = pageOf(sortEntries(chosen, query.sort), query.page, query.per_page);
    const rows = await dependencies.assets.getManyWithCounts(
      caller.orgId,
      slice.map((entry) => entry.id),
    );
    return { data: rows.map(({ record, counts }) => presentAsset(record, counts)), pagination };
  },

  async getAsset({ caller, params }, { assets, counters }) {
    const [record, [counts = NO_FINDINGS]] = await Promise.all([
      assets.require(caller.orgId, params.asset_id),
      counters.readAssets(caller.orgId, [params.asset_id]),
    ]);
    return presentAsset(record, counts);
  },

  async updateAsset(input, { assets, counters, clock }) {
    const { caller, params, body } = input;
    const held = await assets.require(caller.orgId, params.asset_id);
    const change = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    const record = await assets.update(caller.orgId, held, change, attributionOf(input, clock));
    const [counts = NO_FINDINGS] = await counters.readAssets(caller.orgId, [record.id]);
    return presentAsset(record, counts);
  },

  async deleteAsset(input, { records, deletions, clock }) {
    const { caller, params } = input;
    await records.beginAsset(caller.orgId, params.asset_id, attributionOf(input, clock));
    await requestDeletion(deletions, {
      kind: 'asset',
      org_id: caller.orgId,
      asset_id: params.asset_id,
    });
    return { id: toOpaque('asset', params.asset_id), deleted: true };
  },

  async scanAsset(input, dependencies) {
    const { caller, params, body, idempotencyKey } = input;
    const scan = await submitScan(
      caller.orgId,
      {
        scope: 'asset',
        targetId: params.asset_id,
        scanners: body?.scanners ?? dependencies.scanners,
        branch: body?.branch ?? null,
        trigger: 'api',
        idempotencyKey,
      },
      attributionOf(input, dependencies.clock),
      dependencies,
    );
    return presentScan(scan);
  },
};

function inProject(
  entry: { project_id: string | null; sub_project_id: string | null },
  projectId: string | undefined,
): boolean {
  return projectId === undefined || entry.project_id === projectId || entry.sub_project_id === projectId;
}

/** A repository is cloned from its URL; an image or another asset is just named by it. */
async function readPlace(
  body: { type: AssetRecord['type']; name: string; url?: string | null | undefined },
  { allowLocal, reachable, mayUseHost }: AssetDependencies,
): Promise<{ cloneUrl: string | null; provider: string; fullName: string }> {
  if (body.type !== 'repository')
    return { cloneUrl: body.url ?? null, provider: 'manual', fullName: body.name };
  if (!body.url) throw wrongField('url', 'is required for a repository');
  const place = readClonePlace(body.url, { local: allowLocal, reachable });
  if ('problem' in place) throw wrongField('url', place.problem);
  if (place.host !== null && !(await mayUseHost(place.host))) throw wrongField('url', NOT_PUBLIC);
  return place;
}

function wrongField(field: string, problem: string): HttpValidationError {
  return new HttpValidationError([{ loc: ['body', field], msg: `${field} ${problem}`, type: 'value_error' }]);
}
