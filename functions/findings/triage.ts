import type * as z from 'zod';
import type { Finding } from '#contract/schemas/records.ts';
import type { Attribution } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { notFound, ServiceError, UnknownReference } from '#domain/errors.ts';
import { opensToPolicies } from '#domain/judgement.ts';
import { type Suppression, withStatus } from '#domain/lifecycle.ts';
import type { FindingStatus, SuppressionReason } from '#domain/vocabulary.ts';
import { presentFindings } from '#shared/presenters/finding.ts';
import { requestReevaluation } from '#shared/request-reevaluation.ts';
import type { FindingRecord } from '#store/finding-record.ts';
import { placeOf, type Triage } from '#store/finding-triage.ts';
import type { FindingDependencies } from './dependencies.ts';

export interface FindingUpdate {
  readonly status?: FindingStatus | undefined;
  readonly assignee?: string | null | undefined;
  readonly notes?: string | null | undefined;
  readonly suppression?: SuppressionInput | undefined;
}

export interface SuppressionInput {
  readonly reason: SuppressionReason;
  readonly comment?: string | null | undefined;
  readonly expires_at?: string | null | undefined;
}

/** One finding, decided about and shown as it is now: four store requests. */
export async function triageOne(
  orgId: string,
  findingId: string,
  triage: Triage,
  action: string,
  attribution: Attribution,
  { findings, triage: store, reevaluations, clock }: FindingDependencies,
): Promise<z.input<typeof Finding>> {
  const held = await findings.get(orgId, findingId);
  const page = held && (await findings.readContext(orgId, [held]));
  const asset = held && page?.context.assets.get(held.asset_id);
  if (!held || !page || !asset) throw notFound('finding');
  const target = { record: held, asset: placeOf(asset) };
  const [next] = await store.changeTogether(orgId, [target], triage, action, attribution);
  if (!next) throw notFound('finding');
  if (opensToPolicies(held, next)) await judgeAnew(orgId, held.asset_id, reevaluations);
  const [shown] = presentFindings({ records: [next], context: page.context }, clock.now());
  if (!shown) throw notFound('finding');
  return shown;
}

/** Policies are asked about an asset's findings; the store has written down that they have to be. */
export async function judgeAnew(
  orgId: string,
  assetId: string,
  reevaluations: FindingDependencies['reevaluations'],
): Promise<void> {
  await requestReevaluation(reevaluations, { org_id: orgId, asset_id: assetId });
}

/** What an update makes of a finding; null where it is so already. */
export function updating(update: FindingUpdate, at: number): Triage {
  const suppression = update.suppression && readSuppression(update.suppression, at);
  return (held) => {
    const moved = suppression
      ? suppressing(suppression, at)(held)
      : update.status !== undefined && decides(held, update.status)
        ? withStatus(held, update.status, 'person', at)
        : null;
    const next = {
      ...(moved ?? held),
      ...(update.assignee !== undefined && { assignee: update.assignee }),
      ...(update.notes !== undefined && { notes: update.notes }),
    };
    const same = !moved && next.assignee === held.assignee && next.notes === held.notes;
    return same ? null : { ...next, updated_at: timestamp(at) };
  };
}

/** The same status again is no decision, unless it was a policy's so far: it is a person's from now on. */
function decides(held: FindingRecord, status: FindingStatus): boolean {
  return status !== held.status || held.status_set_by === 'policy';
}

export function suppressing(suppression: Suppression, at: number): Triage {
  return (held) => {
    const same =
      held.status === 'suppressed' && JSON.stringify(held.suppression) === JSON.stringify(suppression);
    return same ? null : withStatus(held, 'suppressed', 'person', at, suppression);
  };
}

export function reopening(at: number): Triage {
  return (held) => {
    if (held.status === 'suppressed') return withStatus(held, 'reopened', 'person', at);
    throw new ServiceError(
      'conflict',
      `Only a suppressed finding can be reopened; this one is ${held.status}`,
    );
  };
}

/** @throws ServiceError validation_error where it would have ended already */
export function readSuppression(
  { reason, comment = null, expires_at = null }: SuppressionInput,
  now: number,
): Suppression {
  if (expires_at !== null && Date.parse(expires_at) <= now) {
    const message = 'expires_at must be in the future';
    throw new ServiceError('validation_error', message, { details: [{ field: 'expires_at', message }] });
  }
  return { reason, comment, expires_at: expires_at && timestamp(Date.parse(expires_at)) };
}

/** An update with its assignee as a user's id: e-mails are looked up, and whether it is a member is checked on write. */
export async function resolveAssignee<T extends FindingUpdate>(
  update: T,
  { organizations }: Pick<FindingDependencies, 'organizations'>,
): Promise<T> {
  if (!update.assignee?.includes('@')) return update;
  const user = await organizations.findUserByEmail(update.assignee);
  if (!user) throw new UnknownReference('assignee', 'member');
  return { ...update, assignee: user.id };
}
