import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import * as z from 'zod';
import type { Item } from '#store/table.ts';

export const SNAPSHOTS = fileURLToPath(new URL('../fixtures/snapshots/', import.meta.url));

/** What a version of the service wrote, with what it answered of it: `npm run snapshot` makes one. */
export const Snapshot = z.object({
  version: z.string(),
  /** The service's secrets, which parts of the data are made with: those of a service that is gone. */
  secrets: z.record(z.string(), z.string()),
  admin: z.object({ email: z.string(), password: z.string() }),
  /** An API key of all scopes. */
  key: z.string(),
  /** By the names of path parameters. */
  ids: z.record(z.string(), z.string()),
  /** A report that was imported for the asset. */
  report: z.unknown(),
  items: z.array(z.record(z.string(), z.unknown())),
  reads: z.record(z.string(), z.object({ status: z.number(), body: z.unknown() })),
});
export type Snapshot = z.output<typeof Snapshot>;

export function readSnapshots(): [version: string, Snapshot][] {
  return readdirSync(SNAPSHOTS)
    .filter((name) => name.endsWith('.json.gz'))
    .map((name) => {
      const text = gunzipSync(readFileSync(`${SNAPSHOTS}${name}`)).toString();
      return [name.replace('.json.gz', ''), Snapshot.parse(JSON.parse(text, restore))];
    });
}

/** Sets and bytes are no JSON. */
export function keep(_: string, value: unknown): unknown {
  if (value instanceof Set) return { $set: [...value].sort() };
  return value;
}

function restore(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('$set' in value && Array.isArray(value.$set)) return new Set(value.$set);
  if ('$bytes' in value) return new Uint8Array(Buffer.from(String(value.$bytes), 'base64'));
  return value;
}

/** Bytes would otherwise be told number by number; `keep` sees them too late. */
export function withTextualBytes(item: Item): Item {
  const told = (value: unknown): unknown => {
    if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') };
    if (Array.isArray(value)) return value.map(told);
    if (value instanceof Set || typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, told(inner)]));
  };
  return told(item) as Item;
}
