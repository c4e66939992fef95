import { describe, expect, it } from 'vitest';
import { type Verdict, withJudgement, withoutJudgement } from '#domain/judgement.ts';
import { needsRevisit, whenAbsent, whenReported, withStatus } from '#domain/lifecycle.ts';
import { sampleFinding } from '#test/harness/samples.ts';

const AT = Date.parse('2026-11-21T12:00:00.000Z');
const finding = (change = {}) => sampleFinding('o', 'a', change);
const verdict = (kind: string, decision: Verdict['decision'], change: Partial<Verdict> = {}): Verdict => ({
  policy_id: `${kind}-1`,
  kind,
  version: 3,
  name: `The ${kind} policy`,
  decision,
  reason: null,
  ...change,
});
const accept = verdict('triage', 'accept');
const reject = verdict('triage', 'reject', { reason: 'unlikely' });

describe('a judgement', () => {
  it('triages what is accepted, and suppresses what is rejected with the policy as reason', () => {
    expect(withJudgement(finding(), [accept], AT)).toMatchObject({
      status: 'triaged',
      status_set_by: 'policy',
      suppression: null,
      policy_results: [
        { policy_id: 'triage-1', kind: 'triage', version: 3, decision: 'accept', reason: null },
      ],
    });
    expect(withJudgement(finding(), [reject], AT)).toMatchObject({
      status: 'suppressed',
      suppression: {
        reason: null,
        comment: 'Policy The triage policy, version 3: unlikely',
        expires_at: null,
      },
    });
  });

  it('takes the first that said something of each kind, and keeps what every one said', () => {
    const verdicts = [
      verdict('triage', null, { policy_id: 'narrow' }),
      reject,
      accept,
      verdict('priority', 'p1'),
      verdict('priority', 'p3'),
      verdict('ownership', 'team-a'),
      verdict('project', 'payments'),
    ];
    const judged = withJudgement(finding(), verdicts, AT);
    expect(judged).toMatchObject({ status: 'suppressed', priority: 'p1', owner: 'team-a' });
    expect(judged.policy_results.map(({ decision }) => decision)).toEqual([
      null,
      'reject',
      'accept',
      'p1',
      'p3',
      'team-a',
      'payments',
    ]);
    expect(judged.policy_results[0]).not.toHaveProperty('name');
  });

  it('does nothing to a status that it has no word for, and lets that word outrank broader policies', () => {
    const judged = withJudgement(finding(), [verdict('triage', 'leave'), accept], AT);
    expect(judged).toMatchObject({ status: 'open', status_set_by: 'scanner' });
  });

  it.each(['open', 'confirmed', 'in_progress', 'reopened', 'suppressed', 'resolved'] as const)(
    'leaves the status %s where a person set it, and decides the rest',
    (status) => {
      const held = withStatus(finding(), status, 'person', AT);
      const judged = withJudgement(held, [reject, verdict('priority', 0)], AT);
      expect(judged).toMatchObject({ status, status_set_by: 'person', priority: 0 });
      expect(judged.suppression).toEqual(held.suppression);
    },
  );

  it('is undone where no policy says it any more, back to what the scanner had made of it', () => {
    for (const status of ['open', 'reopened'] as const)
      for (const said of [accept, reject]) {
        const held = finding({ status });
        const judged = withJudgement(held, [said, verdict('priority', 'p0'), verdict('ownership', 'x')], AT);
        expect(judged.status).not.toBe(status);
        const { updated_at: _, ...undone } = withJudgement(judged, [], AT);
        const { updated_at: __, ...before } = held;
        expect(undone).toEqual(before);
      }
  });

  it('goes from one decision to another, remembering what was before both', () => {
    const once = withJudgement(finding({ status: 'reopened' }), [accept], AT);
    const twice = withJudgement(once, [reject], AT);
    expect(twice).toMatchObject({ status: 'suppressed', status_without_policy: 'reopened' });
    expect(withJudgement(twice, [accept], AT)).toMatchObject({ status: 'triaged', suppression: null });
    expect(withoutJudgement(twice)).toMatchObject({
      status: 'reopened',
      suppression: null,
      policy_results: [],
    });
  });

  it('changes nothing, and not the time, where it says the same again', () => {
    const once = withJudgement(finding(), [reject, verdict('priority', 2)], AT);
    expect(withJudgement(once, [reject, verdict('priority', 2)], AT + 5000)).toBe(once);
    const newer = withJudgement(once, [{ ...reject, version: 4 }, verdict('priority', 2)], AT + 5000);
    expect(newer.policy_results[0]?.version).toBe(4);
    expect(newer.updated_at).not.toBe(once.updated_at);
  });

  it('asks a policy about the finding as it would be without any', () => {
    const judged = withJudgement(finding(), [reject, verdict('priority', 'p2')], AT);
    const asked = withoutJudgement(judged);
    expect(asked).toMatchObject({ status: 'open', priority: null, owner: null, policy_results: [] });
    const byPerson = withStatus(judged, 'confirmed', 'person', AT);
    expect(withoutJudgement(byPerson)).toMatchObject({ status: 'confirmed', priority: null });
  });

  it('ends with the finding: what only a policy suppressed is resolved with its report, and judged when it is back', () => {
    const judged = withJudgement(finding(), [reject], AT);
    const gone = whenAbsent(judged, 'scan', AT, true);
    expect(gone).toMatchObject({ status: 'resolved', status_set_by: 'scanner', suppression: null });
    expect(withJudgement(gone, [reject], AT)).toMatchObject({ status: 'resolved' });
    expect(whenReported(gone, AT)).toMatchObject({ status: 'reopened', status_set_by: 'scanner' });
    // Where nothing is resolved by itself, the next run has to look at it.
    expect(needsRevisit(whenAbsent(judged, 'scan', AT, false))).toBe(true);
    const person = withStatus(finding(), 'suppressed', 'person', AT);
    expect(whenAbsent(person, 'scan', AT, true)).toMatchObject({ status: 'suppressed', reported: false });
  });
});
