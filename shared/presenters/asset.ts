import type * as z from 'zod';
import type { Asset, RepositoryRead } from '#contract/schemas/records.ts';
import { type CellCounts, severityCounts } from '#domain/cells.ts';
import { toOpaque } from '#domain/ids.ts';
import type { AssetRecord } from '#store/assets.ts';

/** What people still have to look at: neither resolved nor suppressed. Spec silent. */
function openCounts(counts: CellCounts) {
  return severityCounts(counts, (cell) => cell.status !== 'resolved' && cell.status !== 'suppressed');
}

function shared(record: AssetRecord, counts: CellCounts) {
  return {
    name: record.name,
    full_name: record.full_name,
    type: record.type,
    provider: record.provider,
    clone_url: record.clone_url,
    default_branch: record.default_branch,
    integration_id: record.integration_id,
    criticality: record.criticality,
    tags: record.tags,
    finding_counts: openCounts(counts),
    last_scan_at: record.last_scan_at,
    created_at: record.created_at,
    updated_at: record.updated_at,
  };
}

/** An asset as Family B shows it. */
export function presentAsset(record: AssetRecord, counts: CellCounts): z.input<typeof Asset> {
  return {
    id: toOpaque('asset', record.id),
    project_id: record.project_id && toOpaque('project', record.project_id),
    sub_project_id: record.sub_project_id && toOpaque('project', record.sub_project_id),
    ...shared(record, counts),
  };
}

/** The same record as Family A shows it. */
export function presentRepository(record: AssetRecord, counts: CellCounts): z.input<typeof RepositoryRead> {
  return {
    id: record.id,
    project_id: record.project_id,
    sub_project_id: record.sub_project_id,
    ...shared(record, counts),
  };
}
