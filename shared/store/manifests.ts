import * as z from 'zod';
import { timestamp } from '#domain/clock.ts';
import { type ManifestChunk, type ManifestEntry, readChunk } from '#domain/manifest.ts';
import { isOrigin, type Origin, scannerOf } from '#domain/origin.ts';
import type { Scanner } from '#domain/vocabulary.ts';
import { manifestChunkKey, manifestKey, manifestsPrefix, revisitPartition } from './keys.ts';
import type { ManifestRef } from './runs.ts';
import { chunksOf, type Item, type Table, type Write } from './table.ts';

const ManifestHead = z.object({
  chunks: z.array(z.string()).default([]),
  count: z.number().default(0),
  /** The last complete run: an incomplete one has not seen all of it. */
  last_scan_id: z.string().nullable().default(null),
  last_run_at: z.string().nullable().default(null),
  /** Counts by cell as reported, so that an unchanged report needs no chunk to be read. */
  counts: z.record(z.string(), z.number()).default({}),
  /** Names the whole report (`digestReport`): the same again changes nothing. */
  digest: z.string().nullable().default(null),
  /** Leases so far: with the first one there is nothing yet that could be known. */
  leases: z.number().default(0),
  /** Who is at work on it, and (milliseconds) until when it may be. */
  lease_run: z.string().nullable().default(null),
  lease_until: z.number().default(0),
  /** Scan whose suspiciously empty report was held; a second one in a row is believed. */
  held_scan_id: z.string().nullable().default(null),
});
export type ManifestHead = z.infer<typeof ManifestHead>;

/** A lease outlasts the longest ingest step; a crashed one is taken over after that. */
const LEASE_MILLISECONDS = 120_000;

export type ManifestStore = ReturnType<typeof createManifestStore>;

/** Manifests of what each (asset, origin) reported last on its default branch. */
export function createManifestStore(table: Table) {
  return {
    /**
     * Takes the lease and reads the head in one request; null while another one holds it.
     * @param holder names this one attempt: queues deliver twice, and the second must wait like any other
     */
    async lease(
      orgId: string,
      assetId: string,
      origin: Origin,
      holder: string,
      now: number,
    ): Promise<ManifestHead | null> {
      const item = await table.update({
        Key: manifestKey(orgId, assetId, origin),
        UpdateExpression: 'SET lease_run = :run, lease_until = :until ADD leases :one',
        ConditionExpression:
          'attribute_not_exists(lease_run) OR lease_run = :run OR lease_until < :now OR attribute_type(lease_run, :null)',
        ExpressionAttributeValues: {
          ':run': holder,
          ':until': now + LEASE_MILLISECONDS,
          ':now': now,
          ':null': 'NULL',
          ':one': 1,
        },
        ReturnValues: 'ALL_NEW',
      });
      return item && ManifestHead.parse(item);
    },

    /** The head where a report that this digest names would change nothing; null otherwise. Two requests. */
    async readUnchanged(
      orgId: string,
      assetId: string,
      origin: Origin,
      digest: string,
    ): Promise<ManifestHead | null> {
      const [item, revisits] = await Promise.all([
        table.get(manifestKey(orgId, assetId, origin)),
        this.listRevisits(orgId, assetId, origin),
      ]);
      const head = item && ManifestHead.parse(item);
      return head?.digest === digest && revisits.length === 0 ? head : null;
    },

    /** The heads that an asset has; one request. */
    async readHeads(orgId: string, assetId: string): Promise<ReadonlyMap<Origin, ManifestHead>> {
      const found = await listManifests(table, orgId, assetId);
      return new Map(found.map(({ origin, item }) => [origin, ManifestHead.parse(item)]));
    },

    /** Whether anything was ever ingested for an asset's default branch; one request. */
    async isKnown(orgId: string, assetId: string): Promise<boolean> {
      const heads = await this.readHeads(orgId, assetId);
      return [...heads.values()].some(({ digest }) => digest !== null);
    },

    /** Whether a run is at work on something that these scanners reported; one request. */
    async isLeased(
      orgId: string,
      assetId: string,
      scanners: readonly Scanner[],
      now: number,
    ): Promise<boolean> {
      const heads = [...(await this.readHeads(orgId, assetId))];
      return heads.some(
        ([origin, head]) =>
          scanners.some((scanner) => scanner === scannerOf(origin)) &&
          head.lease_run !== null &&
          head.lease_until > now,
      );
    },

    /** Gives a lease back that came to nothing; what was overtaken has none to give. */
    async release(orgId: string, assetId: string, origin: Origin, holder: string): Promise<void> {
      await table.update({
        Key: manifestKey(orgId, assetId, origin),
        UpdateExpression: 'SET lease_run = :none',
        ConditionExpression: 'lease_run = :run',
        ExpressionAttributeValues: { ':none': null, ':run': holder },
      });
    },

    /** Keeps the lease of a long ingest. @throws LeaseLost */
    async renew(orgId: string, assetId: string, origin: Origin, holder: string, now: number): Promise<void> {
      const item = await table.update({
        Key: manifestKey(orgId, assetId, origin),
        UpdateExpression: 'SET lease_until = :until',
        ConditionExpression: 'lease_run = :run',
        ExpressionAttributeValues: { ':run': holder, ':until': now + LEASE_MILLISECONDS },
      });
      if (!item) throw new LeaseLost();
    },

    /** For every transaction of the lease's holder: one that was overtaken writes nothing more. */
    fence(orgId: string, assetId: string, origin: Origin, holder: string): Write {
      return {
        ConditionCheck: {
          Key: manifestKey(orgId, assetId, origin),
          ConditionExpression: 'lease_run = :run',
          ExpressionAttributeValues: { ':run': holder },
        },
        otherwise: () => new LeaseLost(),
      };
    },

    /** The entries of a manifest; one request for each 100 chunks. */
    async readEntries(
      orgId: string,
      assetId: string,
      origin: Origin,
      hashes: readonly string[],
    ): Promise<ManifestEntry[]> {
      const items = await table.batchGet(
        hashes.map((hash) => manifestChunkKey(orgId, assetId, origin, hash)),
      );
      return items.flatMap((item) => {
        if (!item) throw new Error('A chunk of a manifest is missing');
        return readChunk(z.object({ bytes: z.instanceof(Uint8Array) }).parse(item).bytes);
      });
    },

    /** Writes the chunks that the head does not have yet; a chunk is never changed. */
    async writeChunks(
      orgId: string,
      assetId: string,
      origin: Origin,
      chunks: readonly ManifestChunk[],
    ): Promise<void> {
      // 32 KB each on average, and a transaction ends at 4 MB.
      for (const group of chunksOf(chunks, 40)) {
        await table.transact(
          group.map(
            (chunk): Write => ({
              Put: { Item: { ...manifestChunkKey(orgId, assetId, origin, chunk.hash), bytes: chunk.bytes } },
            }),
          ),
        );
      }
    },

    /** Makes the new manifest the current one and gives the lease back: the last write of an ingest. */
    async swap(
      orgId: string,
      assetId: string,
      origin: Origin,
      next: {
        manifest: Pick<ManifestRef, 'chunks' | 'count'>;
        counts: Record<string, number>;
        digest: string;
        /** The run that saw all of it; null where an incomplete one leaves that to the one before. */
        scanId: string | null;
        holder: string;
        at: number;
        heldScanId: string | null;
      },
    ): Promise<void> {
      const seen = next.scanId === null ? '' : ', last_scan_id = :scan, last_run_at = :now';
      await table.transact([
        {
          Update: {
            Key: manifestKey(orgId, assetId, origin),
            UpdateExpression: `SET chunks = :chunks, #count = :count, counts = :counts, digest = :digest, held_scan_id = :held, lease_run = :none${seen}`,
            ConditionExpression: 'lease_run = :run',
            ExpressionAttributeNames: { '#count': 'count' },
            ExpressionAttributeValues: {
              ':chunks': next.manifest.chunks,
              ':count': next.manifest.count,
              ':counts': next.counts,
              ':digest': next.digest,
              ...(next.scanId !== null && { ':scan': next.scanId, ':now': timestamp(next.at) }),
              ':held': next.heldScanId,
              ':none': null,
              ':run': next.holder,
            },
          },
          otherwise: () => new LeaseLost(),
        },
      ]);
    },

    /** Findings that a person decided otherwise than their scanner reports, for the next run to look at. */
    async listRevisits(orgId: string, assetId: string, origin: Origin): Promise<string[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :partition',
        ExpressionAttributeValues: { ':partition': revisitPartition(orgId, assetId, origin) },
        ConsistentRead: true,
      });
      return items.map((item) => String(item.sk));
    },

    /** Remembers that an empty report was held, and changes nothing else. */
    async hold(
      orgId: string,
      assetId: string,
      origin: Origin,
      scanId: string,
      holder: string,
    ): Promise<void> {
      await table.update({
        Key: manifestKey(orgId, assetId, origin),
        UpdateExpression: 'SET held_scan_id = :scan, lease_run = :none',
        ConditionExpression: 'lease_run = :run',
        ExpressionAttributeValues: { ':scan': scanId, ':none': null, ':run': holder },
      });
    },
  };
}

/** The manifests of an asset by origin, in the order of their names. */
export async function listManifests(
  table: Pick<Table, 'queryAll'>,
  orgId: string,
  assetId: string,
): Promise<{ readonly origin: Origin; readonly item: Item }[]> {
  const { pk, sk: prefix } = manifestsPrefix(orgId, assetId);
  const items = await table.queryAll({
    KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
    ExpressionAttributeValues: { ':pk': pk, ':prefix': prefix },
    ConsistentRead: true,
  });
  return items.flatMap((item) => {
    const origin = String(item.sk).slice(prefix.length);
    return isOrigin(origin) ? [{ origin, item }] : [];
  });
}

/** Another run took the lease over: this one must stop. */
class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}
