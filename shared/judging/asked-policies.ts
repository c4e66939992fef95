import { type Clock, timestamp } from '#domain/clock.ts';
import type { Ids } from '#domain/ids.ts';
import { countDecision } from '#shared/policy/decision.ts';
import type { PolicyRecord } from '#store/policy-record.ts';
import type { PolicyRunRecord, PolicyRunStore } from '#store/policy-runs.ts';
import type { Opinion } from './verdict.ts';

interface Tally {
  readonly version: number;
  evaluated: number;
  milliseconds: number;
  readonly decisions: Map<string, number>;
  errors: number;
  error: Opinion['problem'];
}

interface Recording {
  readonly policyRuns: Pick<PolicyRunStore, 'record'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** What policies are asked during one ingest, or one stretch of a re-evaluation: each policy's is one of its runs. */
export class AskedPolicies {
  readonly #trigger: PolicyRunRecord['trigger'];
  readonly #since: number;
  readonly #tallies = new Map<string, Tally>();
  readonly #tooSlow = new Set<string>();

  constructor(trigger: PolicyRunRecord['trigger'], now: number) {
    this.#trigger = trigger;
    this.#since = now;
  }

  add(policy: PolicyRecord, opinions: readonly Opinion[], milliseconds: number): void {
    const tally = this.#tallyOf(policy);
    tally.evaluated += opinions.length;
    tally.milliseconds += milliseconds;
    for (const { decision, problem } of opinions) {
      if (!problem) countDecision(tally.decisions, decision);
      else tally.errors += 1;
      tally.error ??= problem;
    }
  }

  /** One that passed its deadline is not asked again. */
  giveUp(policy: PolicyRecord): void {
    this.#tooSlow.add(policy.id);
  }

  isGivenUp(policy: PolicyRecord): boolean {
    return this.#tooSlow.has(policy.id);
  }

  /** Writes down the runs. */
  async record(orgId: string, { policyRuns, clock, ids }: Recording): Promise<void> {
    const now = clock.now();
    await Promise.all(
      Array.from(this.#tallies, ([policy_id, { milliseconds, decisions, error, ...tally }]) =>
        policyRuns.record(orgId, {
          id: ids.next(),
          policy_id,
          trigger: this.#trigger,
          started_at: timestamp(Math.min(this.#since, now)),
          duration_ms: Math.round(milliseconds * 1000) / 1000,
          decisions: Object.fromEntries(decisions),
          error: error && { code: error.code, message: error.message.slice(0, 500) },
          tests: null,
          ...tally,
        }),
      ),
    );
  }

  #tallyOf({ id, version }: PolicyRecord): Tally {
    const held = this.#tallies.get(id);
    if (held) return held;
    const made = { version, evaluated: 0, milliseconds: 0, decisions: new Map(), errors: 0, error: null };
    this.#tallies.set(id, made);
    return made;
  }
}
