import * as z from 'zod';
import { cellKey } from '#domain/cells.ts';
import { FINDING_CATEGORIES, FINDING_STATUSES, SCANNERS, SEVERITIES } from '#domain/vocabulary.ts';
import { assetFindingsPartition, cveFindingsPartition, findingKey, findingsPartition } from './keys.ts';
import type { Item } from './table.ts';

/** A finding as it is kept. Its project is its asset's, so that moving an asset rewrites none. */
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
  first_seen_scan_id: z.string(),
  /** Of a finding that is no longer reported; otherwise the manifest's head knows it. */
  last_seen_scan_id: z.string(),
  /** The scan that resolved it; what makes a repeated ingest count the same. */
  resolved_by_scan_id: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
  resolved_at: z.string().nullable(),
  assignee: z.string().nullable(),
  notes: z.string().nullable(),
  suppression: z
    .object({
      reason: z.string().nullable(),
      comment: z.string().nullable(),
      expires_at: z.string().nullable(),
    })
    .nullable(),
  priority: z.union([z.string(), z.number()]).nullable(),
  owner: z.string().nullable(),
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

/** Keys of the three indexes: cell, time of creation, id. They follow from the record alone. */
export function indexAttributes(
  record: Pick<
    FindingRecord,
    'org_id' | 'asset_id' | 'severity' | 'status' | 'scanner' | 'created_at' | 'id' | 'cve_id'
  >,
) {
  const position = `${cellKey(record)}#${record.created_at}#${record.id}`;
  return {
    gsi1pk: findingsPartition(record.org_id),
    gsi1sk: position,
    gsi2pk: assetFindingsPartition(record.org_id, record.asset_id),
    gsi2sk: position,
    ...(record.cve_id && {
      gsi3pk: cveFindingsPartition(record.org_id, record.cve_id),
      gsi3sk: `${position}#${record.asset_id}`,
    }),
  };
}

export function findingItem(record: FindingRecord): Item {
  return { ...findingKey(record.org_id, record.id), ...record, ...indexAttributes(record) };
}
