import { timestamp } from './clock.ts';
import { isJudged, type Life, statusWithoutPolicy, withStatus } from './lifecycle.ts';
import type { Route } from './placement.ts';

/** What one version of a policy said of a finding, as the finding keeps it. */
export interface PolicyResult {
  readonly policy_id: string;
  readonly kind: string;
  readonly version: number;
  /** Null where it said nothing. */
  readonly decision?: unknown;
  readonly reason: string | null;
}

/** The same, with the name that it had. */
export interface Verdict extends PolicyResult {
  readonly name: string;
  readonly decision: string | number | null;
  /** Where the project is that it names; null: where the finding's asset is. */
  readonly route?: Route | null;
}

/** What of a finding is the policies' to decide. */
export interface Judged extends Life {
  readonly priority: string | number | null;
  readonly owner: string | null;
  readonly routed_to: Route | null;
  readonly policy_results: PolicyResult[];
}

/**
 * A finding as it would be without any policy: what policies are asked about, so that no decision feeds the
 * next one, and the same finding is judged alike however often it is.
 */
export function withoutJudgement<T extends Judged>(held: T): T {
  return {
    ...held,
    ...(held.status_set_by === 'policy' && {
      status: statusWithoutPolicy(held),
      status_set_by: 'scanner',
      status_without_policy: null,
      suppression: null,
    }),
    priority: null,
    owner: null,
    routed_to: null,
    policy_results: [],
  };
}

/**
 * A finding as policies leave it: of each kind the first one that said something counts. What a person set,
 * and what is resolved, keeps its status. What no policy says any more is as if none had ever said it.
 * @param verdicts the narrowest scope first, then the older policy
 * @returns the same object where nothing changes
 */
export function withJudgement<T extends Judged>(held: T, verdicts: readonly Verdict[], at: number): T {
  const answer = (kind: string) => verdicts.find((one) => one.kind === kind && one.decision !== null);
  const owner = answer('ownership')?.decision;
  const next = {
    ...withTriage(held, answer('triage'), at),
    priority: answer('priority')?.decision ?? null,
    owner: typeof owner === 'string' ? owner : null,
    routed_to: isJudged(held) ? (answer('project')?.route ?? null) : null,
    policy_results: verdicts.map(({ name: _, route: __, ...result }) => result),
  };
  return same(held, next) ? held : { ...next, updated_at: timestamp(at) };
}

/**
 * What is closed is in its asset's project again: no policy judges it any more, and so none would take it out of a
 * project that it was put into.
 */
export function closedAtHome<T extends Judged>(next: T): T {
  return next.routed_to === null || isJudged(next) ? next : { ...next, routed_to: null };
}

/** Whether a change makes a finding, or its status, the policies' to decide about: they have to be asked then. */
export function opensToPolicies(held: Life, next: Life): boolean {
  return (!isJudged(held) && isJudged(next)) || (!isStatusTheirs(held) && isStatusTheirs(next));
}

function isStatusTheirs({ status, status_set_by }: Life): boolean {
  return status_set_by !== 'person' && status !== 'resolved';
}

function withTriage<T extends Judged>(held: T, verdict: Verdict | undefined, at: number): T {
  if (!isStatusTheirs(held)) return held;
  switch (verdict?.decision) {
    case 'accept':
      return held.status === 'triaged' ? held : withStatus(held, 'triaged', 'policy', at);
    case 'reject': {
      const suppression = { reason: null, comment: commentOf(verdict), expires_at: null };
      return held.suppression?.comment === suppression.comment
        ? held
        : withStatus(held, 'suppressed', 'policy', at, suppression);
    }
    default:
      return held.status_set_by === 'policy'
        ? withStatus(held, statusWithoutPolicy(held), 'scanner', at)
        : held;
  }
}

/** The policy as the reason of a suppression. */
function commentOf({ name, version, reason }: Verdict): string {
  return `Policy ${name}, version ${version}${reason === null ? '' : `: ${reason}`}`;
}

function same(held: Judged, next: Judged): boolean {
  return (
    held.status === next.status &&
    held.suppression?.comment === next.suppression?.comment &&
    held.priority === next.priority &&
    held.owner === next.owner &&
    held.routed_to === next.routed_to &&
    JSON.stringify(held.policy_results.map(inOrder)) === JSON.stringify(next.policy_results.map(inOrder))
  );
}

/** Maps that come from the store have their names in any order. */
function inOrder({ policy_id, kind, version, decision, reason }: PolicyResult) {
  return [policy_id, kind, version, decision, reason];
}
