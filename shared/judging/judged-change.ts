import type { FindingRecord } from '#store/finding-record.ts';
import type { Decision } from '#store/finding-writes.ts';
import type { Judge } from './judge.ts';

/**
 * A change of findings with what policies make of it. All are judged together, before the first is written; what
 * somebody else changed meanwhile is judged anew. What is resolved is nobody's to judge.
 * @param change what becomes of a finding before it is judged; null: nothing does
 */
export async function judgedChange(
  judge: Judge,
  known: readonly FindingRecord[],
  change: (held: FindingRecord) => FindingRecord | null,
): Promise<Decision> {
  async function decide(held: readonly FindingRecord[]): Promise<(FindingRecord | null)[]> {
    const nexts = held.map(change);
    const live = nexts.filter((next) => next !== null && next.status !== 'resolved') as FindingRecord[];
    const judged = new Map((await judge(live)).map((next) => [next.id, next]));
    return nexts.map((next, place) => {
      const decided = next && (judged.get(next.id) ?? next);
      return decided === held[place] ? null : decided;
    });
  }

  const ahead = await decide(known);
  const decisions = new Map(
    known.map(({ id, revision }, place) => [`${id}#${revision}`, ahead[place] ?? null]),
  );
  return async (held) => {
    const stale = held.filter(({ id, revision }) => !decisions.has(`${id}#${revision}`));
    const anew = new Map((await decide(stale)).map((next, place) => [stale[place]?.id, next]));
    return held.map(({ id, revision }) => decisions.get(`${id}#${revision}`) ?? anew.get(id) ?? null);
  };
}
