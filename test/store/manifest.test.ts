import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findingId } from '#domain/ids.ts';
import { buildManifest, type ManifestEntry, readChunk } from '#domain/manifest.ts';
import { SEVERITIES } from '#domain/vocabulary.ts';

const entry: fc.Arbitrary<ManifestEntry> = fc.record({
  id: fc.uuid(),
  severity: fc.constantFrom(...SEVERITIES),
  digest: fc
    .array(fc.integer({ min: 0, max: 255 }), { minLength: 6, maxLength: 6 })
    .map((bytes) => Buffer.from(bytes).toString('hex')),
  createdAt: fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => seconds * 1000),
});
const entries = fc.uniqueArray(entry, { selector: ({ id }) => id, maxLength: 5000, size: 'max' });
const byId = (a: ManifestEntry, b: ManifestEntry) => (a.id < b.id ? -1 : 1);

describe('manifests', () => {
  it('give back what they were built from, whatever its order', () => {
    fc.assert(
      fc.property(entries, fc.func(fc.integer()), (all, order) => {
        const shuffled = all.toSorted((a, b) => order(a.id) - order(b.id));
        const built = buildManifest(shuffled);
        expect(built.map((chunk) => chunk.hash)).toEqual(buildManifest(all).map((chunk) => chunk.hash));
        expect(built.flatMap((chunk) => readChunk(chunk.bytes)).sort(byId)).toEqual(all.toSorted(byId));
      }),
      { numRuns: 30 },
    );
  });

  it('stay within an item, and rewrite one chunk for one change', () => {
    const all = Array.from({ length: 20_000 }, (_, index) => ({
      id: findingId('org', 'asset', 'semgrep', String(index)),
      severity: 'high' as const,
      digest: 'aabbccddeeff',
      createdAt: 1_700_000_000_000,
    }));
    const before = buildManifest(all);
    const after = buildManifest(all.slice(1));
    const held = new Set(before.map((chunk) => chunk.hash));
    expect(Math.max(...before.map((chunk) => chunk.bytes.length))).toBeLessThan(100_000);
    expect(after.filter((chunk) => !held.has(chunk.hash))).toHaveLength(1);
  });
});
