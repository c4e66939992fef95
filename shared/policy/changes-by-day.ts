/** What of a finding changes without anything being written to it: the daily feeds' scores, and time. */
const BY_DAY = new Set(['epss_score', 'epss_percentile', 'kev', 'age_days', 'sla_due_at']);

/**
 * Whether what a policy decides may change from one day to the next. Where its source does not spell out what
 * it reads of the input, it may.
 */
export function changesByDay(rego: string): boolean {
  const code = rego
    .replaceAll(/"(?:[^"\\\n]|\\.)*"|`[^`]*`|#[^\n]*/g, '""')
    // What a test puts in its place.
    .replaceAll(/\bwith\s+input\b[\w.]*\s+as\b/g, '');
  return [...code.matchAll(/(?<![\w.])input\b((?:\.\w+)*)/g)].some(([, path = '']) => {
    const [first, second] = path.split('.').slice(1);
    if (first === undefined) return true;
    return first === 'finding' && (second === undefined || BY_DAY.has(second));
  });
}
