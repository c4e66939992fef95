import type { policies as contract } from '#contract/operations/policies.ts';
import { toOpaque } from '#domain/ids.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { pageOf, sortEntries } from '#http/paging.ts';
import { presentPolicy, presentVersion, presentVersionDetail } from '#shared/presenters/policy.ts';
import { deletePolicy, saveVersion, setActive } from './change-policy.ts';
import type { PolicyDependencies } from './dependencies.ts';
import { evaluate } from './evaluate.ts';
import { checkMayRead } from './evaluation-inputs.ts';
import { presentOpaque } from './present-evaluation.ts';
import { createPolicy, savePolicy, sourceOf, sourcesOf } from './save-policy.ts';

type Operations = (typeof contract)['operations'];
export type FamilyOf<Family extends 'A' | 'B'> = {
  [Id in keyof Operations as Operations[Id]['family'] extends Family ? Id : never]: Operations[Id];
};

/** Family B. */
export const policyOperations: Implementations<FamilyOf<'B'>, PolicyDependencies> = {
  async listPolicies({ caller, query }, dependencies) {
    const { kind, scope, active } = query;
    const chosen = (await dependencies.policies.list(caller.orgId)).filter(
      (policy) =>
        (!kind || kind.includes(policy.kind)) &&
        (!scope || scope.includes(policy.scope)) &&
        (active === undefined || policy.active === active),
    );
    const { slice, pagination } = pageOf(sortEntries(chosen, query.sort), query.page, query.per_page);
    const sources = await sourcesOf(caller.orgId, slice, dependencies);
    return {
      data: slice.map((policy) => presentPolicy(policy, sources.get(policy.code) ?? '')),
      pagination,
    };
  },

  async createPolicy(input, dependencies) {
    const { caller, body } = input;
    const attribution = attributionOf(input, dependencies.clock);
    const made = await createPolicy(caller.orgId, body, attribution, dependencies);
    return { ...presentPolicy(made.record, made.rego), warnings: made.warnings };
  },

  async getPolicy({ caller, params }, dependencies) {
    const record = await dependencies.policies.require(caller.orgId, params.policy_id);
    return presentPolicy(record, await sourceOf(caller.orgId, record, dependencies));
  },

  async updatePolicy(input, dependencies) {
    const { caller, params, body } = input;
    const attribution = attributionOf(input, dependencies.clock);
    const saved = await savePolicy(caller.orgId, params.policy_id, body, attribution, dependencies);
    return { ...presentPolicy(saved.record, saved.rego), warnings: saved.warnings };
  },

  async deletePolicy(input, dependencies) {
    const { caller, params } = input;
    const attribution = attributionOf(input, dependencies.clock);
    await deletePolicy(caller.orgId, params.policy_id, attribution, dependencies);
    return { id: toOpaque('policy', params.policy_id), deleted: true };
  },

  async activatePolicy(input, dependencies) {
    return activation(input, true, dependencies);
  },

  async deactivatePolicy(input, dependencies) {
    return activation(input, false, dependencies);
  },

  async listPolicyVersions({ caller, params }, { policies }) {
    const versions = await policies.listVersions(caller.orgId, params.policy_id);
    return { versions: versions.map(presentVersion) };
  },

  async getPolicyVersion({ caller, params }, dependencies) {
    const { policies } = dependencies;
    const version = await policies.requireVersion(caller.orgId, params.policy_id, params.version);
    return presentVersionDetail(version, await sourceOf(caller.orgId, version, dependencies));
  },

  async restorePolicyVersion(input, dependencies) {
    const { caller, params } = input;
    const { policies, clock } = dependencies;
    // Of a deleted policy versions are readable, and no more.
    await policies.require(caller.orgId, params.policy_id);
    const version = await policies.requireVersion(caller.orgId, params.policy_id, params.version);
    const { scope, scope_target_id, code } = version;
    const record = await saveVersion(
      dependencies,
      caller.orgId,
      params.policy_id,
      { place: { scope, scope_target_id }, code, message: `Restored version ${version.version}` },
      'policy.restore',
      attributionOf(input, clock),
    );
    return presentPolicy(record, await sourceOf(caller.orgId, record, dependencies));
  },

  async updatePolicyScope(input, dependencies) {
    const { caller, params, body } = input;
    const record = await saveVersion(
      dependencies,
      caller.orgId,
      params.policy_id,
      { place: body.place, message: body.message ?? null },
      'policy.scope',
      attributionOf(input, dependencies.clock),
    );
    return presentPolicy(record, await sourceOf(caller.orgId, record, dependencies));
  },

  async evaluatePolicy({ caller, body }, dependencies) {
    checkMayRead(caller, body);
    const evaluated = await evaluate(caller.orgId, body, 'evaluate', dependencies);
    const shown = evaluated.evaluations.map(presentOpaque);
    const [single] = shown;
    if (body.finding_ids === undefined && single) return single;
    return { data: shown, pagination: { page: 1, per_page: shown.length, total: shown.length } };
  },
};

async function activation(
  input: Parameters<typeof attributionOf>[0] & {
    readonly caller: { readonly orgId: string };
    readonly params: { readonly policy_id: string };
  },
  active: boolean,
  dependencies: PolicyDependencies,
) {
  const { orgId } = input.caller;
  const attribution = attributionOf(input, dependencies.clock);
  const record = await setActive(orgId, input.params.policy_id, active, attribution, dependencies);
  return presentPolicy(record, await sourceOf(orgId, record, dependencies));
}
