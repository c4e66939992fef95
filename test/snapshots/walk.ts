import { operations } from '#contract/index.ts';
import { readId } from '#domain/ids.ts';

/** Reads that tell of the service rather than of what it keeps. */
const OF_THE_SERVICE = new Set(['getHealth', 'getOpenApiDocument']);

/** What is another with each request: when somebody was last seen, and addresses that are signed anew. */
const PASSING = new Set(['last_used_at', 'last_login_at', 'url', 'expires_at']);

export type Walk = Record<string, { readonly status: number; readonly body: unknown }>;

/** Asks for everything that can be read, and answers what came, without what passes. */
export async function walkReads(
  url: string,
  key: string,
  ids: Readonly<Record<string, string>>,
): Promise<Walk> {
  const walk: Walk = {};
  for (const { id, method, family, path, query } of operations) {
    if (method !== 'GET' || OF_THE_SERVICE.has(id)) continue;
    const place = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const value = ids[name];
      if (value === undefined) throw new Error(`The walk has no ${name} for ${id}`);
      return family === 'A' && (name === 'project_id' || name === 'policy_id')
        ? (readId(value) ?? value)
        : value;
    });
    const page = query && 'per_page' in query.shape ? '?per_page=100' : '';
    const answer = await fetch(`${url}${place}${page}`, { headers: { authorization: `Bearer ${key}` } });
    walk[id] = { status: answer.status, body: lasting(await answer.json()) };
  }
  return walk;
}

function lasting(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lasting);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => (PASSING.has(name) ? [] : [[name, lasting(inner)]])),
  );
}
