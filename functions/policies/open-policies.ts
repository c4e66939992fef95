import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { sortEntries, wholeOrPage } from '#http/paging.ts';
import { presentOpenPolicy } from '#shared/presenters/policy.ts';
import { deletePolicy } from './change-policy.ts';
import { validateSource } from './check-source.ts';
import type { PolicyDependencies } from './dependencies.ts';
import { engineTurn } from './engine-turn.ts';
import { type Evaluated, evaluate } from './evaluate.ts';
import { checkMayRead } from './evaluation-inputs.ts';
import type { FamilyOf } from './operations.ts';
import { presentEvaluation, presentTest } from './present-evaluation.ts';
import { createPolicy, savePolicy, sourceOf, sourcesOf } from './save-policy.ts';

/** Family A: the same records as open policies. */
export const openPolicyOperations: Implementations<FamilyOf<'A'>, PolicyDependencies> = {
  async listOpenPolicies({ caller, query }, dependencies) {
    const sorted = sortEntries(await dependencies.policies.list(caller.orgId), 'name');
    const chosen = wholeOrPage(sorted, query);
    const sources = await sourcesOf(caller.orgId, chosen, dependencies);
    return chosen.map((policy) => presentOpenPolicy(policy, sources.get(policy.code) ?? ''));
  },

  async createOpenPolicy(input, dependencies) {
    const { caller, body } = input;
    const attribution = attributionOf(input, dependencies.clock);
    const made = await createPolicy(caller.orgId, body, attribution, dependencies);
    return { ...presentOpenPolicy(made.record, made.rego), warnings: made.warnings };
  },

  async getOpenPolicy({ caller, params }, dependencies) {
    const record = await dependencies.policies.require(caller.orgId, params.policy_id);
    return presentOpenPolicy(record, await sourceOf(caller.orgId, record, dependencies));
  },

  async updateOpenPolicy(input, dependencies) {
    const { caller, params, body } = input;
    const attribution = attributionOf(input, dependencies.clock);
    const saved = await savePolicy(caller.orgId, params.policy_id, body, attribution, dependencies);
    return { ...presentOpenPolicy(saved.record, saved.rego), warnings: saved.warnings };
  },

  async deleteOpenPolicy(input, dependencies) {
    const { caller, params } = input;
    const attribution = attributionOf(input, dependencies.clock);
    await deletePolicy(caller.orgId, params.policy_id, attribution, dependencies);
    return { id: params.policy_id, deleted: true };
  },

  async testInlinePolicy({ caller, body }, dependencies) {
    checkMayRead(caller, body);
    const isList = body.finding_ids !== undefined;
    const evaluated = await evaluate(caller.orgId, body, isList ? 'evaluate' : 'test', dependencies);
    return isList ? evaluated.evaluations.map(presentEvaluation) : oneTested(evaluated);
  },

  async testOpenPolicy({ caller, params, body }, dependencies) {
    const { policies } = dependencies;
    checkMayRead(caller, body);
    // Its path names the policy: an unknown one is a 404 like any other.
    await policies.require(caller.orgId, params.policy_id);
    const request = { ...body, policy_id: params.policy_id };
    const evaluated = await evaluate(caller.orgId, request, 'test', dependencies);
    if (body.input !== undefined) return oneTested(evaluated);
    const { stored } = evaluated.subject;
    return {
      policy_id: params.policy_id,
      version: stored?.version ?? 0,
      duration_ms: evaluated.durationMs,
      results: evaluated.evaluations.map(presentEvaluation),
      tests: evaluated.tests.map(presentTest),
    };
  },

  async validateOpenPolicy({ caller, params }, dependencies) {
    const record = await dependencies.policies.require(caller.orgId, params.policy_id);
    const rego = await sourceOf(caller.orgId, record, dependencies);
    return validateSource(dependencies.reactor.onBehalfOf(engineTurn(caller.orgId)), record.kind, rego);
  },

  async listOpenPolicyRuns({ caller, params, query }, { policies, runs, clock }) {
    const { page, per_page } = query;
    const isWhole = page === undefined && per_page === undefined;
    const limit = isWhole ? undefined : (page ?? 1) * (per_page ?? 20);
    const [, listed] = await Promise.all([
      policies.require(caller.orgId, params.policy_id),
      runs.list(caller.orgId, params.policy_id, clock.now(), limit),
    ]);
    return [...wholeOrPage(listed, query)];
  },
};

/** Of one input; the rules `test_…` beside it. */
function oneTested({ evaluations: [first], tests }: Evaluated) {
  if (!first) throw new Error('An evaluation without an input has no answer of its own');
  return { ...presentEvaluation(first), tests: tests.map(presentTest) };
}
