import type { PolicyPlace } from '#contract/schemas/policies.ts';
import { type Attribution, authorName } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { ServiceError, UnknownReference } from '#domain/errors.ts';
import {
  assetKey,
  judgedOrganizationKey,
  policyKey,
  policyNameKey,
  policyVersionKey,
  projectKey,
} from './keys.ts';
import type { PolicyRecord, PolicyVersionRecord } from './policy-record.ts';
import { reevaluationWrite } from './reevaluations.ts';
import { NotApplied, type Write } from './table.ts';

/**
 * What a change of a policy that judges, or has judged, brings with it: open findings are judged anew, and the
 * organization is one that the daily feeds may concern.
 */
export function judgingWrites(orgId: string, at: number): Write[] {
  return [
    reevaluationWrite({ orgId, assetId: null }, at),
    { Put: { Item: { ...judgedOrganizationKey(orgId), since: timestamp(at) } } },
  ];
}

export function notApplied(): NotApplied {
  return new NotApplied();
}

export function unchanged(held: PolicyRecord) {
  return {
    ConditionExpression: '#revision = :held',
    ExpressionAttributeNames: { '#revision': 'revision' },
    ExpressionAttributeValues: { ':held': held.revision },
  };
}

export function replaceWrite(orgId: string, held: PolicyRecord, next: PolicyRecord): Write {
  return {
    Put: { Item: { ...policyKey(orgId, next.id), ...next }, ...unchanged(held) },
    otherwise: notApplied,
  };
}

export function versionWrite(
  orgId: string,
  { id, version, active, kind, scope, scope_target_id, code, updated_at }: PolicyRecord,
  message: string | null,
  attribution: Attribution,
): Write {
  const record: PolicyVersionRecord = {
    version,
    created_at: updated_at,
    author: authorName(attribution.actor),
    message,
    active,
    kind,
    scope,
    scope_target_id,
    code,
  };
  return {
    Put: {
      Item: { ...policyVersionKey(orgId, id, version), ...record },
      ConditionExpression: 'attribute_not_exists(pk)',
    },
    otherwise: notApplied,
  };
}

export function nameWrite(orgId: string, { id, name }: PolicyRecord): Write {
  return {
    Put: { Item: { ...policyNameKey(orgId, name), id }, ConditionExpression: 'attribute_not_exists(pk)' },
    otherwise: () => new ServiceError('already_exists', `A policy with the name ${name} exists`),
  };
}

/** A change of case alone keeps the key, which holds nothing but the id. */
export function renameWrites(orgId: string, held: PolicyRecord, next: PolicyRecord): Write[] {
  const from = policyNameKey(orgId, held.name);
  if (from.sk === policyNameKey(orgId, next.name).sk) return [];
  return [{ Delete: { Key: from } }, nameWrite(orgId, next)];
}

/** What the scope names must be there when it is written. */
export function targetCheck(orgId: string, place: PolicyPlace): Write[] {
  return targetThere(orgId, place, () => new UnknownReference('scope_target_id', place.scope));
}

/** What was deleted since the scope was written leaves the policy nothing to judge. */
export function placeCheck(orgId: string, place: PolicyPlace): Write[] {
  const message = `The ${place.scope} of the policy’s scope was deleted: give the policy another scope`;
  const details = [{ field: 'scope_target_id', message }];
  return targetThere(orgId, place, () => new ServiceError('conflict', message, { details }));
}

function targetThere(
  orgId: string,
  { scope, scope_target_id }: PolicyPlace,
  otherwise: () => ServiceError,
): Write[] {
  if (scope === 'organization' || scope_target_id === null) return [];
  const Key = scope === 'project' ? projectKey(orgId, scope_target_id) : assetKey(orgId, scope_target_id);
  return [{ ConditionCheck: { Key, ConditionExpression: 'attribute_exists(pk)' }, otherwise }];
}

export function fieldChanges(held: PolicyRecord, next: PolicyRecord) {
  const changed = (['name', 'description'] as const).filter((field) => held[field] !== next[field]);
  return Object.fromEntries(changed.map((field) => [field, { before: held[field], after: next[field] }]));
}

/** Scope and target together: what the target names is told by the scope. */
export function placeChanges(held: PolicyPlace | null, next: PolicyPlace) {
  if (held?.scope === next.scope && held.scope_target_id === next.scope_target_id) return {};
  return {
    scope: { ...(held && { before: held.scope }), after: next.scope },
    ...((held?.scope_target_id ?? next.scope_target_id) !== null && {
      scope_target_id: { ...(held && { before: held.scope_target_id }), after: next.scope_target_id },
    }),
  };
}
