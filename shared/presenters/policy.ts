import type * as z from 'zod';
import type {
  OpenPolicyRead,
  Policy,
  PolicyPlace,
  PolicyVersionDetail,
  PolicyVersions,
} from '#contract/schemas/policies.ts';
import { toOpaque } from '#domain/ids.ts';
import type { PolicyRecord, PolicyVersionRecord } from '#store/policy-record.ts';

function shared(record: PolicyRecord, rego: string) {
  return {
    name: record.name,
    description: record.description,
    kind: record.kind,
    scope: record.scope,
    active: record.active,
    rego,
    version: record.version,
    created_at: record.created_at,
    updated_at: record.updated_at,
  };
}

function opaqueTarget({ scope, scope_target_id }: PolicyPlace): string | null {
  return scope_target_id && scope !== 'organization' ? toOpaque(scope, scope_target_id) : null;
}

/** A policy as Family B shows it. */
export function presentPolicy(record: PolicyRecord, rego: string): z.input<typeof Policy> {
  return {
    id: toOpaque('policy', record.id),
    scope_target_id: opaqueTarget(record),
    ...shared(record, rego),
  };
}

/** The same record as Family A shows it. */
export function presentOpenPolicy(record: PolicyRecord, rego: string): z.input<typeof OpenPolicyRead> {
  return { id: record.id, scope_target_id: record.scope_target_id, ...shared(record, rego) };
}

type Version = z.input<typeof PolicyVersions>['versions'][number];

/** A version as the list shows it: the specification's record, without the source. */
export function presentVersion(record: PolicyVersionRecord): Version {
  const { version, created_at, author, message, active } = record;
  return { version, created_at, author, message, active };
}

export function presentVersionDetail(
  record: PolicyVersionRecord,
  rego: string,
): z.input<typeof PolicyVersionDetail> {
  return {
    ...presentVersion(record),
    kind: record.kind,
    scope: record.scope,
    scope_target_id: opaqueTarget(record),
    rego,
  };
}
