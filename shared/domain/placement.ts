/** Where an asset is: a project, and within it perhaps a sub-project. */
export interface Placement {
  readonly project_id: string | null;
  readonly sub_project_id: string | null;
}

/** In no project. */
export const UNPLACED: Placement = { project_id: null, sub_project_id: null };

/**
 * Where a policy put a finding in place of its asset's project: a project's id, or those of a project and its
 * sub-project with `/` between. It stands in keys of findings and in names of counts.
 */
export type Route = string;

/** Null: in no project, where no policy puts anything. */
export function routeTo({ project_id, sub_project_id }: Placement): Route | null {
  return sub_project_id === null ? project_id : `${project_id}/${sub_project_id}`;
}

export function placementOf(route: Route): Placement {
  const [project_id = null, sub_project_id = null] = route.split('/');
  return { project_id, sub_project_id };
}

/** The projects that something there belongs to, the wider first. */
export function projectsOf({ project_id, sub_project_id }: Placement): string[] {
  return [project_id, sub_project_id].filter((id) => id !== null);
}
