import { describe, expect, it } from 'vitest';
import { opinionOf } from '#shared/judging/verdict.ts';

describe('what a policy says', () => {
  it.each([
    ['triage', { decision: 'accept', reason: 'why' }, 'accept', 'why'],
    ['triage', { decision: 'reject', reasons: ['a', 'b'] }, 'reject', 'a; b'],
    ['triage', { other: 1 }, null, null],
    ['triage', { reason: 'of nothing' }, null, null],
    ['priority', { priority: 'p0' }, 'p0', null],
    ['priority', { priority: 2.5 }, 2.5, null],
    ['priority', { priority: 0 }, 0, null],
    ['priority', { priority: -1e15 }, -1e15, null],
    ['ownership', { owner: 'team-a' }, 'team-a', null],
    ['project', { project: 'payments' }, 'payments', null],
    ['triage', { decision: 'exempt' }, 'exempt', null],
    ['pr_scan', { decision: 'warn', reasons: ['a'] }, 'warn', 'a'],
  ] as const)('of the kind %s in %j is %s', (kind, result, decision, reason) => {
    expect(opinionOf(kind, { result })).toEqual({ decision, reason, problem: null });
  });

  it('is nothing where there is no document', () => {
    expect(opinionOf('triage', { undefined: true })).toEqual({ decision: null, reason: null, problem: null });
  });

  it.each([
    ['triage', { decision: true }],
    ['triage', { decision: ['accept'] }],
    ['priority', { priority: 'p5' }],
    ['priority', { priority: 'urgent' }],
    // The store refuses these: whatever brought them would never be written.
    ['priority', { priority: 1e200 }],
    ['priority', { priority: Number.POSITIVE_INFINITY }],
    ['priority', { priority: -(2 ** 54) }],
    ['priority', { priority: 1e-200 }],
    ['priority', { priority: Number.NaN }],
    ['ownership', { owner: ' ' }],
    ['ownership', { owner: { team: 'a' } }],
    ['project', { project: 7 }],
    ['pr_scan', { decision: 'accept' }],
  ] as const)('of the kind %s in %j is a problem that is told', (kind, result) => {
    const { decision, problem } = opinionOf(kind, { result });
    expect(decision).toBeNull();
    expect(problem).toMatchObject({
      code: 'policy_evaluation_error',
      message: expect.stringContaining('must be'),
    });
  });

  it('is a problem where the evaluation failed', () => {
    const error = { code: 'policy_conflict', message: 'two values' } as const;
    expect(opinionOf('triage', { error })).toMatchObject({ decision: null, problem: error });
  });

  it('keeps whole characters of what is too long', () => {
    const { decision, reason } = opinionOf('ownership', {
      result: { owner: `${'x'.repeat(400)}😀`, reason: `${'y'.repeat(499)}😀` },
    });
    expect(decision).toBe('x'.repeat(400));
    expect(reason).toBe('y'.repeat(499));
  });
});
