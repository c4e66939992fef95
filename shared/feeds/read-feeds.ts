import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import * as z from 'zod';
import { CVE_ID } from '#domain/cve.ts';

/** EPSS of a CVE: probability and percentile, each 0 to 1. */
export type EpssScores = ReadonlyMap<string, readonly [epss: number, percentile: number]>;

/** A feed that can't be taken; what was there before stays. */
export class FeedError extends Error {
  override readonly name = 'FeedError';
}

const TIMEOUT_MS = 120_000;
/** Two thirds of these bounds are room to grow (2026: 330,000 CVEs, 12 MB unpacked; 1,500 known exploited, 2 MB). */
const MAX_ROWS = 1_000_000;
const MAX_BYTES = 60 * 1024 * 1024;

/**
 * FIRST's file of current EPSS scores: CSV, gzipped or not, read line by line; comments and lines that are
 * no scores are passed over.
 * @throws FeedError
 */
export async function readEpss(url: string): Promise<EpssScores> {
  const scores = new Map<string, readonly [number, number]>();
  for await (const line of readLines(await open(url))) {
    const [cve = '', epss, percentile] = line.split(',');
    if (!CVE_ID.test(cve)) continue;
    const pair = [Number(epss), Number(percentile)] as const;
    if (pair.every((value) => value >= 0 && value <= 1)) scores.set(cve, pair);
    if (scores.size > MAX_ROWS) throw new FeedError(`The EPSS feed has more than ${MAX_ROWS} rows`);
  }
  return scores;
}

const Catalogue = z.object({ vulnerabilities: z.array(z.object({ cveID: z.string() })) });

/** CISA's catalogue of known exploited vulnerabilities, as JSON. @throws FeedError */
export async function readKev(url: string): Promise<ReadonlySet<string>> {
  const parts: string[] = [];
  for await (const line of readLines(await open(url))) parts.push(line);
  const parsed = Catalogue.safeParse(parseJson(parts.join('\n')));
  if (!parsed.success) throw new FeedError('The KEV feed has no list of vulnerabilities');
  return new Set(parsed.data.vulnerabilities.map(({ cveID }) => cveID).filter((id) => CVE_ID.test(id)));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new FeedError('The KEV feed is not JSON', { cause });
  }
}

async function open(url: string): Promise<Readable> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!answer.ok || !answer.body) throw new FeedError(`${new URL(url).host} answered ${answer.status}`);
    return Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]);
  } catch (cause) {
    if (cause instanceof FeedError) throw cause;
    throw new FeedError(`${new URL(url).host} does not answer`, { cause });
  }
}

async function* readLines(body: Readable): AsyncIterable<string> {
  let size = 0;
  const bounded = (async function* () {
    for await (const chunk of unzipped(body)) {
      size += chunk.length;
      if (size > MAX_BYTES) throw new FeedError('The feed unpacks to more than 60 MB');
      yield chunk;
    }
  })();
  try {
    yield* createInterface({ input: Readable.from(bounded), crlfDelay: Number.POSITIVE_INFINITY });
  } catch (cause) {
    if (cause instanceof FeedError) throw cause;
    throw new FeedError('The feed broke off', { cause });
  }
}

/** By its first bytes: a server may have unpacked what its name says is packed. */
async function* unzipped(body: Readable): AsyncIterable<Buffer> {
  const chunks = body[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done) return;
  const rest = (async function* () {
    yield Buffer.from(first.value);
    for (let next = await chunks.next(); !next.done; next = await chunks.next())
      yield Buffer.from(next.value);
  })();
  if (first.value[0] !== 0x1f || first.value[1] !== 0x8b) yield* rest;
  else yield* Readable.from(rest).pipe(createGunzip());
}
