import { type Route, routeTo } from '#domain/placement.ts';
import type { ProjectStore } from '#store/projects.ts';

/** Where the project is that a policy names, by name or id; undefined: there is none. */
export type NamedProjects = (name: string) => Promise<Route | undefined>;

/** Different names that are looked for during one ingest: a policy that makes one of each finding knows no projects. */
const MAX_NAMES = 500;

/** What is wrong with a decision that names none. */
export function namesNone(name: string): string {
  return `project must name a project, by name or id: ${JSON.stringify(name)} is none`;
}

/** Finds projects as policies name them. Each is looked for once. */
export function findNamedProjects(orgId: string, projects: Pick<ProjectStore, 'find'>): NamedProjects {
  const known = new Map<string, Promise<Route | undefined>>();
  const find = async (name: string) => {
    const placement = await projects.find(orgId, name);
    return (placement && routeTo(placement)) ?? undefined;
  };
  return async (name) => {
    const found = known.get(name) ?? (known.size < MAX_NAMES ? find(name) : undefined);
    if (found) known.set(name, found);
    return found;
  };
}
