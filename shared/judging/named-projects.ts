import { type Route, routeTo } from '#domain/placement.ts';
import type { ProjectStore } from '#store/projects.ts';

/** Where the project is that a policy names, or why it is nowhere. */
export type NamedProject = { readonly route: Route } | { readonly problem: string };

/** By name or id. */
export type NamedProjects = (name: string) => Promise<NamedProject>;

/** Different names of no project that are looked for during one ingest. */
const MAX_UNKNOWN = 500;

/** Finds projects as policies name them. Each is looked for once. */
export function findNamedProjects(orgId: string, projects: Pick<ProjectStore, 'find'>): NamedProjects {
  const known = new Map<string, Promise<NamedProject>>();
  let unknown = 0;

  async function find(name: string): Promise<NamedProject> {
    const placement = await projects.find(orgId, name);
    const route = placement && routeTo(placement);
    if (route !== null) return { route };
    unknown += 1;
    return { problem: `project must name a project, by name or id: ${JSON.stringify(name)} is none` };
  }

  return (name) => {
    const found = known.get(name);
    if (found) return found;
    if (unknown >= MAX_UNKNOWN)
      return Promise.resolve({ problem: `Not looked for: ${MAX_UNKNOWN} names before it are no projects` });
    const looked = find(name);
    known.set(name, looked);
    return looked;
  };
}
