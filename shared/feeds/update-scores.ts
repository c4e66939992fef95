import type { Clock } from '#domain/clock.ts';
import { logError, logInfo } from '#shared/log.ts';
import type { FeedSizes, ScoreStore } from '#store/vulnerability-scores.ts';
import { type EpssScores, FeedError, readEpss, readKev } from './read-feeds.ts';

export interface FeedDependencies {
  readonly scores: ScoreStore;
  readonly epssUrl: string;
  readonly kevUrl: string;
  readonly clock: Clock;
}

/** A feed that lost more than half since the last time is broken, not better news. */
const SHRINKS_TO = 0.5;

/**
 * Brings what the public feeds say of CVEs into the table. A feed that fails, or is suspiciously small,
 * leaves what was there; the other one is taken all the same. Safe to repeat: what has not changed is not
 * written.
 * @returns what was written
 * @throws FeedError where a feed could not be taken, after the other one was
 */
export async function updateScores({
  scores,
  epssUrl,
  kevUrl,
  clock,
}: FeedDependencies): Promise<{ epss: number | null; kev: number | null; shards: number }> {
  const last = await scores.readSizes();
  const [epss, kev] = await Promise.all([
    taken('EPSS', last.epss, () => readEpss(epssUrl)),
    taken('KEV', last.kev, () => readKev(kevUrl)),
  ]);
  const sizes: FeedSizes = { epss: epss?.size ?? last.epss, kev: kev?.size ?? last.kev };
  const shards = epss || kev ? await scores.replace(epss, kev, sizes, clock.now()) : 0;
  const done = { epss: epss?.size ?? null, kev: kev?.size ?? null, shards };
  logInfo('vulnerability feeds read', done);
  if (!epss || !kev) throw new FeedError(`Not every feed could be read: ${JSON.stringify(done)}`);
  return done;
}

/** Null where the feed can't be taken: that is logged, and no reason to leave the other one. */
async function taken<Feed extends EpssScores | ReadonlySet<string>>(
  name: string,
  last: number,
  read: () => Promise<Feed>,
): Promise<Feed | null> {
  try {
    const feed = await read();
    if (feed.size === 0 || feed.size < last * SHRINKS_TO)
      throw new FeedError(`The ${name} feed names ${feed.size} CVEs, where the last one named ${last}`);
    return feed;
  } catch (error) {
    logError('vulnerability feed not taken', error, { feed: name });
    return null;
  }
}
