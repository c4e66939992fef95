import type * as z from 'zod';
import type { Project, ProjectRead } from '#contract/schemas/records.ts';
import { type CellCounts, totalOf } from '#domain/cells.ts';
import { toOpaque } from '#domain/ids.ts';
import type { ProjectRecord } from '#store/projects.ts';

/** `counts` are of the project's findings in every status. */
function shared(record: ProjectRecord, counts: CellCounts) {
  return {
    name: record.name,
    description: record.description,
    asset_count: record.asset_count,
    finding_count: totalOf(counts),
    created_at: record.created_at,
    updated_at: record.updated_at,
  };
}

/** A project as Family B shows it. */
export function presentProject(record: ProjectRecord, counts: CellCounts): z.input<typeof Project> {
  return {
    id: toOpaque('project', record.id),
    parent_id: record.parent_id && toOpaque('project', record.parent_id),
    team_id: record.team_id && toOpaque('team', record.team_id),
    ...shared(record, counts),
  };
}

/** The same record as Family A shows it. */
export function presentProjectRead(record: ProjectRecord, counts: CellCounts): z.input<typeof ProjectRead> {
  return {
    id: record.id,
    parent_id: record.parent_id,
    team_id: record.team_id,
    ...shared(record, counts),
  };
}
