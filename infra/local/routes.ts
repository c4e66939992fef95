import type { LocalRoute } from './model.ts';

export interface RouteMatch {
  readonly route: LocalRoute;
  readonly pathParameters: Record<string, string> | undefined;
}

interface Node {
  readonly statics: Map<string, Node>;
  parameter: Node | null;
  /** By method; the names of the path's parameters belong to each route. */
  readonly routes: Map<string, { readonly route: LocalRoute; readonly names: readonly string[] }>;
}

const emptyNode = (): Node => ({ statics: new Map(), parameter: null, routes: new Map() });

/**
 * Selects routes as the gateway does: a literal segment wins over a parameter, a parameter takes no
 * empty segment (so that a slash at the end fits nothing), and what fits no route is `$default`.
 */
export function createRouteTable(routes: readonly LocalRoute[]) {
  const root = emptyNode();
  let fallback: LocalRoute | null = null;
  for (const route of routes) {
    if (route.key === '$default') fallback = route;
    else add(root, route);
  }

  return function match(method: string, path: string): RouteMatch | null {
    const segments = path.split('/').slice(1);
    const values: string[] = [];
    const found = find(root, segments, 0, method, values);
    if (!found) return fallback && { route: fallback, pathParameters: undefined };
    const { names, route } = found;
    return {
      route,
      pathParameters:
        names.length === 0
          ? undefined
          : Object.fromEntries(names.map((name, index) => [name, values[index] ?? ''])),
    };
  };
}

function add(root: Node, route: LocalRoute): void {
  const [method = '', path = ''] = route.key.split(' ');
  const names: string[] = [];
  let node = root;
  for (const segment of path.split('/').slice(1)) {
    if (segment.endsWith('+}'))
      throw new Error(`The embedded gateway knows no greedy parameters: ${route.key}`);
    if (segment.startsWith('{')) {
      names.push(segment.slice(1, -1));
      node.parameter ??= emptyNode();
      node = node.parameter;
    } else {
      const next = node.statics.get(segment) ?? emptyNode();
      node.statics.set(segment, next);
      node = next;
    }
  }
  node.routes.set(method, { route, names });
}

function find(
  node: Node,
  segments: readonly string[],
  index: number,
  method: string,
  values: string[],
): { readonly route: LocalRoute; readonly names: readonly string[] } | null {
  const segment = segments[index];
  if (segment === undefined) return node.routes.get(method) ?? node.routes.get('ANY') ?? null;
  const literal = node.statics.get(segment);
  const found = literal && find(literal, segments, index + 1, method, values);
  if (found) return found;
  if (!node.parameter || segment === '') return null;
  values.push(segment);
  const taken = find(node.parameter, segments, index + 1, method, values);
  if (!taken) values.pop();
  return taken;
}
