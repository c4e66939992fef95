import type { findings } from '#contract/operations/findings.ts';
import { addCounts, summarize } from '#domain/cells.ts';
import { notFound } from '#domain/errors.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { presentFindings } from '#shared/presenters/finding.ts';
import { chooseByFilter, chooseByIds, triageMany } from './bulk.ts';
import type { FindingDependencies } from './dependencies.ts';
import { listBatch, listFindings, placesInScope, readFilter } from './list-findings.ts';
import { readSuppression, reopening, resolveAssignee, suppressing, triageOne, updating } from './triage.ts';

export const findingOperations: Implementations<typeof findings.operations, FindingDependencies> = {
  async listFindings({ caller, query }, dependencies) {
    const filter = await readFilter(caller.orgId, query, dependencies);
    return query.id
      ? listBatch(caller.orgId, query.id, filter, query, dependencies)
      : listFindings(caller.orgId, filter, query, dependencies);
  },

  async listAssetFindings({ caller, params, query }, dependencies) {
    const filter = await readFilter(caller.orgId, { ...query, asset_id: params.asset_id }, dependencies);
    const list = await listFindings(caller.orgId, filter, query, dependencies);
    // A finding is shown with its asset: only an empty page leaves open whether there is one.
    if (list.data.length === 0) await dependencies.assets.require(caller.orgId, params.asset_id);
    return list;
  },

  async getFindingSummary({ caller, query }, dependencies) {
    const { counters } = dependencies;
    const { orgId } = caller;
    // A sub-project that is not of the project has nothing in common with it.
    if (query.asset_id || (query.project_id && query.sub_project_id)) {
      const places = (await placesInScope(orgId, query, dependencies)) ?? [];
      return summarize(addCounts(...(await counters.readPlaces(orgId, places))));
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

  async updateFinding(input, dependencies) {
    const { caller, params, body } = input;
    const attribution = attributionOf(input, dependencies.clock);
    const update = await resolveAssignee(body, dependencies);
    const triage = updating(update, attribution.at);
    return triageOne(caller.orgId, params.finding_id, triage, 'finding.update', attribution, dependencies);
  },

  async suppressFinding(input, dependencies) {
    const { caller, params, body } = input;
    const attribution = attributionOf(input, dependencies.clock);
    const suppression = body
      ? readSuppression(body, attribution.at)
      : { reason: null, comment: null, expires_at: null };
    const triage = suppressing(suppression, attribution.at);
    return triageOne(caller.orgId, params.finding_id, triage, 'finding.suppress', attribution, dependencies);
  },

  async reopenFinding(input, dependencies) {
    const { caller, params } = input;
    const attribution = attributionOf(input, dependencies.clock);
    const triage = reopening(attribution.at);
    return triageOne(caller.orgId, params.finding_id, triage, 'finding.reopen', attribution, dependencies);
  },

  async bulkUpdateFindings(input, dependencies) {
    const { caller, body } = input;
    const attribution = attributionOf(input, dependencies.clock);
    const triage = updating(await resolveAssignee(body.update, dependencies), attribution.at);
    const chosen = body.finding_ids
      ? chooseByIds(body.finding_ids)
      : await chooseByFilter(caller.orgId, body.filter ?? {}, body.cursor, dependencies);
    return triageMany(caller.orgId, chosen, triage, attribution, dependencies);
  },
};
