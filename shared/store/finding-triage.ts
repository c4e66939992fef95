import type { Attribution } from '#domain/actor.ts';
import { ServiceError, UnknownReference } from '#domain/errors.ts';
import { closedAtHome, opensToPolicies } from '#domain/judgement.ts';
import { needsRevisit } from '#domain/lifecycle.ts';
import { originOf } from '#domain/origin.ts';
import type { Placement } from '#domain/placement.ts';
import { assetPlaceCheck, countedPlace } from './assets.ts';
import { auditWrite } from './audit.ts';
import type { CounterStore } from './counters.ts';
import { type FindingRecord, findingDeltas, parseFinding, replaceWrite } from './finding-record.ts';
import { StaleFinding, WRITES_PER_TRANSACTION } from './finding-writes.ts';
import { assetKey, findingKey, memberKey, revisitKey, suppressionEndKey } from './keys.ts';
import { reevaluationWrite } from './reevaluations.ts';
import { chunksOf, type Item, type Table, type Write } from './table.ts';

/** What somebody makes of a finding. @returns null where it is so already @throws ServiceError where it can't be */
export type Triage = (held: FindingRecord) => FindingRecord | null;

/** A finding with the place that it is counted in. */
export interface PlacedFinding {
  readonly record: FindingRecord;
  readonly asset: { readonly id: string } & Placement;
}

/** How often a change is decided anew because somebody else changed the finding meanwhile. */
const DECISIONS = 6;

/** Fields that triage changes, as the audit log tells of them. */
const AUDITED = ['status', 'assignee', 'notes', 'suppression'] as const;

export type TriageStore = ReturnType<typeof createTriageStore>;

/** Decisions of people (and of the clock) about findings: each one conditional transaction. */
export function createTriageStore(table: Table, counters: CounterStore) {
  /** Finding and asset as they are now; null where either is gone. */
  async function readAgain(orgId: string, { record, asset }: PlacedFinding): Promise<PlacedFinding | null> {
    const [finding, place] = await table.batchGet([findingKey(orgId, record.id), assetKey(orgId, asset.id)]);
    return finding && place ? { record: parseFinding(finding), asset: placeOf(place) } : null;
  }

  /**
   * Changes findings of one asset together: findings, counters, marks, ends of suppressions and audit
   * entries in one transaction, as many as fit (`TRIAGED_PER_TRANSACTION`). What somebody else changed
   * meanwhile is decided anew.
   * @returns the findings as they are now, in the same order; null for one that is gone
   * @throws ServiceError of the decision, or conflict where others were faster every time
   */
  async function changeTogether(
    orgId: string,
    targets: readonly PlacedFinding[],
    triage: Triage,
    action: string,
    attribution: Attribution,
  ): Promise<(FindingRecord | null)[]> {
    let held: (PlacedFinding | null)[] = [...targets];
    for (let attempt = 1; ; attempt += 1) {
      const decided = held.map((target) => target && { ...target, next: decide(triage, target.record) });
      const changes = decided.filter(isChange);
      const writes = () => [
        ...changes.flatMap(({ record, next }) => changeWrites(orgId, record, next, action, attribution)),
        ...assigneeChecks(orgId, changes),
        ...placeWrites(orgId, changes, attribution.at),
      ];
      // Policies put them into many projects, each of which counts.
      if (writes().length > WRITES_PER_TRANSACTION) {
        const halves = chunksOf(targets, Math.ceil(targets.length / 2));
        const now: (FindingRecord | null)[] = [];
        for (const half of halves)
          now.push(...(await changeTogether(orgId, half, triage, action, attribution)));
        return now;
      }
      try {
        if (changes.length > 0) await table.transact(writes);
        return decided.map((one) => one && (one.next ? revised(one.next) : one.record));
      } catch (error) {
        if (!(error instanceof StaleFinding)) throw error;
        if (attempt === DECISIONS)
          throw new ServiceError('conflict', 'The finding is being changed by others; retry in a moment');
        held = await Promise.all(held.map((target) => target && readAgain(orgId, target)));
      }
    }
  }

  /** Counters where the findings are, that their asset is there, and what policies have to be asked anew. */
  function placeWrites(orgId: string, changes: readonly Change[], at: number): Write[] {
    const [first] = changes;
    if (!first) return [];
    const deltas = findingDeltas(changes.map(({ record, next }) => ({ held: record, next })));
    return [
      ...counters.changeWrites(orgId, countedPlace(first.asset), deltas),
      assetPlaceCheck(orgId, first.asset, () => new StaleFinding()),
      ...(changes.some(({ record, next }) => opensToPolicies(record, next))
        ? [reevaluationWrite({ orgId, assetId: first.asset.id }, at)]
        : []),
    ];
  }

  return { changeTogether };
}

/**
 * Findings that one transaction can change: each is itself, a mark, two ends of suppressions and an audit
 * entry at most; with four counters, an assignee, the asset and a re-evaluation 100 are not passed.
 */
export const TRIAGED_PER_TRANSACTION = 18;

function decide(triage: Triage, held: FindingRecord): FindingRecord | null {
  const next = triage(held);
  return next && closedAtHome(next);
}

interface Change extends PlacedFinding {
  readonly next: FindingRecord;
}

function isChange(
  decided: (PlacedFinding & { readonly next: FindingRecord | null }) | null,
): decided is Change {
  return decided?.next != null;
}

function revised(next: FindingRecord): FindingRecord {
  return { ...next, revision: next.revision + 1 };
}

export function placeOf(asset: Item): PlacedFinding['asset'] {
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  return {
    id: String(asset.id),
    project_id: text(asset.project_id),
    sub_project_id: text(asset.sub_project_id),
  };
}

function changeWrites(
  orgId: string,
  held: FindingRecord,
  next: FindingRecord,
  action: string,
  attribution: Attribution,
): Write[] {
  const changed = AUDITED.filter((name) => JSON.stringify(held[name]) !== JSON.stringify(next[name]));
  return [
    replaceWrite(held, next, () => new StaleFinding()),
    ...markWrites(held, next),
    ...suppressionEndWrites(held, next),
    auditWrite(orgId, attribution, {
      action,
      target: { type: 'finding', id: held.id },
      changes: Object.fromEntries(changed.map((name) => [name, { before: held[name], after: next[name] }])),
    }),
  ];
}

/** A decision that its scanner contradicts is marked for the scanner's next run; another one takes the mark away. */
function markWrites(held: FindingRecord, next: FindingRecord): Write[] {
  const needed = needsRevisit(next);
  if (needed === needsRevisit(held)) return [];
  const origin = originOf(held.scanner, held.tool);
  const Key = revisitKey(held.org_id, held.asset_id, origin, held.id);
  return [needed ? { Put: { Item: Key } } : { Delete: { Key } }];
}

function suppressionEndWrites(held: FindingRecord, next: FindingRecord): Write[] {
  const [before, after] = [held, next].map(({ suppression }) => suppression?.expires_at ?? null);
  if (before === after) return [];
  const key = (at: string) => suppressionEndKey(Date.parse(at), held.org_id, held.id);
  return [
    ...(before ? [{ Delete: { Key: key(before) } }] : []),
    ...(after ? [{ Put: { Item: { ...key(after), org_id: held.org_id, finding_id: held.id } } }] : []),
  ];
}

/** Whom findings are newly given to must be a member when the change is written. */
function assigneeChecks(
  orgId: string,
  changes: readonly { readonly record: FindingRecord; readonly next: FindingRecord }[],
): Write[] {
  const assignees = changes
    .filter(({ record, next }) => record.assignee !== next.assignee)
    .map(({ next }) => next.assignee)
    .filter((id) => id !== null);
  return [...new Set(assignees)].map((userId) => ({
    ConditionCheck: { Key: memberKey(orgId, userId), ConditionExpression: 'attribute_exists(pk)' },
    otherwise: () => new UnknownReference('assignee', 'member'),
  }));
}
