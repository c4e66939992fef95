import type { Method } from '#contract/operation.ts';

interface Route {
  readonly method: Method;
  readonly path: string;
}

export type RouteMatch<R extends Route> =
  | { readonly route: R; readonly params: Record<string, string> }
  /** The path is known, the method is not: what the Allow header lists. */
  | { readonly allowed: readonly Method[] }
  | null;

interface Compiled<R extends Route> {
  readonly route: R;
  readonly segments: readonly string[];
}

const isParameter = (segment: string) => segment.startsWith('{');

/**
 * Resolves by specificity, not by order of registration: at the first place where two paths
 * differ, a literal segment wins over a parameter, as in the gateway. A slash at the end matters
 * to no path that is declared with one; elsewhere it makes another, unknown path (design 1).
 */
export function createRouter<R extends Route>(routes: readonly R[]) {
  const byLength = new Map<number, Compiled<R>[]>();
  for (const route of routes) {
    const segments = split(route.path);
    const candidates = byLength.get(segments.length) ?? [];
    candidates.push({ route, segments });
    byLength.set(segments.length, candidates);
    // A path that the specification writes with a slash at the end answers without it as well.
    if (route.path.endsWith('/')) {
      const bare = segments.slice(0, -1);
      const shorter = byLength.get(bare.length) ?? [];
      shorter.push({ route, segments: bare });
      byLength.set(bare.length, shorter);
    }
  }
  for (const candidates of byLength.values()) candidates.sort(bySpecificity);

  return {
    match(method: string, path: string): RouteMatch<R> {
      const segments = split(path);
      const fitting = (byLength.get(segments.length) ?? []).filter((candidate) => fits(candidate, segments));
      const best = fitting[0];
      if (!best) return null;
      // Only routes of the most specific path count: /findings/summary is not /findings/{finding_id}.
      const samePath = fitting.filter((candidate) => bySpecificity(candidate, best) === 0);
      const chosen = samePath.find((candidate) => candidate.route.method === method);
      if (chosen) return { route: chosen.route, params: parameters(chosen, segments) };
      return { allowed: samePath.map((candidate) => candidate.route.method).sort() };
    },
  };
}

function split(path: string): string[] {
  return path.split('/').slice(1);
}

function fits(candidate: Compiled<Route>, segments: readonly string[]): boolean {
  return candidate.segments.every((expected, index) => {
    const given = segments[index] ?? '';
    return isParameter(expected) ? given !== '' : expected === given;
  });
}

function bySpecificity(a: Compiled<Route>, b: Compiled<Route>): number {
  for (const [index, segment] of a.segments.entries()) {
    const difference = Number(isParameter(segment)) - Number(isParameter(b.segments[index] ?? ''));
    if (difference !== 0) return difference;
  }
  return 0;
}

function parameters(candidate: Compiled<Route>, segments: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [index, name] of candidate.segments.entries()) {
    if (isParameter(name)) found[name.slice(1, -1)] = decode(segments[index] ?? '');
  }
  return found;
}

/** A malformed escape stays as it is: it will match no identifier. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
