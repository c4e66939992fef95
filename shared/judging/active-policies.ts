import type { Placement } from '#domain/placement.ts';
import type { CompiledPolicy } from '#shared/policy/check.ts';
import type { PolicyKind } from '#shared/policy/kinds.ts';
import type { PolicyStore } from '#store/policies.ts';
import type { PolicyCodeStore } from '#store/policy-code.ts';
import type { PolicyRecord } from '#store/policy-record.ts';

/** Kinds that judge every finding; `pr_scan` judges pull requests. */
const JUDGING: ReadonlySet<PolicyKind> = new Set(['triage', 'priority', 'ownership', 'project']);

export interface ActivePolicy {
  readonly record: PolicyRecord;
  readonly code: CompiledPolicy;
}

export function judges({ kind }: Pick<PolicyRecord, 'kind'>): boolean {
  return JUDGING.has(kind);
}

/** What judges an organization's findings; one store request, and another for code that is not known yet. */
export async function readActivePolicies(
  orgId: string,
  stores: {
    readonly policies: Pick<PolicyStore, 'listActive'>;
    readonly policyCode: Pick<PolicyCodeStore, 'readCompiled'>;
  },
): Promise<ActivePolicy[]> {
  const records = (await stores.policies.listActive(orgId)).filter(judges);
  const compiled = await stores.policyCode.readCompiled(
    orgId,
    records.map(({ code }) => code),
  );
  return records.map((record) => {
    const code = compiled.get(record.code);
    if (!code) throw new Error(`The code of policy ${record.id} is missing`);
    return { record, code };
  });
}

/** Those whose scope the asset is in: the narrowest scope first, then the older policy. */
export function policiesOf(
  active: readonly ActivePolicy[],
  asset: { readonly id: string } & Placement,
): ActivePolicy[] {
  return active
    .map((policy) => ({ policy, distance: distanceOf(policy.record, asset) }))
    .filter(({ distance }) => distance !== null)
    .sort((a, b) => Number(a.distance) - Number(b.distance) || older(a.policy, b.policy))
    .map(({ policy }) => policy);
}

/** How far a policy's scope is from an asset; null where the asset is not in it. */
function distanceOf(
  { scope, scope_target_id: target }: PolicyRecord,
  asset: { readonly id: string } & Placement,
): number | null {
  if (scope === 'organization') return 3;
  if (target === null) return null;
  if (scope === 'asset') return target === asset.id ? 0 : null;
  if (target === asset.sub_project_id) return 1;
  return target === asset.project_id ? 2 : null;
}

/** Ids are UUIDv7: they sort by time of creation. */
function older({ record: a }: ActivePolicy, { record: b }: ActivePolicy): number {
  return a.id < b.id ? -1 : 1;
}
