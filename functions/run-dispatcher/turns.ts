import type { DispatcherDependencies } from './dependencies.ts';
import { openWaitingRuns, type WaitingRuns } from './waiting-runs.ts';

/** Other dispatchers take places at the same time: after so many in a row this one leaves the rest to them. */
const MOST_MISSES = 5;

/**
 * Gives the free places to the organizations that wait for one, whoever was asked about: the next one goes to the
 * organization that holds fewest, and among those to the one whose last turn is longest ago. So one that has a
 * single run waits for one place to become free, however many runs another one has. One read where nothing is
 * free; what is started costs what it costs without a bound, and its place in the same transaction.
 */
export async function takeTurns(orgId: string, dependencies: DispatcherDependencies): Promise<void> {
  const { places, clock, maxRunners } = dependencies;
  const { held, turns } = await places.read();
  const asked = new Map(turns.map((one) => [one.orgId, one.turn]));
  const last = () => Math.max(clock.now(), ...waiting.values()) + 1;
  const waiting = new Map(asked);
  if (!waiting.has(orgId)) waiting.set(orgId, last());

  let taken = new Map(held.map((one) => [one.place, one.orgId]));
  const opened = new Map<string, WaitingRuns>();
  const runsOf = (id: string) => {
    const runs = opened.get(id) ?? openWaitingRuns(id, dependencies);
    opened.set(id, runs);
    return runs;
  };
  const failed = new Map<string, unknown>();
  for (let misses = 0; misses < MOST_MISSES && taken.size < maxRunners; ) {
    const next = nextOf(waiting, failed, [...taken.values()]);
    if (next === null) break;
    const place = freePlace(taken, maxRunners);
    try {
      const start = await runsOf(next).startNext(place);
      if (start === 'started') {
        taken.set(place, next);
        waiting.set(next, last());
      } else if (start === 'taken') {
        misses += 1;
        taken = new Map((await places.read()).held.map((one) => [one.place, one.orgId]));
      } else {
        // It asks again when one of its runs ends, or has been planned.
        waiting.delete(next);
      }
    } catch (error) {
      // What is wrong with one organization holds up no other; it comes again, after them.
      failed.set(next, error);
      waiting.set(next, last());
    }
  }
  // An organization with nothing left would only be asked in vain.
  for (const id of new Set([orgId, ...opened.keys()]))
    if (waiting.has(id) && !failed.has(id) && (await runsOf(id).isEmpty())) waiting.delete(id);
  for (const [id, turn] of waiting) if (asked.get(id) !== turn) await places.ask(id, turn);
  for (const id of asked.keys()) if (!waiting.has(id)) await places.withdraw(id);
  const [error] = failed.values();
  if (error !== undefined) throw error;
}

function nextOf(
  waiting: ReadonlyMap<string, number>,
  failed: ReadonlyMap<string, unknown>,
  holders: readonly string[],
): string | null {
  const count = (id: string) => holders.filter((holder) => holder === id).length;
  const able = [...waiting].filter(([id]) => !failed.has(id));
  const [next] = able.sort(([a, turnA], [b, turnB]) => count(a) - count(b) || turnA - turnB);
  return next?.[0] ?? null;
}

/** Any of the free ones: two dispatchers rarely try the same. */
function freePlace(taken: ReadonlyMap<number, string>, maxRunners: number): number {
  const free = Array.from({ length: maxRunners }, (_, place) => place).filter((place) => !taken.has(place));
  return free[Math.floor(Math.random() * free.length)] ?? 0;
}
