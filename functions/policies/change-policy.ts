import type { Attribution } from '#domain/actor.ts';
import { requestReevaluation } from '#shared/request-reevaluation.ts';
import type { PolicyRecord } from '#store/policy-record.ts';
import type { PolicyDependencies } from './dependencies.ts';

/*
 * Changes of which policies judge. The store records with each that findings are to be judged anew; these ask
 * for it at once.
 */

export async function setActive(
  orgId: string,
  policyId: string,
  active: boolean,
  attribution: Attribution,
  dependencies: PolicyDependencies,
): Promise<PolicyRecord> {
  const record = await dependencies.policies.setActive(orgId, policyId, active, attribution);
  await judgeAnew(orgId, dependencies);
  return record;
}

export async function deletePolicy(
  orgId: string,
  policyId: string,
  attribution: Attribution,
  dependencies: PolicyDependencies,
): Promise<void> {
  await dependencies.policies.delete(orgId, policyId, attribution);
  await judgeAnew(orgId, dependencies);
}

/** @param args as `PolicyStore.save` takes them */
export async function saveVersion(
  { policies, ...dependencies }: PolicyDependencies,
  ...args: Parameters<PolicyDependencies['policies']['save']>
): Promise<PolicyRecord> {
  const record = await policies.save(...args);
  if (record.active) await judgeAnew(args[0], dependencies);
  return record;
}

async function judgeAnew(orgId: string, { reevaluations }: Pick<PolicyDependencies, 'reevaluations'>) {
  await requestReevaluation(reevaluations, { org_id: orgId, asset_id: null });
}
