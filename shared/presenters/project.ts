import type * as z from 'zod';
import type { Project } from '#contract/schemas/records.ts';
import { type CellCounts, totalOf } from '#domain/cells.ts';
import { toOpaque } from '#domain/ids.ts';
import type { ProjectRecord } from '#store/projects.ts';

/** A project as Family B shows it. `counts` are of its findings in every status. */
export function presentProject(record: ProjectRecord, counts: CellCounts): z.input<typeof Project> {
  return {
    id: toOpaque('project', record.id),
    name: record.name,
    description: record.description,
    parent_id: record.parent_id && toOpaque('project', record.parent_id),
    team_id: record.team_id && toOpaque('team', record.team_id),
    asset_count: record.asset_count,
    finding_count: totalOf(counts),
    created_at: record.created_at,
    updated_at: record.updated_at,
  };
}
