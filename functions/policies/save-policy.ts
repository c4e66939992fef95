import type { PolicyPlace } from '#contract/schemas/policies.ts';
import type { Attribution } from '#domain/actor.ts';
import { ServiceError } from '#domain/errors.ts';
import { codeOf } from '#store/policy-code.ts';
import type { PolicyRecord } from '#store/policy-record.ts';
import { saveVersion } from './change-policy.ts';
import { compileSource, readKind } from './check-source.ts';
import type { PolicyDependencies } from './dependencies.ts';
import { engineTurn } from './engine-turn.ts';

/** Lambda answers 6 MB at most, and JSON makes a source longer. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;

interface Given {
  readonly name?: string | undefined;
  readonly kind?: string | undefined;
  readonly rego?: string | undefined;
  readonly description?: string | null | undefined;
  readonly message?: string | null | undefined;
  readonly place: PolicyPlace | undefined;
}

/** Both families' create: checked, compiled, kept, and then the record with its version 1. */
export async function createPolicy(
  orgId: string,
  given: Given & { readonly name: string; readonly kind: string; readonly rego: string },
  attribution: Attribution,
  { policies, code, reactor, ids }: PolicyDependencies,
) {
  const kind = readKind(given.kind);
  const { compiled, warnings } = await compileSource(reactor.onBehalfOf(engineTurn(orgId)), kind, given.rego);
  const record = await policies.create(
    orgId,
    {
      id: ids.next(),
      name: given.name,
      description: given.description ?? null,
      kind,
      ...(given.place ?? { scope: 'organization', scope_target_id: null }),
      code: await code.keep(orgId, compiled),
      message: given.message ?? null,
    },
    attribution,
  );
  return { record, rego: given.rego, warnings };
}

/**
 * Both families' PATCH: a version, whatever it changes. The source is checked once; where others save at the same
 * time, the rest is decided on what they left.
 */
export async function savePolicy(
  orgId: string,
  policyId: string,
  given: Given,
  attribution: Attribution,
  dependencies: PolicyDependencies,
) {
  const { policies, code, reactor } = dependencies;
  const held = await policies.require(orgId, policyId);
  if (given.kind !== undefined) checkSameKind(held, readKind(given.kind));
  // A source that is there already was checked when it came, and nothing of it has changed since.
  const same = given.rego !== undefined && codeOf(held.kind, given.rego) === held.code;
  const checked =
    given.rego === undefined || same
      ? null
      : await compileSource(reactor.onBehalfOf(engineTurn(orgId)), held.kind, given.rego);
  const record = await saveVersion(
    dependencies,
    orgId,
    policyId,
    {
      name: given.name,
      description: given.description,
      place: given.place,
      code: same ? held.code : checked ? await code.keep(orgId, checked.compiled) : undefined,
      message: given.message ?? null,
    },
    'policy.update',
    attribution,
  );
  return {
    record,
    rego: given.rego ?? (await sourceOf(orgId, record, dependencies)),
    warnings: checked?.warnings ?? [],
  };
}

/** The source of a policy's current version, or of a version. */
export async function sourceOf(
  orgId: string,
  record: { readonly code: string },
  { code }: Pick<PolicyDependencies, 'code'>,
): Promise<string> {
  return (await code.readSources(orgId, [record.code])).get(record.code) ?? '';
}

/**
 * The sources of a list's policies, by code.
 * @throws ServiceError payload_too_large where they are more than an answer holds
 */
export async function sourcesOf(
  orgId: string,
  records: readonly { readonly code: string }[],
  { code }: Pick<PolicyDependencies, 'code'>,
): Promise<ReadonlyMap<string, string>> {
  const codes = records.map((record) => record.code);
  const sources = await code.readSources(orgId, codes);
  const bytes = codes.reduce((sum, one) => sum + Buffer.byteLength(sources.get(one) ?? ''), 0);
  if (bytes <= MAX_LIST_BYTES) return sources;
  throw new ServiceError(
    'payload_too_large',
    'The sources of these policies are larger than 4 MB together: ask for fewer with per_page',
  );
}

/** Spec silent: versions have no kind of their own, so that a policy keeps the one it was made with. */
function checkSameKind(held: PolicyRecord, kind: string): void {
  if (kind === held.kind) return;
  const message = `kind must stay ${held.kind}: make another policy for ${kind}`;
  throw new ServiceError('conflict', message, { details: [{ field: 'kind', message }] });
}
