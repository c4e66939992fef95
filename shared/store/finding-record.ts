import * as z from 'zod';
import { type CellCounts, cellKey } from '#domain/cells.ts';
import type { Route } from '#domain/placement.ts';
import {
  FINDING_CATEGORIES,
  FINDING_STATUSES,
  HIDING_KINDS,
  SCANNERS,
  SEVERITIES,
  SUPPRESSION_REASONS,
} from '#domain/vocabulary.ts';
import { assetFindingsPartition, cveFindingsPartition, findingKey, findingsPartition } from './keys.ts';
import type { Item, Write } from './table.ts';

/**
 * A finding as it is kept. Its project is its asset's, so that moving an asset rewrites none; but for those that
 * a policy put elsewhere.
 */
const FindingRecord = z.object({
  id: z.string(),
  org_id: z.string(),
  asset_id: z.string(),
  scanner: z.enum(SCANNERS),
  severity: z.enum(SEVERITIES),
  status: z.enum(FINDING_STATUSES),
  title: z.string(),
  description: z.string(),
  rule_id: z.string(),
  category: z.enum(FINDING_CATEGORIES),
  cve_id: z.string().nullable(),
  cwe: z.array(z.string()),
  cvss_score: z.number().nullable(),
  epss_score: z.number().nullable(),
  epss_percentile: z.number().nullable(),
  kev: z.boolean(),
  package: z
    .object({
      name: z.string(),
      version: z.string(),
      fixed_version: z.string().nullable(),
      purl: z.string().nullable(),
    })
    .nullable(),
  location: z.object({
    path: z.string(),
    start_line: z.number().nullable(),
    end_line: z.number().nullable(),
  }),
  fix: z.string().nullable(),
  fingerprint: z.string(),
  /** Driver of a SARIF report where it is none of the four scanners. */
  tool: z.string().nullable().default(null),
  /** Counts its writes: every change is conditional on the one that it was decided on. */
  revision: z.int().default(1),
  /** Whether the last complete run of its scanner reported it. */
  reported: z.boolean().default(true),
  /** What of the repository hid it from the last run of its scanner, though it is there; null where nothing did. */
  suppressed_in_repository: z
    .object({ kind: z.enum(HIDING_KINDS), path: z.string(), line: z.number().nullable() })
    .nullable()
    .default(null),
  /** Who set its status: what a person set, no policy overwrites. */
  status_set_by: z.enum(['scanner', 'person', 'policy']).default('scanner'),
  /** What it would be, had no policy set it; null where none has. */
  status_without_policy: z.enum(['open', 'reopened']).nullable().default(null),
  first_seen_scan_id: z.string(),
  /** Of a finding that is no longer reported; otherwise the manifest's head knows it. */
  last_seen_scan_id: z.string(),
  /** The scan that resolved it, null where a person did; what makes a repeated ingest count the same. */
  resolved_by_scan_id: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
  resolved_at: z.string().nullable(),
  assignee: z.string().nullable(),
  notes: z.string().nullable(),
  suppression: z
    .object({
      reason: z.enum(SUPPRESSION_REASONS).nullable(),
      comment: z.string().nullable(),
      expires_at: z.string().nullable(),
    })
    .nullable(),
  priority: z.union([z.string(), z.number()]).nullable(),
  owner: z.string().nullable(),
  /** The project that a policy put it into, as a `Route`; null: its asset's. */
  routed_to: z.string().nullable().default(null),
  policy_results: z.array(
    z.object({
      policy_id: z.string(),
      kind: z.string(),
      version: z.number(),
      decision: z.unknown(),
      reason: z.string().nullable(),
    }),
  ),
});
export type FindingRecord = z.infer<typeof FindingRecord>;

export function parseFinding(item: Item): FindingRecord {
  return FindingRecord.parse(item);
}

/**
 * Keys of the three indexes: cell, time of creation, id; then what a page needs to know of a finding before
 * it has read it. They follow from the record alone.
 */
function indexAttributes(
  record: Pick<
    FindingRecord,
    'org_id' | 'asset_id' | 'severity' | 'status' | 'scanner' | 'created_at' | 'id' | 'cve_id' | 'routed_to'
  >,
) {
  const { id, asset_id, cve_id, routed_to } = record;
  const told = [cellKey(record), record.created_at, id, asset_id, cve_id ?? ''];
  const place = (routed_to === null ? told : [...told, routed_to]).join('#');
  return {
    gsi1pk: findingsPartition(record.org_id),
    gsi1sk: place,
    gsi2pk: assetFindingsPartition(record.org_id, asset_id, routed_to),
    gsi2sk: place,
    ...(record.cve_id && {
      gsi3pk: cveFindingsPartition(record.org_id, record.cve_id),
      gsi3sk: place,
    }),
  };
}

export function findingItem(record: FindingRecord): Item {
  return { ...findingKey(record.org_id, record.id), ...record, ...indexAttributes(record) };
}

/** Replaces a finding that nobody changed since `held` was read. @param otherwise the error where somebody did */
export function replaceWrite(held: FindingRecord, next: FindingRecord, otherwise: () => Error): Write {
  return {
    Put: {
      Item: findingItem({ ...next, revision: held.revision + 1 }),
      ConditionExpression: '#revision = :held',
      ExpressionAttributeNames: { '#revision': 'revision' },
      ExpressionAttributeValues: { ':held': held.revision },
    },
    otherwise,
  };
}

/** What counts move by: all that changes, and what of it is elsewhere than in its asset's project. */
export interface FindingDeltas {
  readonly all: CellCounts;
  readonly routed: ReadonlyMap<Route, CellCounts>;
  /** Where findings come that were not there before. */
  readonly entered: ReadonlySet<Route>;
}

/** What counts move by when findings change: a cell less, a cell more. */
export function findingDeltas(
  changes: readonly { readonly held: FindingRecord | null; readonly next: FindingRecord }[],
): FindingDeltas {
  const all = new Map<string, number>();
  const routed = new Map<Route, Map<string, number>>();
  const entered = new Set<Route>();
  const add = (record: FindingRecord, by: number) => {
    addTo(all, cellKey(record), by);
    if (record.routed_to === null) return;
    const there = routed.get(record.routed_to) ?? new Map();
    addTo(there, cellKey(record), by);
    routed.set(record.routed_to, there);
  };
  for (const { held, next } of changes) {
    if (held) add(held, -1);
    add(next, 1);
    if (next.routed_to !== null && next.routed_to !== held?.routed_to) entered.add(next.routed_to);
  }
  return { all, routed, entered };
}

function addTo(counts: Map<string, number>, cell: string, by: number): void {
  counts.set(cell, (counts.get(cell) ?? 0) + by);
}
