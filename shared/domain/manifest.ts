import { createHash } from 'node:crypto';
import { idFromBytes, idToBytes } from './ids.ts';
import { SEVERITIES, type Severity } from './vocabulary.ts';

/**
 * What an (asset, scanner) reported last, as a set of findings in 27 bytes each: id (16), severity
 * (1), time of creation in seconds (4), digest of what was reported (6). It is cut into chunks by the
 * leading bits of the ids, each named by its hash, so that a small change rewrites one chunk.
 * It holds what was *reported*, never triage.
 */
export interface ManifestEntry {
  readonly id: string;
  readonly severity: Severity;
  /** Of all that the scanner says of the finding, in 12 hex digits: another one means that it says something else now. */
  readonly digest: string;
  /** Milliseconds, in whole seconds: enough to sort lists by. */
  readonly createdAt: number;
}

export interface ManifestChunk {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

const ENTRY_BYTES = 27;
/** Chunks hold about this many entries on average: 40 KB, well under an item's limit even when uneven. */
const ENTRIES_PER_CHUNK = 1500;

/** Cuts entries into chunks; the same set gives the same chunks, in whatever order it comes. */
export function buildManifest(entries: readonly ManifestEntry[]): ManifestChunk[] {
  if (entries.length === 0) return [];
  const bits = Math.max(0, Math.ceil(Math.log2(entries.length / ENTRIES_PER_CHUNK)));
  const buckets = new Map<number, ManifestEntry[]>();
  for (const entry of entries) {
    const bucket = Number.parseInt(entry.id.slice(0, 4), 16) >>> (16 - bits);
    const held = buckets.get(bucket);
    if (held) held.push(entry);
    else buckets.set(bucket, [entry]);
  }
  return [...buckets.entries()]
    .sort(([a], [b]) => a - b)
    .map(([, bucket]) => encodeChunk(bucket.toSorted((a, b) => (a.id < b.id ? -1 : 1))));
}

function encodeChunk(entries: readonly ManifestEntry[]): ManifestChunk {
  const bytes = Buffer.alloc(entries.length * ENTRY_BYTES);
  for (const [index, entry] of entries.entries()) {
    const offset = index * ENTRY_BYTES;
    bytes.set(idToBytes(entry.id), offset);
    bytes.writeUInt8(SEVERITIES.indexOf(entry.severity), offset + 16);
    bytes.writeUInt32BE(Math.floor(entry.createdAt / 1000), offset + 17);
    bytes.write(entry.digest, offset + 21, 6, 'hex');
  }
  return { hash: createHash('sha256').update(bytes).digest('hex').slice(0, 32), bytes };
}

export function readChunk(bytes: Uint8Array): ManifestEntry[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: buffer.length / ENTRY_BYTES }, (_, index) => {
    const offset = index * ENTRY_BYTES;
    const severity = SEVERITIES[buffer.readUInt8(offset + 16)];
    if (!severity) throw new Error('A manifest chunk holds an unknown severity');
    return {
      id: idFromBytes(buffer.subarray(offset, offset + 16)),
      severity,
      createdAt: buffer.readUInt32BE(offset + 17) * 1000,
      digest: buffer.toString('hex', offset + 21, offset + ENTRY_BYTES),
    };
  });
}

/**
 * Names a whole report: the same findings that say the same give the same name, in whatever order they
 * come. What an unchanged rescan is recognised by, before anything of the manifest is read.
 */
export function digestReport(entries: Iterable<Pick<ManifestEntry, 'id' | 'digest'>>): string {
  const lines = Array.from(entries, ({ id, digest }) => id + digest).sort();
  return createHash('sha256').update(lines.join('')).digest('hex');
}
