import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as z from 'zod';
import { KEPT_DATABASES, type KeptDatabase } from '#domain/vocabulary.ts';
import { logError } from '#shared/log.ts';
import type { ReportBucket } from '#shared/report-bucket.ts';
import { type Artifact, findImageLayer } from './image-registry.ts';

/** A database that can't be taken; the one that is kept stays. */
class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
}

export interface KeepDatabases {
  readonly bucket: Pick<ReportBucket, 'writeDatabase'>;
  /** For the file on its way. */
  readonly folder: string;
  /** Where each is published; empty: it is not kept. */
  readonly sources: Readonly<Record<KeptDatabase, string>>;
}

const TIMEOUT_MS = 240_000;
/** Three times as much as either has (2026: 100 MB), and less than a function's disk. */
const MAX_BYTES = 400 * 1024 * 1024;

/**
 * Takes the published databases of Grype and Trivy into the bucket, as they are: nothing is unpacked here, and what
 * does not have the published digest is not kept. One that fails holds up no other.
 * @throws AggregateError of what failed, once all were tried
 */
export async function keepDatabases({ bucket, folder, sources }: KeepDatabases): Promise<void> {
  const failures: unknown[] = [];
  for (const name of KEPT_DATABASES.filter((known) => sources[known] !== '')) {
    const own = await mkdtemp(join(folder, 'database-'));
    try {
      const published = await FIND[name](sources[name]);
      const path = join(own, name);
      await download(published, path);
      await bucket.writeDatabase(name, path);
    } catch (error) {
      logError('database of a scanner not kept; the one before stays', error, { scanner: name });
      failures.push(error);
    } finally {
      await rm(own, { recursive: true, force: true });
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'Not every database could be kept');
}

const FIND: Readonly<Record<KeptDatabase, (source: string) => Promise<Artifact>>> = {
  grype: findGrypeDatabase,
  trivy: (source) => findImageLayer(source, 'application/vnd.aquasec.trivy.db.layer.v1.tar+gzip'),
};

/** Of the sixth schema: the one that the pinned Grype reads. */
const GrypeListing = z.object({
  status: z.string(),
  path: z.string().regex(/^[\w.:-]+(?:\.[\w.:-]+)*$/),
  checksum: z.string().regex(/^sha256:[0-9a-f]{64}$/),
});

async function findGrypeDatabase(source: string): Promise<Artifact> {
  const listing = `${source}/v6/latest.json`;
  const answer = await fetch(listing, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!answer.ok) throw new DatabaseError(`${new URL(source).host} answered ${answer.status}`);
  const { path, checksum } = GrypeListing.parse(await answer.json());
  return { url: new URL(path, listing).href, headers: {}, digest: checksum };
}

async function download({ url, headers, digest }: Artifact, path: string): Promise<void> {
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!answer.ok || !answer.body) throw new DatabaseError(`${new URL(url).host} answered ${answer.status}`);
  const hash = createHash('sha256');
  let size = 0;
  await pipeline(
    Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]),
    async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        size += chunk.length;
        if (size > MAX_BYTES) throw new DatabaseError(`${new URL(url).host} sends more than 400 MB`);
        hash.update(chunk);
        yield chunk;
      }
    },
    createWriteStream(path, { mode: 0o600 }),
  );
  if (`sha256:${hash.digest('hex')}` !== digest)
    throw new DatabaseError(`What ${new URL(url).host} sent does not have the published digest`);
}
